import { KnownWords } from './known-words.ts';
import { FNV_OFFSET, FNV_PRIME, PlainWords } from './plain-words.ts';
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
  const terms = termsOf(read);
  if (terms.length > 0) return new Uint32Array(terms);
  const words = wordsOf(read);
  return Uint32Array.from(words.length > 0 ? words : charactersOf(read), termOf);
}

/** Returns how many words of a text say something about which tool is wanted. */
export function contentWords(text: string): number {
  const read = text.slice(0, MAX_CHARACTERS);
  if (!WORDS.begin(read)) return wordsOf(read).filter((word) => !STOP_WORDS.has(word)).length;
  let count = 0;
  while (WORDS.next()) {
    KNOWN_WORDS.lookUp(WORDS);
    if (!KNOWN_WORDS.isStop) count++;
  }
  return count;
}

/** Returns the terms of the words that say something. */
function termsOf(text: string): Term[] {
  if (!WORDS.begin(text)) return foldedTerms(text);
  const terms: Term[] = [];
  while (WORDS.next()) {
    KNOWN_WORDS.lookUp(WORDS);
    if (!KNOWN_WORDS.isStop) terms.push(KNOWN_WORDS.term);
  }
  return terms;
}

/** Returns the same of a text that is not ASCII. */
function foldedTerms(text: string): Term[] {
  const terms: Term[] = [];
  for (const word of wordsOf(text)) if (!STOP_WORDS.has(word)) terms.push(stemTerm(word));
  return terms;
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

/** Reads one text at a time; nothing of a text stays. */
const WORDS = new PlainWords(MAX_CHARACTERS);
const KNOWN_WORDS = new KnownWords((word) => ({ term: stemTerm(word), isStop: STOP_WORDS.has(word) }));

/** Returns the term of the stem of a word. */
function stemTerm(word: string): Term {
  return termOf(ASCII.test(word) ? stem(word) : word);
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
  const read = text.slice(0, MAX_CHARACTERS);
  if (!WORDS.begin(read)) return foldedGrams(read, wanted);
  const grams = new Map<Term, readonly Term[]>();
  while (WORDS.next()) {
    const length = WORDS.end - WORDS.start;
    if (length <= GRAM || length > LONGEST_WITH_GRAMS || WORDS.hasDigit) continue;
    KNOWN_WORDS.lookUp(WORDS);
    const { term } = KNOWN_WORDS;
    if (!wanted.has(term) || grams.has(term)) continue;
    const inside = gramsOf(WORDS);
    if (inside.length > 1) grams.set(term, inside);
  }
  return grams;
}

function gramsOf({ bytes, start, end }: PlainWords): Term[] {
  const grams: Term[] = [];
  for (let from = start; from + GRAM <= end; from++) {
    let hash = BEFORE_GRAM;
    for (let at = from; at < from + GRAM; at++) hash = Math.imul(hash ^ bytes[at], FNV_PRIME);
    hash >>>= 0;
    if (!grams.includes(hash)) grams.push(hash);
  }
  return grams;
}

/** The same of a text that is not ASCII. */
function foldedGrams(text: string, wanted: ReadonlySet<Term>): Map<Term, readonly Term[]> {
  const grams = new Map<Term, readonly Term[]>();
  for (const word of wordsOf(text)) {
    if (word.length <= UNSPACED_GRAM || word.length > LONGEST_WITH_GRAMS) continue;
    const isAscii = ASCII.test(word);
    if (isAscii && word.length <= GRAM) continue;
    const term = stemTerm(word);
    if (!wanted.has(term) || grams.has(term) || DIGIT.test(word)) continue;
    const length = !isAscii && UNSPACED.test(word) ? UNSPACED_GRAM : GRAM;
    const letters = Array.from(word);
    const inside: Term[] = [];
    for (let at = 0; at + length <= letters.length; at++) {
      const gram = termOf(SIGN_OF_GRAMS + letters.slice(at, at + length).join(''));
      if (!inside.includes(gram)) inside.push(gram);
    }
    if (inside.length > 1) grams.set(term, inside);
  }
  return grams;
}

/** A sign that no word has: it keeps n-grams apart from words. */
const SIGN_OF_GRAMS = '#';
const BEFORE_GRAM = Math.imul(FNV_OFFSET ^ SIGN_OF_GRAMS.charCodeAt(0), FNV_PRIME);
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
