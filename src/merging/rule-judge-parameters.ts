import { wordsOf } from '../retrieval/tokenise.ts';
import type { JudgedTool } from './judge.ts';
import { MAX_TEXT, meaning } from './rule-judge-texts.ts';
import { CONTRAST_LINES, joined, SOFT_SENTENCE_WORDS, wordFor } from './rule-judge-words.ts';

export interface Parameter {
  readonly name: string;
  readonly words: ReadonlySet<string>;
  readonly described: ReadonlySet<string>;
  /** Words as they are spelled, for canonical ones. */
  readonly spelled: ReadonlyMap<string, string>;
  readonly required: boolean;
  /** `integer` is `number`; several types joined by `|`; empty: any. */
  readonly type: string;
  readonly options: readonly string[] | null;
  /** Spelling of dates and the like, such as `yyyy-mm-dd`; null: not said. */
  readonly format: string | null;
}

/** What short names of parameters stand for. */
const PARAMETER_WORDS = new Map(
  Object.entries({ no: 'number', to: 'recipient', at: 'time', body: 'message' }),
);

/** Schemas are read as they come: members of other shapes than they should have are not there. */
export function parametersOf({ inputSchema }: JudgedTool): Parameter[] {
  const properties = asObject(inputSchema.properties);
  const required = new Set(Array.isArray(inputSchema.required) ? inputSchema.required : []);
  return Object.entries(properties).map(([name, schema]) => {
    const { type, enum: options, format, description, pattern } = asObject(schema);
    const said = typeof description === 'string' ? description.slice(0, MAX_TEXT) : '';
    const words = meaning(joined(wordsOf(name)).map((word) => wordFor(PARAMETER_WORDS.get(word) ?? word)));
    return {
      name,
      words: words.size === 0 ? new Set([name.toLowerCase()]) : words,
      described: meaning(joined(wordsOf(said)).map(wordFor)),
      spelled: new Map(joined(wordsOf(`${said} ${name}`)).map((word) => [wordFor(word), word])),
      required: required.has(name),
      type: typeOf(type),
      options: Array.isArray(options) ? options.map(String) : null,
      format:
        spelling(`${said} ${typeof pattern === 'string' ? pattern : ''}`) ??
        (typeof format === 'string' ? format : null),
    };
  });
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function typeOf(type: unknown): string {
  const types = (Array.isArray(type) ? type : [type]).filter(
    (one): one is string => typeof one === 'string' && one !== 'null',
  );
  return [
    ...new Set(
      types.map((one) => (one === 'integer' || one === 'float' ? 'number' : one === 'dict' ? 'object' : one)),
    ),
  ]
    .sort()
    .join('|');
}

function spelling(text: string): string | null {
  const found =
    /\b(?:yyyy|dd|mm|mon)[-/.](?:mm|dd|mon)(?:[-/.](?:yyyy|yy|dd|mm))?\b|\biso[ -]?8601\b|\bunix (?:time(?:stamp)?|epoch)\b|\bepoch\b/i.exec(
      text,
    );
  if (found === null) return null;
  const spelled = found[0].toLowerCase();
  if (spelled.startsWith('iso')) return 'iso';
  return /unix|epoch/.test(spelled) ? 'epoch' : spelled;
}

interface Arranged {
  /** Why what one requires cannot be given to the other; null: it can. */
  readonly conflict: string | null;
  /** Parameters of one with a counterpart among those of the other, and which share of all they are, 0…1. */
  readonly pairs: number;
  readonly share: number;
}

/** Of more pairs of parameters (two tools of 100 each) only those of the same name are compared: a comparison is one step. */
const MOST_COMPARED = 10_000;
/** A counterpart has to be at least this alike. */
const COUNTERPART = 0.34;

/**
 * Finds for every parameter its counterpart, the most alike first. `matchParameters` asks something else: whether each value that the united
 * parameter takes can be passed on to the member, so it is directed (all listed values of one in the other) and may guess. This asks whether two
 * tools are for the same, so it is symmetric, lets half of the listed values suffice, and says what is in conflict instead of leaving a pair out.
 */
export function arrangeParameters(a: readonly Parameter[], b: readonly Parameter[]): Arranged {
  const possible: { one: Parameter; other: Parameter; likeness: number }[] = [];
  const byName =
    a.length * b.length > MOST_COMPARED ? new Map(b.map((other) => [other.name, [other]])) : null;
  for (const one of a) {
    for (const other of byName === null ? b : (byName.get(one.name) ?? [])) {
      const likeness = parameterLikeness(one, other);
      if (likeness >= COUNTERPART) possible.push({ one, other, likeness });
    }
  }
  possible.sort(
    (x, y) => y.likeness - x.likeness || (x.one.name + x.other.name < y.one.name + y.other.name ? -1 : 1),
  );
  const matched = new Set<Parameter>();
  let pairs = 0;
  const match = (one: Parameter, other: Parameter): string | null => {
    matched.add(one);
    matched.add(other);
    pairs++;
    return parameterConflict(one, other);
  };
  for (const { one, other } of possible) {
    if (matched.has(one) || matched.has(other)) continue;
    const conflict = match(one, other);
    if (conflict !== null) return { conflict, share: 0, pairs };
  }
  const [leftA, leftB] = [a, b].map((all) => all.filter((one) => one.required && !matched.has(one)));
  if (leftA.length === 1 && leftB.length === 1 && exchangeable(leftA[0], leftB[0])) match(leftA[0], leftB[0]);
  const [onlyA, onlyB] = [leftA, leftB].map((all) => all.find((one) => !matched.has(one))?.name);
  const names = [onlyA, onlyB].filter((name) => name !== undefined).sort();
  if (names.length === 2)
    return { conflict: `one requires “${names[0]}”, the other “${names[1]}”`, share: 0, pairs };
  if (names.length === 1) return { conflict: `only one of them requires “${names[0]}”`, share: 0, pairs };
  return {
    conflict: null,
    pairs,
    share: a.length + b.length === 0 ? 1 : (2 * pairs) / (a.length + b.length),
  };
}

function parameterLikeness(a: Parameter, b: Parameter): number {
  const names = Math.max(weightedDice(a.words, b.words), abbreviation(a.name, b.name));
  if (names === 1) return 1;
  const texts = a.described.size > 0 && b.described.size > 0 ? dice(a.described, b.described) : null;
  const crossed = holds(b.described, a.words) || holds(a.described, b.words) ? 0.2 : 0;
  return Math.min(0.99, (texts === null ? names : 0.5 * names + 0.5 * texts) + crossed);
}

/** `w` for `width`, `desc` for `description`. */
function abbreviation(a: string, b: string): number {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return long.startsWith(short) && (short.length === 1 || short.length >= 3) ? 0.6 : 0;
}

function weightedDice(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const weightOf = (word: string) => (SOFT_SENTENCE_WORDS.has(word) ? 0.5 : 1);
  let shared = 0;
  let whole = 0;
  for (const word of a) {
    whole += weightOf(word);
    if (b.has(word)) shared += weightOf(word);
  }
  for (const word of b) whole += weightOf(word);
  return whole === 0 ? 0 : (2 * shared) / whole;
}

/** Kinds of values that stand for nothing else, and those by which a thing of any name may be called. */
const KINDS = ['email', 'phone', 'count', 'latitud', 'longitud', 'date', 'time'];

const NAMES = ['identifi', 'name', 'url', 'path', 'code'];

/** The only ones that are left on both sides are counterparts where type and kind are the same. */
function exchangeable(a: Parameter, b: Parameter): boolean {
  const kind = ({ words }: Parameter) => KINDS.find((word) => words.has(word));
  const name = ({ words }: Parameter) => NAMES.find((word) => words.has(word));
  if (a.type !== b.type || kind(a) !== kind(b)) return false;
  const [one, other] = [name(a), name(b)];
  if (one !== undefined && other !== undefined && one !== other) return false;
  return parameterConflict(a, b) === null;
}

function parameterConflict(a: Parameter, b: Parameter): string | null {
  const both = [a.name, b.name].sort().map((name) => `“${name}”`);
  const names = both[0] === both[1] ? both[0] : both.join(' and ');
  const optional = !a.required && !b.required;
  if (a.type !== '' && b.type !== '' && !a.type.split('|').some((type) => b.type.split('|').includes(type)))
    return optional ? null : `${names} take different types`;
  if (a.format !== null && b.format !== null && a.format !== b.format)
    return `${names} are spelled differently`;
  for (const word of [...a.words, ...a.described]) {
    const line = CONTRAST_LINES.get(word);
    if (line === undefined || b.words.has(word) || b.described.has(word)) continue;
    for (const other of [...b.words, ...b.described]) {
      if (
        !a.words.has(other) &&
        !a.described.has(other) &&
        CONTRAST_LINES.get(other)?.some((one) => line.includes(one))
      )
        return `${names}: ${[a.spelled.get(word) ?? word, b.spelled.get(other) ?? other]
          .sort()
          .map((one) => `“${one}”`)
          .join(' is not ')}`;
    }
  }
  if (a.options !== null && b.options !== null) {
    const common = a.options.filter((option) => b.options?.includes(option)).length;
    if (2 * common < Math.max(a.options.length, b.options.length)) return `${names} take different values`;
  }
  return null;
}

function dice(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) if (b.has(word)) shared++;
  return a.size + b.size === 0 ? 0 : (2 * shared) / (a.size + b.size);
}

function holds(all: ReadonlySet<string>, some: ReadonlySet<string>): boolean {
  for (const word of some) if (!all.has(word)) return false;
  return some.size > 0;
}
