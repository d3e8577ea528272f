import { stem } from './stemmer.ts';

/** A term is the FNV-1a hash (32 bits) of the UTF-8 bytes of a stem; indexes and ledgers keep terms. */
export type Term = number;

/** Only the first characters of a longer text are read, so that one text cannot take seconds or fill the index. */
export const MAX_CHARACTERS = 16_384;

/**
 * Returns the terms of a text in order, with repeats, without stop words. Text of stop words alone has these as terms, and text
 * without words its first characters, so that only blank text has none.
 */
export function tokenise(text: string): Uint32Array {
  const read = text.slice(0, MAX_CHARACTERS);
  const words = wordsOf(read);
  const terms: Term[] = [];
  for (const word of words) {
    const term = contentTerm(word);
    if (term !== NO_TERM) terms.push(term);
  }
  if (terms.length > 0) return new Uint32Array(terms);
  return Uint32Array.from(words.length > 0 ? words : charactersOf(read), termOf);
}

/** Returns how many words of a text say something about which tool is wanted. */
export function contentWords(text: string): number {
  let count = 0;
  for (const word of wordsOf(text.slice(0, MAX_CHARACTERS))) if (!STOP_WORDS.has(word)) count++;
  return count;
}

/**
 * Returns the words, folded so that letter case, width and accents do not matter. camelCase and snake_case are split, and scripts
 * that are written without spaces are segmented. This depends on the version of ICU, so it is done where a query is
 * routed: what becomes durable is a decision with its terms, and no replica segments that text again
 * (docs/decisions/2026-11-22-languages.md).
 */
export function wordsOf(text: string): string[] {
  const parted = text.replace(CAMEL_CASE, ' ');
  if (ASCII.test(parted)) return parted.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const runs = folded(parted).match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return runs.flatMap((run) => (UNSPACED.test(run) ? segmented(run) : [run]));
}

/** Characters of a text without words that become terms, such as emoji. */
const MAX_SIGNS = 32;

function charactersOf(text: string): string[] {
  return Array.from(text.replace(/\s+/g, '').slice(0, 2 * MAX_SIGNS)).slice(0, MAX_SIGNS);
}

/** Of a stop word. */
const NO_TERM = -1;
/** What words are, because stemming takes ten times as long as looking that up, and the words of queries are few. */
const KNOWN_TERMS = new Map<string, Term | typeof NO_TERM>();
const MOST_KNOWN = 2 ** 14;
const LONGEST_KNOWN = 32;

function contentTerm(word: string): Term | typeof NO_TERM {
  const known = KNOWN_TERMS.get(word);
  if (known !== undefined) return known;
  const term = STOP_WORDS.has(word) ? NO_TERM : termOf(ASCII.test(word) ? stem(word) : word);
  if (word.length > LONGEST_KNOWN) return term;
  if (KNOWN_TERMS.size === MOST_KNOWN) KNOWN_TERMS.clear();
  // A copy: a part of a string keeps the whole of it in memory.
  KNOWN_TERMS.set(Buffer.from(word).toString(), term);
  return term;
}

/** Folds compatibility forms, case (ß as ss, ς as σ) and the marks that may be left out: accents, vowel points. */
function folded(text: string): string {
  // One character may be eighteen in its compatibility form, so the limit holds again afterwards.
  const forms = text.normalize('NFKD').slice(0, MAX_CHARACTERS);
  const bare = forms.replace(OPTIONAL_MARKS, '').normalize('NFC');
  return bare.toLowerCase().replaceAll('ß', 'ss').replaceAll('ς', 'σ').replaceAll('ё', 'е');
}

/** Letters of an n-gram, n (McNamee & Mayfield 2004: 4 serves most European languages), and in scripts without spaces. */
const GRAM = 4;
const UNSPACED_GRAM = 2;
const LONGEST_WITH_GRAMS = 40;

/**
 * Returns the terms of the character n-grams of words with more than n letters, by the term of the word. Numbers have none.
 * @param wanted the words that are looked at, by their terms.
 */
export function gramsIn(text: string, wanted: ReadonlySet<Term>): Map<Term, readonly Term[]> {
  const grams = new Map<Term, readonly Term[]>();
  for (const word of wordsOf(text.slice(0, MAX_CHARACTERS))) {
    if (word.length <= UNSPACED_GRAM || word.length > LONGEST_WITH_GRAMS) continue;
    const isAscii = ASCII.test(word);
    if (isAscii && word.length <= GRAM) continue;
    const known = contentTerm(word);
    const term = known === NO_TERM ? termOf(isAscii ? stem(word) : word) : known;
    if (!wanted.has(term) || grams.has(term) || DIGIT.test(word)) continue;
    const length = !isAscii && UNSPACED.test(word) ? UNSPACED_GRAM : GRAM;
    const letters = isAscii ? word : Array.from(word);
    const inside: Term[] = [];
    // A sign that no word has keeps n-grams apart from words.
    for (let at = 0; at + length <= letters.length; at++) {
      const gram = termOf(
        `#${isAscii ? word.slice(at, at + length) : (letters as string[]).slice(at, at + length).join('')}`,
      );
      if (!inside.includes(gram)) inside.push(gram);
    }
    if (inside.length > 1) grams.set(term, inside);
  }
  return grams;
}

const DIGIT = /\d/;

export function termOf(stemmed: string): Term {
  let hash = FNV_OFFSET;
  for (let at = 0; at < stemmed.length; at++) {
    const code = stemmed.charCodeAt(at);
    if (code > LAST_OF_ASCII) return fnv1a(ENCODER.encode(stemmed));
    hash = Math.imul(hash ^ code, FNV_PRIME);
  }
  return hash >>> 0;
}

const LAST_OF_ASCII = 0x7f;
const ENCODER = new TextEncoder();
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

function fnv1a(bytes: Uint8Array): Term {
  let hash = FNV_OFFSET;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return hash >>> 0;
}

/** Takes a run of letters apart: words of scripts without spaces, pairs of Korean letters, words of other scripts between them. */
function segmented(run: string): string[] {
  return (run.match(ONE_KIND_OF_SCRIPT) ?? []).flatMap((part) => {
    if (KOREAN.test(part)) return pairsOf(part);
    if (!UNSPACED.test(part)) return [part];
    return wordsInside(part);
  });
}

/** So many letters at once: the segmenter's time grows faster than the text. */
const SEGMENTED_AT_ONCE = 256;
/** A longer run without a space or a full stop is hostile or no text: its rest is read by pairs, which takes no time. */
const MOST_SEGMENTED = 2_048;

function wordsInside(part: string): string[] {
  const words: string[] = [];
  for (let from = 0; from < Math.min(part.length, MOST_SEGMENTED); from += SEGMENTED_AT_ONCE) {
    const piece = part.slice(from, Math.min(from + SEGMENTED_AT_ONCE, MOST_SEGMENTED));
    for (const { segment } of SEGMENTER.segment(piece)) words.push(segment);
  }
  return part.length > MOST_SEGMENTED ? [...words, ...pairsOf(part.slice(MOST_SEGMENTED))] : words;
}

/** Returns the overlapping pairs of letters: Korean words carry particles and endings without a space. */
function pairsOf(word: string): string[] {
  const letters = Array.from(word);
  if (letters.length < 3) return [word];
  return letters.slice(1).map((letter, at) => letters[at] + letter);
}

/** Its dictionaries do not depend on the locale. */
const SEGMENTER = new Intl.Segmenter('en', { granularity: 'word' });

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant
const ASCII = /^[\x00-\x7f]*$/;
/** `getUser` → get User, `HTTPServer` → HTTP Server, but `userIDs` → user IDs. */
const CAMEL_CASE = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})/g;
const OPTIONAL_MARKS =
  /(?<=[\p{Script=Latin}\p{Script=Greek}])[\u0300-\u036f]+|[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+/gu;
const KOREAN = /^\p{Script=Hangul}/u;
const WITHOUT_SPACES =
  '\\p{Script=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}';
const UNSPACED = new RegExp(`[${WITHOUT_SPACES}\\p{Script=Hangul}]`, 'u');
const ONE_KIND_OF_SCRIPT = new RegExp(
  `\\p{Script=Hangul}+|[${WITHOUT_SPACES}]+|[^${WITHOUT_SPACES}\\p{Script=Hangul}]+`,
  'gu',
);

/** Words that say nothing about which tool is wanted. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a an and are as at be been by can do does for from i in is it like me my need no of on or please s that the ' +
    'this to want with would you ' +
    'の を に は が と で て し も へ や か から まで です ます まし た した して する ください さん な だ い ない たい お ' +
    '的 了 吗 呢 吧 请 把 给 我 是 在 个'
  ).split(' '),
);
