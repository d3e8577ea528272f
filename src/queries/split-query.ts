import { contentWords, type Term, tokenise } from '../retrieval/tokenise.ts';
import { withoutQuotations, withoutWrapping } from './quotations.ts';
import {
  beginsRequest,
  FOREIGN_CONNECTION,
  hasRequest,
  isForeign,
  isSubordinate,
  mayBeRelative,
} from './requests.ts';
import { MAX_PARTS, type Split, type Splitter } from './splitter.ts';

/** Only so many characters of a query are split; the embedder reads no more either. */
const MAX_CHARACTERS = 8_192;
/** A clause with fewer terms is not searched for alone. */
const MIN_TERMS = 2;
const LONG_CLAUSE = 60;
/** Two parts that share this many terms, and this much of the shorter one, ask for the same thing twice. */
const REPEATED_TERMS = 2;
const REPEATED_SHARE = 0.5;

/** Splits by the shape of clauses, without model or network, in a fraction of a millisecond. */
export class ClauseSplitter implements Splitter {
  split(query: string): Promise<Split> {
    return Promise.resolve({ parts: splitQuery(query), by: 'clauses', fallback: null });
  }
}

/**
 * Returns the requests that a query holds, each in the words of the query: sentences, items of a list, and clauses with a verb
 * of their own. It splits rarely: text that asks for nothing (a preface, a detail, a reason) stays with the request before it,
 * or with the first one; two parts that ask for the same are one; a query with a single request is returned unchanged. In other
 * languages than English every sentence that says enough counts as a request.
 */
export function splitQuery(query: string): string[] {
  const text = withoutWrapping(query.slice(0, MAX_CHARACTERS).trim());
  const masked = lowerCase(withoutQuotations(text));
  const foreign = isForeign(masked);
  const clausesIn = foreign ? stepsOf : clausesOf;
  const clauses = sentencesOf(masked).flatMap((sentence) => clausesIn(masked, sentence));
  if (clauses.length < 2) return [query];

  const spans: Span[] = [];
  let from = 0;
  let to = 0;
  let asked = false;
  for (const [start, end] of clauses) {
    const asks = (foreign || hasRequest(masked.slice(start, end))) && saysEnough(text.slice(start, end));
    if (asks && asked) {
      spans.push([from, to]);
      from = start;
    }
    asked ||= asks;
    to = end;
  }
  if (spans.length === 0) return [query];
  spans.push([from, to]);

  const parts = withoutRepeats(spans.map(([start, end]) => text.slice(start, end).trim()));
  if (parts.length < 2) return [query];
  return [...parts.slice(0, MAX_PARTS - 1), ...rest(parts.slice(MAX_PARTS - 1))];
}

/** What connects two clauses. A comma alone is weaker than a conjunction. */
const CONNECTION =
  /(?:[,;:?](?:\s+(?:and|then|but|or|plus|also|as well as)(?=\s))?|\s(?:and|then|plus|&|[–—-])(?=\s))\s+/g;
const CONJUNCTION = /[a-z&]/;
/** Only so many characters of a clause are read to decide whether it asks for something. */
const BEGINNING = 160;

/** Returns the clauses of a sentence that begin a request and follow another one, without the words that connect them. */
function clausesOf(masked: string, [start, end]: Span): Span[] {
  const sentence = masked.slice(start, end);
  const clauses: Span[] = [];
  let from = 0;
  for (const { 0: connection, index } of sentence.matchAll(CONNECTION)) {
    const next = index + connection.length;
    const beginning = sentence.slice(next, next + BEGINNING);
    if (!beginsRequest(beginning)) continue;
    const front = sentence.slice(from, index + (connection.includes('?') ? 1 : 0));
    const frontAsks = hasRequest(front);
    if (!frontAsks && isSubordinate(front)) continue;
    if (!CONJUNCTION.test(connection)) {
      if (!frontAsks) continue;
      if (!connection.includes('?') && mayBeRelative(beginning)) continue;
    }
    if (!saysEnough(front)) continue;
    clauses.push([start + from, start + from + front.length]);
    from = next;
  }
  clauses.push([start + from, end]);
  return clauses;
}

/** A step has at least so many words: “den Flug und dann das Hotel” are two things of one request. */
const STEP_WORDS = 3;

/** Returns the steps of a sentence in another language than English. */
function stepsOf(masked: string, [start, end]: Span): Span[] {
  const sentence = masked.slice(start, end);
  const steps: Span[] = [];
  let from = 0;
  for (const { 0: connection, index } of sentence.matchAll(FOREIGN_CONNECTION)) {
    const next = index + connection.length;
    if (contentWords(sentence.slice(from, index)) < STEP_WORDS) continue;
    if (contentWords(sentence.slice(next)) < STEP_WORDS) continue;
    steps.push([start + from, start + index]);
    from = next;
  }
  steps.push([start + from, end]);
  return steps;
}

function saysEnough(clause: string): boolean {
  return contentWords(clause) >= (clause.length > LONG_CLAUSE ? 1 : MIN_TERMS);
}

function withoutRepeats(parts: readonly string[]): string[] {
  const kept: { text: string; readonly terms: ReadonlySet<Term> }[] = [];
  for (const text of parts) {
    const terms = new Set(tokenise(text));
    const same = kept.find((other) => asksTheSame(terms, other.terms));
    if (same === undefined) kept.push({ text, terms });
    else same.text += ` ${text}`;
  }
  return kept.map(({ text }) => text);
}

function asksTheSame(one: ReadonlySet<Term>, other: ReadonlySet<Term>): boolean {
  let shared = 0;
  for (const term of one) if (other.has(term)) shared++;
  return shared >= REPEATED_TERMS && shared >= REPEATED_SHARE * Math.min(one.size, other.size);
}

function rest(parts: readonly string[]): string[] {
  return parts.length === 0 ? [] : [parts.join(' ')];
}

/** Returns the text in lower case at the same length, so that positions stay valid. */
function lowerCase(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** [start, end) in a text. */
export type Span = readonly [start: number, end: number];

/** Closing punctuation of any script, and line breaks. Runs are bounded, so that the time is linear. */
const SENTENCE_END =
  /[.!?…]{1,9}["'”’»)\]]{0,3}(?=\s)|[。！？｡؟।॥։።]{1,9}[」』”’）]{0,3}|;(?=\s)|[；؛]|[\n\r\u2028\u2029]+/g;
const ABBREVIATION =
  /(?:^|[\s(])(?:\p{L}|(?:\p{L}\.)+\p{L}|mr|mrs|ms|dr|prof|st|vs|no|nr|approx|inc|ltd|co|corp|jr|sr|dept|fig|est|ca|bzw|etc)$/iu;
const LONGEST_ABBREVIATION = 8;
/** `1.` in front of an item of a list. */
const ITEM_NUMBER = /^\s*\(?\d{1,2}$/;
const NUMBERED_ITEM = /(?<=^|[\s:,;])\(?(\d{1,2})[.)]\s+(?=\S)/g;

/** Returns the sentences and list items of a text whose quotations are blanked, without gaps between them. */
export function sentencesOf(text: string): readonly Span[] {
  const items = numberedItems(text);
  const ends = items.map(([start]) => start);
  let start = 0;
  for (const { 0: mark, index } of text.matchAll(SENTENCE_END)) {
    const numbersItem = items.some(([from, to]) => index >= from && index < to);
    if (numbersItem || (mark === '.' && isPartOfWord(text, start, index))) continue;
    start = index + mark.length;
    ends.push(start);
  }
  ends.push(text.length);
  ends.sort((a, b) => a - b);
  const sentences: Span[] = [];
  let last = 0;
  for (const end of ends) {
    if (end > last) sentences.push([last, end]);
    last = end;
  }
  return sentences;
}

/** Returns whether a full stop belongs to the word or number before it. */
function isPartOfWord(text: string, start: number, at: number): boolean {
  const before = text.slice(Math.max(start, at - LONGEST_ABBREVIATION), at);
  return ABBREVIATION.test(before) || ITEM_NUMBER.test(text.slice(start, at));
}

/** Returns the numbers in front of the items of `1) … 2) …`, if they count up from one. */
function numberedItems(text: string): Span[] {
  const items: Span[] = [];
  for (const { 0: marker, 1: number, index } of text.matchAll(NUMBERED_ITEM)) {
    if (Number(number) === items.length + 1) items.push([index, index + marker.length]);
  }
  return items.length > 1 ? items : [];
}
