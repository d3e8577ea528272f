import type { PairVerdict } from './judge.ts';
import { equal, guard } from './rule-judge-guards.ts';
import { numbersApart, placeBefore } from './rule-judge-names.ts';
import { arrangeParameters } from './rule-judge-parameters.ts';
import type { ToolProfile } from './rule-judge-profile.ts';
import { areComputed, deedApart, verbsApart } from './rule-judge-verbs.ts';
import {
  PRODUCT_OF,
  SITE_WORDS,
  SOFT_SENTENCE_WORDS,
  SOFT_WORDS,
  VERB_WORDS,
  wordFor,
} from './rule-judge-words.ts';

/** What a parameter with a counterpart counts beside a shared word. */
const HALF = 0.5;

/** Number of words that say little, such as `current`, which on one side alone keep tools apart. */
const SOFT_WORDS_APART = 3;

/** Most confidence in `same` where the words of one side are not all in the other, where all are, and where parameters are as well. */
const WITH_WORDS_LEFT = 0.7;

const WITH_ALL_WORDS = 0.88;

/** Shared words, and parameters as half a word each, of at least this weight are needed for `same`. */
const ENOUGH = 1.5;

/** Tools that share this much of their words overlap. */
const OVERLAPPING = 0.4;

/** And this much where what keeps them apart is a matter of scope. */
const RELATED = 0.3;

/** Compares two tools by rules. Symmetric and deterministic. */
export function compareTools(one: ToolProfile, other: ToolProfile): PairVerdict {
  const [a, b] = one.tool.hash <= other.tool.hash ? [one, other] : [other, one];
  if (a.tool.kind === 'skill' || b.tool.kind === 'skill')
    return different(1, 'skills are read and not called, and are not merged');
  const isCopy = a.copyKey === b.copyKey;
  const coreA = withInitials(a, b);
  const coreB = withInitials(b, a);
  const shared = sharedWords(coreA, coreB);
  const likeness = likenessOf(coreA, coreB);
  const apart = guard(a, b);
  if (apart !== null) {
    return likeness >= RELATED && apart.overlapping
      ? { relation: 'overlapping', confidence: 0.85, reason: apart.reason }
      : different(likeness >= OVERLAPPING ? 0.85 : 0.95, apart.reason);
  }
  const abroad = differentServers(a, b);
  const estranged = abroad && strangers(a, b);
  const places = `${[a.tool.server, b.tool.server].sort().join(' and ')} may be different products`;
  if (abroad && !equal(a.products, b.products)) return overlapping(likeness, places);
  if (isCopy) {
    return same(
      abroad ? 0.9 : 0.99,
      abroad ? `the same definition at ${a.tool.server} and ${b.tool.server}` : 'the same definition twice',
    );
  }
  // What stands before a name says where its tool is, as the name of a server does; nothing else tells these two apart.
  if (a.definitionKey === b.definitionKey && a.space !== '' && b.space !== '')
    return same(WITH_WORDS_LEFT, `the same definition in ${[a.space, b.space].sort().join(' and ')}`);
  const place = a.contentKey === b.contentKey ? placeBefore(a.tool, b.tool) : null;
  if (place !== null && !place.some((word) => SITE_WORDS.has(wordFor(word)) || VERB_WORDS.has(wordFor(word))))
    return same(WITH_WORDS_LEFT, `the same definition, once in ${place.join(' ')}`);
  const numbers = a.contentKey === b.contentKey ? numbersApart(a.tool.name, b.tool.name) : null;
  if (numbers !== null)
    return same(
      WITH_WORDS_LEFT,
      `the same definition but for the number ${numbers.join(' and ')} of the name`,
    );
  const onlyA = unmatchedWords(coreA, a, b);
  const onlyB = unmatchedWords(coreB, b, a);
  if (likeness < OVERLAPPING && (shared < ENOUGH || onlyA.weight + onlyB.weight >= 2 * shared))
    return different(0.6 + 0.35 * (1 - likeness), `little in common: ${told(onlyA, onlyB)}`);
  const verbs = verbsApart(a, b);
  if (verbs !== null)
    return verbs.overlapping ? overlapping(likeness, verbs.reason) : different(0.6, verbs.reason);
  const deed = deedApart(a, b);
  if (deed !== null) return overlapping(likeness, deed);
  if (onlyA.tellsApart || onlyB.tellsApart) {
    const reason = `one alone says ${told(onlyA, onlyB)}`;
    return onlyA.isNamed && onlyB.isNamed ? different(0.6, reason) : overlapping(likeness, reason);
  }
  if (a.unread !== b.unread) return overlapping(likeness, 'their descriptions are too long to compare');
  if (estranged) return overlapping(likeness, places);
  const arranged = arrangeParameters(a.parameters, b.parameters);
  if (arranged.conflict !== null) return overlapping(likeness, arranged.conflict);
  if (shared + HALF * arranged.pairs < ENOUGH)
    return overlapping(likeness, 'their definitions say too little');
  const left = [...onlyA.words, ...onlyB.words];
  const farther = abroad ? 0.1 : 0;
  if (left.length > 0)
    return same(
      Math.max(0.5, WITH_WORDS_LEFT - 0.04 * (left.length - 1) - farther),
      `the same but for ${told(onlyA, onlyB)}`,
    );
  if (2 * arranged.pairs < a.parameters.length + b.parameters.length)
    return same(
      WITH_ALL_WORDS * (0.8 + 0.2 * arranged.share) - farther,
      'the same words, not all parameters',
    );
  return same(0.9 + 0.07 * likeness - farther, 'the same words and the same parameters');
}

const different = (confidence: number, reason: string): PairVerdict => ({
  relation: 'different',
  confidence,
  reason,
});

const same = (confidence: number, reason: string): PairVerdict => ({ relation: 'same', confidence, reason });

const overlapping = (likeness: number, reason: string): PairVerdict => ({
  relation: likeness >= OVERLAPPING ? 'overlapping' : 'different',
  confidence: 0.6,
  reason,
});

type Weights = ReadonlyMap<string, number>;

/** The core of `a`, in which initials that only `b` uses stand for what they spell: `bmi` for `body mass index`. */
function withInitials(a: ToolProfile, b: ToolProfile): Weights {
  let core: Map<string, number> | null = null;
  for (const word of b.core.keys()) {
    const run = a.core.has(word) ? undefined : a.initials.get(word);
    if (run === undefined) continue;
    core ??= new Map(a.core);
    for (const spelled of run) core.delete(spelled);
    core.set(word, 1);
  }
  return core ?? a.core;
}

/** Weight of the words that both have, of the one where they weigh more. */
function sharedWords(a: Weights, b: Weights): number {
  let weight = 0;
  for (const [word, own] of a) {
    const other = b.get(word);
    if (other !== undefined) weight += Math.max(own, other);
  }
  return weight;
}

/** Dice's coefficient of the cores, 0…1. */
function likenessOf(a: Weights, b: Weights): number {
  let whole = 0;
  let shared = 0;
  for (const [word, weight] of a) {
    whole += weight;
    const other = b.get(word);
    if (other !== undefined) shared += weight + other;
  }
  for (const weight of b.values()) whole += weight;
  return whole === 0 ? 0 : shared / whole;
}

interface Unmatched {
  /** As they are spelled. */
  readonly words: readonly string[];
  readonly weight: number;
  /** One of them says something, or several say a little. */
  readonly tellsApart: boolean;
  /** One of them is of the name. */
  readonly isNamed: boolean;
}

/** Words of `a` that `b` does not have: those of its name not in name and description, others nowhere. */
function unmatchedWords(core: Weights, a: ToolProfile, b: ToolProfile): Unmatched {
  const words = new Set<string>();
  let weight = 0;
  let isNamed = false;
  for (const [word, own] of core) {
    const inName = a.named.has(word);
    if (hasWord(b, word, inName)) continue;
    if (!inName && a.parameterWords.has(word)) continue;
    words.add(word);
    weight += own;
    isNamed ||= inName;
  }
  for (const word of a.spaced) {
    if (b.all.has(word)) continue;
    words.add(word);
    weight++;
  }
  // What the initials of the other tool stand for is not said by one alone.
  const spelledOut = new Set([...a.initials].flatMap(([word, run]) => (b.told.has(word) ? run : [])));
  for (const word of a.said) {
    if (hasWord(b, word, false) || a.parameterWords.has(word) || spelledOut.has(word)) continue;
    words.add(word);
  }
  const loud = [...words].filter((word) => !(a.named.has(word) ? SOFT_WORDS : SOFT_SENTENCE_WORDS).has(word));
  // What is computed is in the arguments: one word more, outside the name, is mostly what they are or how it is done.
  const most = areComputed(a, b) && loud.every((word) => core.has(word) && !a.named.has(word)) ? 1 : 0;
  return {
    words: [...words].map((word) => a.spelled.get(word) ?? word),
    weight,
    tellsApart: loud.length > most || words.size >= SOFT_WORDS_APART,
    isNamed,
  };
}

function hasWord(b: ToolProfile, word: string, inName: boolean): boolean {
  return b.told.has(word) || b.initials.has(word) || (!inName && b.parameterWords.has(word));
}

function told(a: Unmatched, b: Unmatched): string {
  const words = [...new Set([...a.words, ...b.words])].sort().slice(0, 6);
  return words.length === 0 ? 'nothing certain' : words.map((word) => `“${word}”`).join(', ');
}

function differentServers(a: ToolProfile, b: ToolProfile): boolean {
  return a.tool.server !== undefined && b.tool.server !== undefined && a.tool.server !== b.tool.server;
}

/** Two servers are strangers when their names share no word and have others than those that both tools use. */
function strangers(a: ToolProfile, b: ToolProfile): boolean {
  const productsOf = ({ serverWords }: ToolProfile) =>
    serverWords.map((word) => PRODUCT_OF.get(word) ?? word);
  const known = productsOf(b);
  if (productsOf(a).some((word) => known.includes(word))) return false;
  return [...a.serverWords, ...b.serverWords]
    .map(wordFor)
    .some((word) => !(a.told.has(word) && b.told.has(word)));
}
