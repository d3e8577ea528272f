import { stem } from './stemmer.ts';

/** A term is the FNV-1a hash (32 bits) of the UTF-8 bytes of a stem; indexes and ledgers keep terms. */
export type Term = number;

/** Only the first characters of a longer text are read, so that one text cannot take seconds or fill the index. */
export const MAX_CHARACTERS = 16_384;

/** Returns the terms of a text in order, with repeats, without stop words. */
export function tokenise(text: string): Uint32Array {
  const words = wordsOf(text.slice(0, MAX_CHARACTERS));
  const terms = new Uint32Array(words.length);
  let count = 0;
  for (const word of words) {
    if (!STOP_WORDS.has(word)) terms[count++] = termOf(ASCII.test(word) ? stem(word) : word);
  }
  return terms.slice(0, count);
}

/** Returns the words in lower case: camelCase and snake_case are split, accents of Latin letters and punctuation dropped. */
export function wordsOf(text: string): string[] {
  const parted = text.replace(CAMEL_CASE, ' ');
  if (ASCII.test(parted)) return parted.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const folded = parted.normalize('NFKD').replace(LATIN_ACCENTS, '').normalize('NFC').toLowerCase();
  return (folded.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).flatMap(unspacedPairs);
}

export function termOf(stemmed: string): Term {
  if (!ASCII.test(stemmed)) return fnv1a(new TextEncoder().encode(stemmed));
  let hash = FNV_OFFSET;
  for (let at = 0; at < stemmed.length; at++) hash = Math.imul(hash ^ stemmed.charCodeAt(at), FNV_PRIME);
  return hash >>> 0;
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

function fnv1a(bytes: Uint8Array): Term {
  let hash = FNV_OFFSET;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return hash >>> 0;
}

/** Returns the overlapping pairs of letters of a word in a script that is written without spaces. */
function unspacedPairs(word: string): string[] {
  if (!UNSPACED.test(word)) return [word];
  const letters = Array.from(word);
  if (letters.length < 3) return [word];
  return letters.slice(1).map((letter, at) => letters[at] + letter);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant
const ASCII = /^[\x00-\x7f]*$/;
/** `getUser` → get User, `HTTPServer` → HTTP Server, but `userIDs` → user IDs. */
const CAMEL_CASE = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})/g;
const LATIN_ACCENTS = /(?<=\p{Script=Latin})[\u0300-\u036f]+/gu;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Words that say nothing about which tool is wanted. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a an and are as at be been by can do does for from i in is it like me my need no of on or please s that the ' +
    'this to want with would you'
  ).split(' '),
);
