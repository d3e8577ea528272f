import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KnownWords } from '../../src/retrieval/known-words.ts';
import { PlainWords } from '../../src/retrieval/plain-words.ts';
import { termOf } from '../../src/retrieval/tokenise.ts';

const LONGEST = 24;

/** What is said of a word, and which words had to be learned for that. */
function opened(): {
  read(word: string): { readonly term: number; readonly isStop: boolean };
  readonly learned: string[];
} {
  const learned: string[] = [];
  const words = new PlainWords(300);
  const known = new KnownWords((word) => {
    learned.push(word);
    return { term: termOf(word), isStop: word.startsWith('the') };
  });
  const read = (word: string) => {
    expect([words.begin(word), words.next()]).toEqual([true, true]);
    known.lookUp(words);
    return { term: known.term, isStop: known.isStop };
  };
  return { read, learned };
}

describe('KnownWords', () => {
  it('learns a word once, in whatever letters it comes', () => {
    const { read, learned } = opened();
    for (const word of ['invoice', 'Invoice', 'INVOICE', 'there', 'There', 'invoice']) {
      expect(read(word)).toEqual({ term: termOf(word.toLowerCase()), isStop: word.endsWith('here') });
    }
    expect(learned).toEqual(['invoice', 'there']);
  });

  it('keeps nothing of long words', () => {
    const { read, learned } = opened();
    for (const word of ['a'.repeat(LONGEST), 'b'.repeat(LONGEST + 1), 'c'.repeat(300)]) {
      for (let time = 0; time < 3; time++) expect(read(word).term).toBe(termOf(word));
    }
    expect(learned.map(({ length }) => length)).toEqual([24, 25, 25, 25, 300, 300, 300]);
  });

  it('says the same of every word, however many there are', () => {
    const { read, learned } = opened();
    const words = Array.from(
      { length: 40_000 },
      (_, at) => `${at % 3 === 0 ? 'the' : 'w'}${at.toString(36)}`,
    );
    for (const word of [...words, ...words]) {
      expect(read(word)).toEqual({ term: termOf(word), isStop: word.startsWith('the') });
    }
    // There is not room for all of them, and room for most of 4,000.
    expect(learned.length).toBeGreaterThan(words.length);
    const before = learned.length;
    for (const word of [...words.slice(0, 4_000), ...words.slice(0, 4_000)]) read(word);
    expect(learned.length - before).toBeLessThan(6_000);
  });

  it('tells words from each other that belong at the same place', () => {
    const byPlace = new Map<number, string[]>();
    for (let at = 0; at < 200_000; at++) {
      const word = `x${at.toString(36)}`;
      const place = termOf(word) % 2 ** 14;
      byPlace.set(place, [...(byPlace.get(place) ?? []), word]);
    }
    const crowd = [...byPlace.values()].find((words) => words.length >= 12)!;
    const { read } = opened();
    for (const word of [...crowd, ...crowd, ...crowd.toReversed()])
      expect(read(word).term).toBe(termOf(word));
  });

  it('tells words from each other that have one hash and one length', () => {
    const pair = ['declinate', 'macallums'];
    expect(termOf(pair[0])).toBe(termOf(pair[1]));
    const words = new PlainWords(300);
    const known = new KnownWords((word) => ({ term: pair.indexOf(word), isStop: word === pair[1] }));
    for (const word of [...pair, ...pair]) {
      expect([words.begin(word), words.next()]).toEqual([true, true]);
      known.lookUp(words);
      expect([known.term, known.isStop]).toEqual([pair.indexOf(word), word === pair[1]]);
    }
  });
});

describe('PlainWords', () => {
  const walk = new PlainWords(64);
  const wordsIn = (text: string): { words: string[]; hashes: number[] } => {
    const words: string[] = [];
    const hashes: number[] = [];
    expect(walk.begin(text)).toBe(true);
    while (walk.next()) {
      expect(walk.hasDigit).toBe(/\d/.test(walk.word));
      words.push(walk.word);
      hashes.push(walk.hash >>> 0);
    }
    return { words, hashes };
  };
  /** What the walk has to find. */
  const naive = (text: string): string[] =>
    text
      .replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})/g, ' ')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];

  it('finds the words of texts in ASCII', () => {
    const letters = fc.constantFrom(...'abzABZ059_-@[`{/: .\n\0\x7f');
    for (const unit of [letters, 'binary-ascii'] as const) {
      fc.assert(
        fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
          const words = naive(text);
          expect(wordsIn(text)).toEqual({ words, hashes: words.map(termOf) });
        }),
        { numRuns: 2_000 },
      );
    }
    expect(wordsIn('getUserIDs HTTPServer2Go aBCd').words).toEqual(
      'get user ids http server2 go a bcd'.split(' '),
    );
  });

  it('refuses other texts', () => {
    for (const text of [
      'é',
      'Café',
      'open the café',
      'open it …',
      '\u212a',
      'a\u0080b',
      'ABCé',
      'x\ud800',
      'é'.repeat(64),
    ]) {
      expect(walk.begin(text)).toBe(false);
    }
  });
});
