import type { Steps } from '../scheduling/slices.ts';
import {
  canBeOne,
  likeness,
  likenessOf,
  namesOf,
  type ParameterNames,
  type PreparedParameter,
  wordsIn,
} from './parameter-likeness.ts';
import { SIDES, SYNONYMS } from './parameter-words.ts';

/** Parameters that are less alike are two; if those that alone are left over and required are less alike than the other, it is a guess. */
const LEAST_LIKENESS = 0.5;

const LEAST_OF_THE_LAST = 0.15;

export interface MatchedParameters {
  /** The index of the other parameter by the index of the own. */
  readonly pairs: ReadonlyMap<number, number>;
  /** The pair of which only is known that no other parameter is left. */
  readonly guess: readonly [own: string, other: string] | null;
}

/**
 * Pairs parameters of two tools that do the same, each at most once: those of the same name first, then those that are most alike, and then
 * the two that alone are left over and required. Each pair that is compared is one step; of those whose names differ only
 * pairs are compared that can be alike enough, since they have a key in common.
 * @param own names occur once @param others the same
 * @param about names of the tools: what their words say, a parameter need not
 */
export function* matchParameters(
  own: readonly PreparedParameter[],
  others: readonly PreparedParameter[],
  about: readonly string[],
): Steps<MatchedParameters> {
  const matched = new Map<number, number>();
  const taken = new Set<number>();
  const at = new Map(others.map(({ name }, b) => [name, b]));
  for (const [a, parameter] of own.entries()) {
    const b = at.get(parameter.name);
    if (b === undefined) continue;
    yield;
    if (!canBeOne(parameter, others[b])) continue;
    matched.set(a, b);
    taken.add(b);
  }
  const said = new Set(about.flatMap(wordsIn));
  const byKey = new Map<string, number[]>();
  const left = new Map<number, ParameterNames>();
  for (const [b, parameter] of others.entries()) {
    if (taken.has(b)) continue;
    const names = namesOf(parameter, said);
    left.set(b, names);
    for (const key of keysOf(names, false)) {
      const some = byKey.get(key);
      if (some === undefined) byKey.set(key, [b]);
      else some.push(b);
    }
  }
  const pairs: { readonly a: number; readonly b: number; readonly alike: number }[] = [];
  for (const [a, parameter] of own.entries()) {
    if (matched.has(a)) continue;
    const names = namesOf(parameter, said);
    for (const b of new Set(keysOf(names, true).flatMap((key) => byKey.get(key) ?? []))) {
      yield;
      const alike = likenessOf(names, left.get(b)!);
      if (alike !== null && alike >= LEAST_LIKENESS) pairs.push({ a, b, alike });
    }
  }
  pairs.sort((x, y) => y.alike - x.alike || x.a - y.a || x.b - y.b);
  for (const { a, b } of pairs) {
    if (matched.has(a) || taken.has(b)) continue;
    matched.set(a, b);
    taken.add(b);
  }
  const lastOwn = [...own.keys()].filter((a) => own[a].required && !matched.has(a));
  const lastOthers = [...others.keys()].filter((b) => others[b].required && !taken.has(b));
  if (lastOwn.length !== 1 || lastOthers.length !== 1) return { pairs: matched, guess: null };
  const [a, b] = [lastOwn[0], lastOthers[0]];
  const last = likeness(own[a], others[b], about);
  if (last !== null) matched.set(a, b);
  const isGuess = last !== null && last < LEAST_OF_THE_LAST;
  return { pairs: matched, guess: isGuess ? [own[a].name, others[b].name] : null };
}

/** Two parameters whose likeness is at least `LEAST_LIKENESS` have one of these in common: see `namesAlike`. */
function keysOf({ parameter, words, own }: ParameterNames, isOwn: boolean): string[] {
  const keys = [
    ...words.all.map((word) => `word ${word}`),
    ...parameter.signature.map((term) => `text ${term}`),
  ];
  for (const { all, joined } of own === words ? [words] : [words, own]) {
    keys.push(`joined ${joined}`);
    if (joined.length >= 4) keys.push(`start ${joined.slice(0, 4)}`);
    if (all.length === 0) continue;
    const [first] = all;
    for (const group of SYNONYMS.get(first) ?? []) keys.push(`synonyms ${group}`);
    for (const side of SIDES.get(first) ?? []) keys.push(`side ${side}`);
    // An initial of one side meets words of the other that begin with it; two of these do not meet by it.
    keys.push(`${(first.length === 1) === isOwn ? 'initial' : 'initialled'} ${first[0]}`);
  }
  return keys;
}
