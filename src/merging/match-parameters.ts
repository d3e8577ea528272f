import { type Term, tokenise, wordsOf } from '../retrieval/tokenise.ts';
import { CONTRAST_LINES, wordFor } from './rule-judge-words.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** A parameter of a tool, as far as it matters for whether another one means the same. */
export interface Parameter {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

/** Parameters that are less alike are two; if those that alone are left over and required are less alike than the other, it is a guess. */
const LEAST_LIKENESS = 0.5;
const LEAST_OF_THE_LAST = 0.15;

const lines = (text: string): string[][] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split(' '));

/** Names that mean the same wherever the tools do. The words of `wordFor` are known beside them. */
const SYNONYMS = numbered(`
query q search keyword term text
limit count max top maximum number
offset skip
name title label
identifier key uuid number
url link uri href
path file filepath filename
message body content text
unit units measure
description summary details
lang locale language
data dataset
value val number
side edge
speed velocity
height altitude
favorable success successful
city location place town
ticker symbol
title track song
sql query
text plaintext content
resume cv
timezone tz
list items array
username name login
`);

/** The two sides of what goes from one to the other: words of one side mean the same, of both sides opposites. */
const SIDES = numbered(`
from source base origin start begin since initial sender old minimum first
to target destination end until finish final recipient receiver new maximum last second
`);

/** Words of one line exclude each other. Those of units may stand in descriptions too, except what is short. */
const UNITS = lines(`
millimeter mm
centimeter centimetre cm
meter metre m
kilometer kilometre km
inch in
foot feet ft
yard yd
mile mi
gram g
kilogram kg
pound lb lbs
ounce oz
millisecond ms
second s sec
minute min
hour hr hrs
day
celsius
fahrenheit
kelvin
degree deg
radian rad
liter litre
milliliter ml
gallon
percent percentage
cent
`);
const UNIT_OF: ReadonlyMap<string, string> = new Map(
  UNITS.flatMap((names) => names.map((name) => [wordFor(name), names[0]] as const)),
);
const AXES = new Set(
  ['x', 'y', 'z', 'width', 'height', 'length', 'depth', 'latitude', 'longitude'].map(wordFor),
);

/** What kind of thing a parameter is, where its name says so: an id is no email. Words of one line are one kind. */
const KINDS: ReadonlyMap<string, string> = new Map(
  lines(`
identifier number key
name title
email
url link
path file
code
phone
date day
time hour
type
year
count
`).flatMap((names) => names.map((name) => [wordFor(name), names[0]] as const)),
);

function numbered(text: string): ReadonlyMap<string, ReadonlySet<number>> {
  const groups = new Map<string, Set<number>>();
  for (const [group, words] of lines(text).entries()) {
    for (const word of words.map(wordFor)) groups.set(word, (groups.get(word) ?? new Set()).add(group));
  }
  return groups;
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

export interface MatchedParameters {
  /** The index of the other parameter by the index of the own. */
  readonly pairs: ReadonlyMap<number, number>;
  /** The pair of which only is known that no other parameter is left. */
  readonly guess: readonly [own: string, other: string] | null;
}

/**
 * Pairs parameters of two tools that do the same, each at most once: those that are most alike first, and then the two that alone are
 * left over and required.
 * @param about names of the tools: what their words say, a parameter need not
 */
export function matchParameters(
  own: readonly Parameter[],
  others: readonly Parameter[],
  about: readonly string[],
): MatchedParameters {
  const said = new Set(about.flatMap(wordsIn));
  const [first, second] = [own, others].map((all) => all.map((parameter) => prepare(parameter, said)));
  const pairs: { readonly a: number; readonly b: number; readonly likeness: number }[] = [];
  for (const [a, parameter] of first.entries()) {
    for (const [b, other] of second.entries()) {
      const likeness = likenessOf(parameter, other);
      if (likeness !== null && likeness >= LEAST_LIKENESS) pairs.push({ a, b, likeness });
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
  const lastOwn = [...own.keys()].filter((a) => own[a].required && !matched.has(a));
  const lastOthers = [...others.keys()].filter((b) => others[b].required && !taken.has(b));
  if (lastOwn.length !== 1 || lastOthers.length !== 1) return { pairs: matched, guess: null };
  const [a, b] = [lastOwn[0], lastOthers[0]];
  const likeness = likenessOf(first[a], second[b]);
  if (likeness !== null) matched.set(a, b);
  const isGuess = likeness !== null && likeness < LEAST_OF_THE_LAST;
  return { pairs: matched, guess: isGuess ? [own[a].name, others[b].name] : null };
}

interface PreparedParameter {
  readonly name: string;
  /** Of the name, in order and as `wordFor` has them. */
  readonly words: readonly string[];
  /** Without those that names of tools say; all if that leaves none. */
  readonly own: readonly string[];
  readonly described: ReadonlySet<Term>;
  readonly units: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
  readonly schema: unknown;
}

function prepare({ name, schema }: Parameter, said: ReadonlySet<string>): PreparedParameter {
  const description = isObject(schema) && typeof schema.description === 'string' ? schema.description : '';
  const words = wordsIn(name);
  const own = words.filter((word) => !said.has(word));
  const told = wordsOf(description)
    .filter(({ length }) => length > 3)
    .map(wordFor);
  return {
    name,
    words,
    own: own.length > 0 ? own : words,
    described: new Set(description === '' ? [] : tokenise(description)),
    units: new Set([...words, ...told].flatMap((word) => UNIT_OF.get(word) ?? [])),
    kinds: kindsOf(schema),
    schema,
  };
}

function wordsIn(name: string): string[] {
  return wordsOf(name)
    .flatMap((word) => word.match(/\d+|\D+/g) ?? [])
    .map(wordFor);
}

/** Returns how surely two parameters mean the same, 0…1; null when no value fits both, or their names exclude each other. */
function likenessOf(a: PreparedParameter, b: PreparedParameter): number | null {
  if (!fits(a, b)) return null;
  if (a.units.size > 0 && b.units.size > 0 && ![...a.units].some((unit) => b.units.has(unit))) return null;
  if (a.name === b.name) return 1;
  const described = overlap(a.described, b.described);
  const [whole, own] = [namesAlike(a.words, b.words, described), namesAlike(a.own, b.own, described)];
  return whole === null || own === null ? null : Math.max(whole, own);
}

function namesAlike(a: readonly string[], b: readonly string[], described: number): number | null {
  const [joined, otherJoined] = [a.join(''), b.join('')];
  if (joined === otherJoined) return 0.95;
  if (areOpposite(a, b)) return null;
  if (areSynonyms(a, b)) return 0.75 + 0.2 * described;
  const kinds = new Set(a.flatMap((word) => KINDS.get(word) ?? []));
  const otherKinds = b.flatMap((word) => KINDS.get(word) ?? []);
  if (kinds.size > 0 && otherKinds.length > 0 && !otherKinds.some((kind) => kinds.has(kind))) return null;
  const [own, others] = [withoutUnits(a), withoutUnits(b)];
  const named = overlap(own, others);
  if (named > 0 && [...own].every((word) => others.has(word))) return 0.6 + 0.3 * named;
  if (named > 0 && [...others].every((word) => own.has(word))) return 0.6 + 0.3 * named;
  const [shorter, longer] = [joined, otherJoined].sort((x, y) => x.length - y.length);
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

/** Jaccard's index: what is in both, as a share of what is in either. */
function overlap<Item>(a: ReadonlySet<Item>, b: ReadonlySet<Item>): number {
  let shared = 0;
  for (const term of a) if (b.has(term)) shared++;
  return shared === 0 ? 0 : shared / (a.size + b.size - shared);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
