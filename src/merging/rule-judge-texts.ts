import { wordsOf } from '../retrieval/tokenise.ts';
import { EFFECT_OF, EMPTY_SENTENCE_WORDS, EMPTY_WORDS, joined, wordFor } from './rule-judge-words.ts';

/** Of longer texts only so much is read, in characters. */
export const MAX_TEXT = 4_000;

/** Begin what says more about a thing that was named already. */
export const ADJUNCT = new Set(
  'given for from by with using based at under on over through via and that which where when optionally according between within in to into'.split(
    ' ',
  ),
);

/** Words before a second verb. */
const JOINERS = new Set('and or then also but'.split(' '));

/** Words of a description that say something; verbs that say little in the first place, as `create`, do in another. */
export function saidIn(description: string): Set<string> {
  const found = new Set<string>();
  for (const [number, sentence] of description.split(/[.!?;:](?=\s|$)|\n/).entries()) {
    const words = joined(wordsOf(sentence));
    for (const [at, word] of words.entries()) {
      const one = wordFor(word);
      if (!tells(one) || !tells(word)) continue;
      const isVerb = at > 0 ? JOINERS.has(words[at - 1]) : number > 0;
      const effect = isVerb ? EFFECT_OF.get(one) : undefined;
      const isEmpty = EMPTY_SENTENCE_WORDS.has(word) || EMPTY_SENTENCE_WORDS.has(one);
      if (!isEmpty || (effect !== undefined && effect !== 'read')) found.add(one);
    }
  }
  return found;
}

const ABBREVIATION = /\b(?:e\.g|i\.e|etc|vs|approx|incl|no|st|dr|u\.s)\.$/i;

export function firstSentence(description: string): string {
  for (const { index } of description.matchAll(/[.!?](?=\s|$)|\n\s*\n/g)) {
    const sentence = description.slice(0, index + 1);
    if (sentence.trim().length > 12 && !ABBREVIATION.test(sentence)) return sentence;
  }
  return description;
}

export const tells = (word: string) => !EMPTY_WORDS.has(word) && (word.length > 1 || /\d/.test(word));

export function meaning(words: readonly string[]): Set<string> {
  return new Set(words.filter(tells));
}

const LINKS = new Set('a an the of in to for and or by is on at with from'.split(' '));

export function initialsOf(texts: readonly (readonly string[])[]): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const words of texts) {
    for (let start = 0; start + 3 <= words.length; start++) {
      const run = words.slice(start, start + 5);
      for (; run.length >= 3; run.pop()) {
        if (run.some((word) => LINKS.has(word))) continue;
        found.set(run.map((word) => word[0]).join(''), run.map(wordFor));
      }
    }
  }
  return found;
}

const PLURAL = /[^su]s$|(?:ch|sh|x|ss)es$/;

const NO_PLURAL = new Set(
  'news status analysis address class access process series gas basis radius axis bus is as its this has was does'.split(
    ' ',
  ),
);

export function numbersOf(
  name: readonly string[],
  sentence: readonly string[],
  verbs: ReadonlySet<string>,
): Map<string, number> {
  const numbers = new Map<string, number>();
  const count = (words: readonly string[], isName: boolean) => {
    for (const [at, word] of words.entries()) {
      const noun = singular(word);
      if (EMPTY_WORDS.has(word) || (at === 0 && verbs.has(wordFor(word)))) continue;
      if (!isName && !numbers.has(noun)) continue;
      // In `user accounts` the first noun says nothing about how many.
      const next = words[at + 1];
      if (!isName && next !== undefined && tells(next) && !ADJUNCT.has(next)) continue;
      const number = PLURAL.test(word) && !NO_PLURAL.has(word) ? 2 : 1;
      numbers.set(noun, (numbers.get(noun) ?? 0) | number);
    }
  };
  count(name, true);
  count(sentence.slice(1), false);
  return numbers;
}

const singular = (word: string) =>
  word
    .replace(/ies$/, 'y')
    .replace(/(?<=ch|sh|x|ss)es$/, '')
    .replace(/(?<=[^sui])s$/, '');

const DIRECTED = new Set(['to', 'into', 'from', 'by', 'of', 'for']);

/** Phrases of two words around a preposition. `into` counts as `to`; `y from x` as `x to y`. `celsius2kelvin` is not read. */
export function directionsIn(texts: readonly (readonly string[])[]): Set<string> {
  const found = new Set<string>();
  for (const words of texts) {
    for (const [at, word] of words.entries()) {
      if (!DIRECTED.has(word)) continue;
      const before = wordFor(words[at - 1] ?? '');
      const next = words.slice(at + 1).find((other) => !ARTICLES.has(other));
      if (before === '' || next === undefined) continue;
      const after = wordFor(next);
      if (word === 'from') found.add(`${after} to ${before}`);
      else found.add(`${before} ${word === 'into' ? 'to' : word} ${after}`);
    }
  }
  return found;
}

const ARTICLES = new Set(
  'a an the its their this that another given specific certain specified one other'.split(' '),
);

const OWN = new Set('my mine own myself your yourself authenticated me'.split(' '));

const EVERYONE = new Set(
  'everyone everybody anyone anybody organizationwide companywide workspacewide'.split(' '),
);

export function scopeOf(words: readonly string[]): 'own' | 'everyone' | null {
  if (words.some((word) => OWN.has(word))) return 'own';
  return words.some((word) => EVERYONE.has(word)) ? 'everyone' : null;
}
