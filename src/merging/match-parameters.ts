import { type Term, tokenise, wordsOf } from '../retrieval/tokenise.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** A parameter of a tool, as far as it matters for whether another one means the same. */
export interface Parameter {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

/** Parameters whose names and descriptions are less alike are two; tuned with bench/merging.ts. */
const LEAST_LIKENESS = 0.5;

/** Names of parameters that mean the same wherever they stand. */
const SYNONYMS: readonly string[] = [
  'query q search keyword keywords term terms text',
  'limit count max top maximum results number',
  'offset skip start from',
  'city location place town',
  'id identifier key uuid',
  'name title label',
  'url link uri href',
  'path file filepath filename',
  'message body content text',
  'recipient to receiver addressee',
  'start begin since from',
  'end until to finish stop',
  'unit units measure',
  'description summary details',
  'language lang locale',
  'directory folder dir',
  'repo repository',
  'value val number num',
  'side edge',
  'speed velocity',
  'height altitude',
  'email mail address',
];

const GROUPS: ReadonlyMap<string, ReadonlySet<number>> = (() => {
  const groups = new Map<string, Set<number>>();
  for (const [group, words] of SYNONYMS.entries()) {
    for (const word of words.split(' ')) groups.set(word, (groups.get(word) ?? new Set()).add(group));
  }
  return groups;
})();

/** Lists the parameters of an input schema; null when they cannot be read off it, as with alternatives or references at its root. */
export function parametersOf(schema: JsonObject): Parameter[] | null {
  if (UNREADABLE.some((keyword) => Object.hasOwn(schema, keyword))) return null;
  const { properties = {}, required = [] } = schema;
  if (!isObject(properties) || !Array.isArray(required)) return null;
  const names = new Set(required);
  return Object.entries(properties).map(([name, own]) => ({ name, schema: own, required: names.has(name) }));
}

const UNREADABLE = [
  '$ref',
  '$dynamicRef',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'dependentSchemas',
  'dependentRequired',
];

/**
 * Pairs parameters of two tools that mean the same, each at most once: those that are most alike first. Returns the index of the
 * other one by the index of the own.
 */
export function matchParameters(
  own: readonly Parameter[],
  others: readonly Parameter[],
): Map<number, number> {
  const pairs: { readonly a: number; readonly b: number; readonly likeness: number }[] = [];
  const prepared = others.map(prepare);
  for (const [a, parameter] of own.entries()) {
    const first = prepare(parameter);
    for (const [b, other] of prepared.entries()) {
      const likeness = likenessOf(first, other);
      if (likeness >= LEAST_LIKENESS) pairs.push({ a, b, likeness });
    }
  }
  pairs.sort((x, y) => y.likeness - x.likeness || x.a - y.a || x.b - y.b);
  const matched = new Map<number, number>();
  const taken = new Set<number>();
  for (const { a, b } of pairs) {
    if (matched.has(a) || taken.has(b)) continue;
    matched.set(a, b);
    taken.add(b);
  }
  return matched;
}

interface PreparedParameter {
  readonly name: string;
  readonly words: readonly string[];
  readonly stems: ReadonlySet<Term>;
  readonly described: ReadonlySet<Term>;
  readonly kinds: ReadonlySet<string>;
  readonly schema: unknown;
}

function prepare({ name, schema }: Parameter): PreparedParameter {
  const description = isObject(schema) && typeof schema.description === 'string' ? schema.description : '';
  return {
    name,
    words: wordsOf(name),
    stems: new Set(tokenise(name)),
    described: new Set(description === '' ? [] : tokenise(description)),
    kinds: kindsOf(schema),
    schema,
  };
}

/** Returns how surely two parameters mean the same, 0…1; 0 when no value fits both. */
function likenessOf(a: PreparedParameter, b: PreparedParameter): number {
  if (!fits(a, b)) return 0;
  if (a.name === b.name) return 1;
  if (a.words.join('') === b.words.join('')) return 0.95;
  const described = overlap(a.described, b.described);
  if (isSynonym(a.words, b.words)) return 0.7 + 0.2 * described;
  const named = overlap(a.stems, b.stems);
  return named === 0 ? 0.6 * described : 0.5 * named + 0.4 * described;
}

/** Whether some value fits both, as far as type, enum and items say; every value of `a` if `b` lists its values. */
function fits(a: PreparedParameter, b: PreparedParameter): boolean {
  if (a.kinds.size > 0 && b.kinds.size > 0 && ![...a.kinds].some((kind) => b.kinds.has(kind))) return false;
  const own = valuesOf(a.schema);
  const others = valuesOf(b.schema);
  if (others !== null && (own === null || own.some((value) => !others.includes(value)))) return false;
  const ownItems = itemsOf(a.schema);
  const otherItems = itemsOf(b.schema);
  if (ownItems.size === 0 || otherItems.size === 0) return true;
  return [...ownItems].some((kind) => otherItems.has(kind));
}

/** The types that a schema allows, an integer counting as a number; none: it does not say. */
function kindsOf(schema: unknown): ReadonlySet<string> {
  if (!isObject(schema)) return new Set();
  const { type } = schema;
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  return new Set(
    types.filter((one) => one !== 'null').map((one) => (one === 'integer' ? 'number' : String(one))),
  );
}

function itemsOf(schema: unknown): ReadonlySet<string> {
  return isObject(schema) ? kindsOf(schema.items) : new Set();
}

/** The values that a schema lists, as JSON; null: it lists none. */
function valuesOf(schema: unknown): string[] | null {
  if (!isObject(schema)) return null;
  const listed = Object.hasOwn(schema, 'const') ? [schema.const] : schema.enum;
  return Array.isArray(listed) ? listed.map((value) => JSON.stringify(value) ?? 'null') : null;
}

function isSynonym(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length || a.length === 0) return false;
  return a.every((word, at) => {
    if (word === b[at]) return true;
    const groups = GROUPS.get(word);
    const others = GROUPS.get(b[at]);
    return groups !== undefined && others !== undefined && [...groups].some((group) => others.has(group));
  });
}

/** Jaccard's index: what is in both, as a share of what is in either. */
function overlap(a: ReadonlySet<Term>, b: ReadonlySet<Term>): number {
  let shared = 0;
  for (const term of a) if (b.has(term)) shared++;
  return shared === 0 ? 0 : shared / (a.size + b.size - shared);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
