/**
 * Returns the stem of a word by the Snowball stemmer for English (Porter2, https://snowballstem.org/algorithms/english/stemmer.html, edition 3.1):
 * `organizing` and `organization` become `organiz`, `organic` stays apart from them.
 *
 * R1 and R2 are kept as positions. Steps change only the end of the word, so the positions stay valid.
 * Within a word, Y stands for a y that is a consonant.
 */
export function stem(word: string): string {
  if (word.length < 3) return word;
  const exception = EXCEPTIONS.get(word);
  if (exception !== undefined) return exception;
  const marked = markConsonantY(word);
  const r1 = startOfR1(marked);
  const r2 = afterNextSyllable(marked, r1);
  let stemmed = withoutPlural(marked);
  stemmed = withoutTense(stemmed, r1);
  stemmed = withoutFinalY(stemmed);
  stemmed = withoutDerivation(stemmed, r1);
  stemmed = withoutSecondDerivation(stemmed, r1, r2);
  stemmed = withoutLastSuffix(stemmed, r2);
  stemmed = withoutFinalE(stemmed, r1, r2);
  return marked === word ? stemmed : stemmed.replaceAll('Y', 'y');
}

/** Words for which the rules give a wrong stem. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ...['andes', 'atlas', 'bias', 'cosmos', 'howe', 'news', 'sky'].map((word): [string, string] => [
    word,
    word,
  ]),
  ['early', 'earli'],
  ['gently', 'gentl'],
  ['idly', 'idl'],
  ['only', 'onli'],
  ['singly', 'singl'],
  ['skies', 'sky'],
  ['skis', 'ski'],
  ['ugly', 'ugli'],
]);

/** Beginnings after which R1 starts at once, so that `international` and `internal` have different stems. */
const WHOLE_BEGINNINGS = ['arsen', 'commun', 'emerg', 'gener', 'inter', 'later', 'organ', 'past', 'univers'];

const VOWELS = 'aeiouy';
const DOUBLES = ['bb', 'dd', 'ff', 'gg', 'mm', 'nn', 'pp', 'rr', 'tt'];
/** Before -ing, words that are no participles (evening, canning, inning, earring, herring, outing). */
const NO_PARTICIPLE = ['even', 'cann', 'inn', 'earr', 'herr', 'out'];
/** Before -eed, words that are no past tense: succeed, proceed, exceed. */
const NO_PAST = ['succ', 'proc', 'exc'];

function isVowel(word: string, at: number): boolean {
  return at >= 0 && at < word.length && VOWELS.includes(word[at]);
}

function hasVowelBefore(word: string, end: number): boolean {
  for (let at = 0; at < end; at++) if (isVowel(word, at)) return true;
  return false;
}

function markConsonantY(word: string): string {
  if (!word.includes('y')) return word;
  let marked = '';
  for (let at = 0; at < word.length; at++) {
    const consonant = word[at] === 'y' && (at === 0 || isVowel(marked, at - 1));
    marked += consonant ? 'Y' : word[at];
  }
  return marked;
}

function startOfR1(word: string): number {
  const beginning = word.length > 3 ? WHOLE_BEGINNINGS.find((one) => word.startsWith(one)) : undefined;
  return beginning?.length ?? afterNextSyllable(word, 0);
}

/** Returns the position after the first non-vowel that follows a vowel, from `start` on; the word's length if there is none. */
function afterNextSyllable(word: string, start: number): number {
  let at = start;
  while (at < word.length && !isVowel(word, at)) at++;
  while (at < word.length && isVowel(word, at)) at++;
  return Math.min(at + 1, word.length);
}

function endsInShortSyllable(word: string): boolean {
  const last = word.length - 1;
  if (word.endsWith('past')) return true;
  if (!isVowel(word, last - 1) || isVowel(word, last)) return false;
  if (last === 1) return true;
  return last > 1 && !isVowel(word, last - 2) && !'wxY'.includes(word[last]);
}

/** Step 1a. */
function withoutPlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2);
  if (word.endsWith('ied') || word.endsWith('ies')) return word.slice(0, word.length > 4 ? -2 : -1);
  if (!word.endsWith('s') || word.endsWith('us') || word.endsWith('ss')) return word;
  return hasVowelBefore(word, word.length - 2) ? word.slice(0, -1) : word;
}

/** Step 1b: -ed and -ing. */
function withoutTense(word: string, r1: number): string {
  const found = longestSuffix(word, TENSES);
  if (found === undefined) return word;
  const [suffix, replacement] = found;
  const rest = word.slice(0, -suffix.length);
  if (replacement === 'ee') return rest.length < r1 || NO_PAST.includes(rest) ? word : `${rest}ee`;
  if (suffix === 'ing') {
    if (NO_PARTICIPLE.includes(rest)) return word;
    if (rest.length === 2 && rest[1] === 'y' && !isVowel(rest, 0)) return `${rest[0]}ie`;
  }
  return hasVowelBefore(rest, rest.length) ? repairedEnd(rest, r1) : word;
}

/** Repairs the end that removing -ed or -ing leaves: `hop(p)`, `hop(e)`, `luxuriat(e)`. */
function repairedEnd(word: string, r1: number): string {
  if (word.endsWith('at') || word.endsWith('bl') || word.endsWith('iz')) return `${word}e`;
  if (DOUBLES.includes(word.slice(-2))) {
    return word.length === 3 && 'aeo'.includes(word[0]) ? word : word.slice(0, -1);
  }
  return word.length === r1 && endsInShortSyllable(word) ? `${word}e` : word;
}

/** Step 1c. */
function withoutFinalY(word: string): string {
  const last = word.length - 1;
  const isY = word[last] === 'y' || word[last] === 'Y';
  return isY && last > 1 && !isVowel(word, last - 1) ? `${word.slice(0, last)}i` : word;
}

/** Step 2. */
function withoutDerivation(word: string, r1: number): string {
  const found = longestSuffix(word, DERIVATIONS);
  if (found === undefined) return word;
  const [suffix, replacement] = found;
  const rest = word.slice(0, -suffix.length);
  if (rest.length < r1) return word;
  if (suffix === 'ogi' && !rest.endsWith('l')) return word;
  if (suffix === 'li' && !'cdeghkmnrt'.includes(rest.slice(-1) || ' ')) return word;
  return rest + replacement;
}

/** Step 3. */
function withoutSecondDerivation(word: string, r1: number, r2: number): string {
  const found = longestSuffix(word, SECOND_DERIVATIONS);
  if (found === undefined) return word;
  const [suffix, replacement] = found;
  const rest = word.slice(0, -suffix.length);
  return rest.length < (suffix === 'ative' ? r2 : r1) ? word : rest + replacement;
}

/** Step 4. */
function withoutLastSuffix(word: string, r2: number): string {
  const found = longestSuffix(word, LAST_SUFFIXES);
  if (found === undefined) return word;
  const [suffix] = found;
  const rest = word.slice(0, -suffix.length);
  if (rest.length < r2) return word;
  return suffix !== 'ion' || rest.endsWith('s') || rest.endsWith('t') ? rest : word;
}

/** Step 5. */
function withoutFinalE(word: string, r1: number, r2: number): string {
  const rest = word.slice(0, -1);
  if (word.endsWith('e')) {
    return rest.length >= r2 || (rest.length >= r1 && !endsInShortSyllable(rest)) ? rest : word;
  }
  return word.endsWith('ll') && rest.length >= r2 ? rest : word;
}

/** A suffix that a step of the stemmer looks for, and its replacement. */
export type Suffix = readonly [suffix: string, replacement: string];

/** Suffixes by last letter, longest first: for most words one lookup is enough. */
export type Suffixes = ReadonlyMap<string, readonly Suffix[]>;

/** @param suffixes longest first, so that the first that fits is the longest that fits. */
function byLastLetter(suffixes: readonly Suffix[]): Suffixes {
  const letters = new Set(suffixes.map(([suffix]) => suffix.slice(-1)));
  return new Map(
    [...letters].map((letter) => [letter, suffixes.filter(([suffix]) => suffix.endsWith(letter))]),
  );
}

export function longestSuffix(word: string, suffixes: Suffixes): Suffix | undefined {
  return suffixes.get(word[word.length - 1])?.find(([suffix]) => word.endsWith(suffix));
}

/** Step 1b. */
export const TENSES = byLastLetter([
  ['eedly', 'ee'],
  ['ingly', ''],
  ['edly', ''],
  ['eed', 'ee'],
  ['ing', ''],
  ['ed', ''],
]);

/** Step 2. */
export const DERIVATIONS = byLastLetter([
  ['ational', 'ate'],
  ['fulness', 'ful'],
  ['iveness', 'ive'],
  ['ization', 'ize'],
  ['ousness', 'ous'],
  ['biliti', 'ble'],
  ['lessli', 'less'],
  ['tional', 'tion'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['ation', 'ate'],
  ['entli', 'ent'],
  ['fulli', 'ful'],
  ['iviti', 'ive'],
  ['ogist', 'og'],
  ['ousli', 'ous'],
  ['abli', 'able'],
  ['alli', 'al'],
  ['anci', 'ance'],
  ['ator', 'ate'],
  ['enci', 'ence'],
  ['izer', 'ize'],
  ['bli', 'ble'],
  ['ogi', 'og'],
  ['li', ''],
]);

/** Step 3. */
export const SECOND_DERIVATIONS = byLastLetter([
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['alize', 'al'],
  ['ative', ''],
  ['icate', 'ic'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
]);

/** Step 4. */
export const LAST_SUFFIXES = byLastLetter(
  'ement able ance ence ible ment ant ate ent ion ism iti ive ize ous al er ic'
    .split(' ')
    .map((suffix) => [suffix, ''] as const),
);
