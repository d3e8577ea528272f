import { type Term, tokenise, wordsOf } from '../retrieval/tokenise.ts';
import { AXES, KINDS, SIDES, SYNONYMS, UNIT_OF } from './parameter-words.ts';
import { CONTRAST_LINES, wordFor } from './rule-judge-words.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** A parameter of a tool, as far as it matters for whether another one means the same. */
export interface Parameter {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

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

/** What is read of a parameter once, however many others it is compared with. */
export interface PreparedParameter extends Parameter {
  readonly words: Words;
  readonly described: ReadonlySet<Term>;
  readonly units: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
  /** As JSON; null: the schema lists none. */
  readonly values: ReadonlySet<string> | null;
  readonly items: ReadonlySet<string>;
  /** Terms of the description of which others that are nearly the same have one at least. */
  readonly signature: readonly Term[];
}

/** Words of a name, in order and as `wordFor` has them. */
interface Words {
  readonly all: readonly string[];
  readonly joined: string;
  readonly kinds: ReadonlySet<string>;
  readonly withoutUnits: ReadonlySet<string>;
}

/** A parameter beside the names of two tools. */
export interface ParameterNames {
  readonly parameter: PreparedParameter;
  readonly words: Words;
  /** Those that the names of the tools do not say; all if that leaves none. */
  readonly own: Words;
}

export function prepare(parameter: Parameter): PreparedParameter {
  const { name, schema } = parameter;
  const description = isObject(schema) && typeof schema.description === 'string' ? schema.description : '';
  const words = wordsIn(name);
  const told = wordsOf(description)
    .filter(({ length }) => length > 3)
    .map(wordFor);
  const described = new Set(description === '' ? [] : tokenise(description));
  const values = valuesOf(schema);
  return {
    ...parameter,
    words: preparedWords(words),
    described,
    units: new Set([...words, ...told].flatMap((word) => UNIT_OF.get(word) ?? [])),
    kinds: kindsOf(schema),
    values: values === null ? null : new Set(values),
    items: itemsOf(schema),
    signature: signatureOf(described),
  };
}

function preparedWords(all: readonly string[]): Words {
  return {
    all,
    joined: all.join(''),
    kinds: new Set(all.flatMap((word) => KINDS.get(word) ?? [])),
    withoutUnits: withoutUnits(all),
  };
}

export function namesOf(parameter: PreparedParameter, said: ReadonlySet<string>): ParameterNames {
  const { words } = parameter;
  const own = words.all.filter((word) => !said.has(word));
  const isWhole = own.length === 0 || own.length === words.all.length;
  return { parameter, words, own: isWhole ? words : preparedWords(own) };
}

/** Of sets whose overlap is at least .8 each has one of the first fifth of the other in any order of all terms (prefix filtering). */
function signatureOf(described: ReadonlySet<Term>): Term[] {
  const sorted = [...described].sort((a, b) => a - b);
  return sorted.slice(0, sorted.length - Math.ceil(0.8 * sorted.length) + 1);
}

export function wordsIn(name: string): string[] {
  return wordsOf(name)
    .flatMap((word) => word.match(/\d+|\D+/g) ?? [])
    .map(wordFor);
}

/** Returns how surely two parameters mean the same, 0…1; null when no value fits both, or their names exclude each other. */
export function likeness(
  a: PreparedParameter,
  b: PreparedParameter,
  about: readonly string[],
): number | null {
  const said = new Set(about.flatMap(wordsIn));
  return likenessOf(namesOf(a, said), namesOf(b, said));
}

export function likenessOf(a: ParameterNames, b: ParameterNames): number | null {
  if (!canBeOne(a.parameter, b.parameter)) return null;
  if (a.parameter.name === b.parameter.name) return 1;
  const described = overlap(a.parameter.described, b.parameter.described);
  const whole = namesAlike(a.words, b.words, described);
  if (whole === null || (a.own === a.words && b.own === b.words)) return whole;
  const own = namesAlike(a.own, b.own, described);
  return own === null ? null : Math.max(whole, own);
}

function namesAlike(first: Words, second: Words, described: number): number | null {
  const [{ all: a, joined }, { all: b, joined: otherJoined }] = [first, second];
  if (joined === otherJoined) return 0.95;
  if (areOpposite(a, b)) return null;
  if (areSynonyms(a, b)) return 0.75 + 0.2 * described;
  if (areApart(first.kinds, second.kinds)) return null;
  const [own, others] = [first.withoutUnits, second.withoutUnits];
  const named = overlap(own, others);
  if (named > 0 && (isWithin(own, others) || isWithin(others, own))) return 0.6 + 0.3 * named;
  const [shorter, longer] =
    joined.length <= otherJoined.length ? [joined, otherJoined] : [otherJoined, joined];
  if (shorter.length >= 4 && longer.startsWith(shorter)) return 0.6 + 0.2 * described;
  return named === 0 ? 0.6 * described : 0.5 * named + 0.4 * described;
}

function withoutUnits(words: readonly string[]): ReadonlySet<string> {
  const rest = words.filter((word) => !UNIT_OF.has(word));
  return new Set(rest.length > 0 ? rest : words);
}

function areOpposite(a: readonly string[], b: readonly string[]): boolean {
  const [onlyA, onlyB] = [a.filter((word) => !b.includes(word)), b.filter((word) => !a.includes(word))];
  return onlyA.some((word) =>
    onlyB.some((other) => {
      if (/^\d/.test(word) && /^\d/.test(other)) return true;
      if (AXES.has(word) && AXES.has(other)) return true;
      const [side, otherSide] = [SIDES.get(word), SIDES.get(other)];
      if (side !== undefined && otherSide !== undefined) return !meet(side, otherSide);
      const [line, otherLine] = [CONTRAST_LINES.get(word), CONTRAST_LINES.get(other)];
      return line !== undefined && otherLine !== undefined && meet(new Set(line), new Set(otherLine));
    }),
  );
}

function areSynonyms(a: readonly string[], b: readonly string[]): boolean {
  return (
    a.length === b.length &&
    a.length > 0 &&
    a.every(
      (word, at) =>
        word === b[at] ||
        isInitial(word, b[at]) ||
        isInitial(b[at], word) ||
        [SYNONYMS, SIDES].some((all) => meet(all.get(word), all.get(b[at]))),
    )
  );
}

function isInitial(letter: string, word: string): boolean {
  return /^[a-z]$/.test(letter) && word.startsWith(letter);
}

function meet(a: ReadonlySet<number> = NO_GROUPS, b: ReadonlySet<number> = NO_GROUPS): boolean {
  return [...a].some((group) => b.has(group));
}

const NO_GROUPS: ReadonlySet<number> = new Set();

/** Whether some value fits both, as far as type, enum, items and units say; every value of `a` if `b` lists its values. */
export function canBeOne(a: PreparedParameter, b: PreparedParameter): boolean {
  if (areApart(a.kinds, b.kinds) || areApart(a.units, b.units) || areApart(a.items, b.items)) return false;
  return b.values === null || (a.values !== null && isWithin(a.values, b.values));
}

/** Whether two sets that say something have nothing in common. */
function areApart(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  if (a.size === 0 || b.size === 0) return false;
  for (const one of a) if (b.has(one)) return false;
  return true;
}

function isWithin(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  for (const one of a) if (!b.has(one)) return false;
  return true;
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

/** Jaccard's index: what is in both, as a share of what is in either. */
function overlap<Item>(a: ReadonlySet<Item>, b: ReadonlySet<Item>): number {
  let shared = 0;
  for (const term of a) if (b.has(term)) shared++;
  return shared === 0 ? 0 : shared / (a.size + b.size - shared);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
