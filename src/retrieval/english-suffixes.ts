/** The suffixes that the steps of the stemmer look for, and what takes their place. */
export type Suffix = readonly [suffix: string, replacement: string];

/** By last letter, longest first: most words are done after one look. */
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
