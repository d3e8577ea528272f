import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SparseVector } from '../../bandit/sparse-vector.ts';
import { sparseDot } from '../../bandit/sparse-vector.ts';
import { Bm25Index } from '../../src/retrieval/bm25.ts';
import { gramsIn, tokenise } from '../../src/retrieval/tokenise.ts';
import { naiveBm25 } from './naive-bm25.ts';

const term = fc.integer({ min: 1, max: 12 });
const document = fc.array(term, { maxLength: 20 });
const slot = fc.nat(200);
const change = fc.oneof(
  { weight: 3, arbitrary: fc.record({ slot, put: document }) },
  { weight: 1, arbitrary: fc.record({ slot, put: fc.constant(null) }) },
);

function apply(changes: readonly { slot: number; put: number[] | null }[]) {
  const index = new Bm25Index();
  const documents = new Map<number, number[]>();
  for (const { slot, put } of changes) {
    if (put === null) {
      index.remove(slot);
      documents.delete(slot);
    } else {
      index.put(slot, Uint32Array.from(put));
      documents.set(slot, put);
    }
  }
  return { index, documents };
}

describe('Bm25Index', () => {
  it('scores like the textbook after any puts, changes and removals', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), document, (changes, query) => {
        const { index, documents } = apply(changes);
        const { scores, maximum } = index.search(Uint32Array.from(query));
        const expected = naiveBm25(documents, query);
        expect(index.size).toBe(documents.size);
        for (const [slot, score] of scores.entries()) expect(score).toBeCloseTo(expected.get(slot) ?? 0, 9);
        expect(maximum).toBeCloseTo(Math.max(0, ...expected.values()), 9);
      }),
    );
  });

  it('gives the same bits whatever came before', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), document, (changes, query) => {
        const { index, documents } = apply(changes);
        const fresh = new Bm25Index();
        for (const [slot, tokens] of [...documents].reverse()) fresh.put(slot, Uint32Array.from(tokens));
        const terms = Uint32Array.from(query);
        const { scores } = index.search(terms);
        const others = fresh.search(terms).scores;
        for (const slot of documents.keys()) expect(scores[slot]).toBe(others[slot]);
        expect(index.queryTerms(terms)).toEqual(fresh.queryTerms(terms));
      }),
    );
  });

  it('finds nothing in an empty index, for an empty query, and for unknown terms', () => {
    const index = new Bm25Index();
    expect(index.search(tokenise('weather')).maximum).toBe(0);
    index.put(3, tokenise('weather forecast'));
    index.put(4, tokenise(''));
    expect(index.search(tokenise('')).maximum).toBe(0);
    expect(index.search(tokenise('invoice')).scores.every((score) => score === 0)).toBe(true);
    const { scores, maximum } = index.search(tokenise('weather'));
    expect(scores[3]).toBe(maximum);
    expect(scores[4]).toBe(0);
  });

  it('forgets a removed document wholly, and removing twice is harmless', () => {
    const index = new Bm25Index();
    index.put(0, tokenise('weather'));
    index.remove(0);
    index.remove(0);
    index.remove(17);
    expect(index.size).toBe(0);
    expect(index.search(tokenise('weather')).maximum).toBe(0);
  });
});

describe('queryTerms', () => {
  it('shares the weight of a word that no document has with its n-grams', () => {
    const index = new Bm25Index();
    index.put(0, tokenise('weather forecast'));
    const vectorOf = (text: string) => index.queryTerms(tokenise(text), (words) => gramsIn(text, words));
    const similarity = (one: string, other: string): number => {
      const { terms, weights } = vectorOf(one);
      const others = vectorOf(other);
      return terms.reduce((sum, term, i) => {
        const at = others.terms.indexOf(term);
        return at < 0 ? sum : sum + weights[i] * others.weights[at];
      }, 0);
    };
    expect(similarity('Mahnungen', 'Mahnungen')).toBeCloseTo(1);
    // Five of five and of six n-grams, which have half of the weight.
    expect(similarity('Mahnunge', 'Mahnungen')).toBeCloseTo(0.5 * (5 / Math.sqrt(5 * 6)));
    expect(similarity('Mahnungen', 'Rechnungen')).toBeLessThan(0.35);
    expect(similarity('Mahnungen', 'Wetter')).toBe(0);
    // A word that documents have is compared as a whole, and does not lose weight against unknown ones.
    expect(vectorOf('forecast')).toEqual(index.queryTerms(tokenise('forecast')));
    const known = tokenise('forecast')[0];
    const weightOf = ({ terms, weights }: SparseVector): number => weights[terms.indexOf(known)];
    expect(weightOf(vectorOf('forecast Mahnungen'))).toBeCloseTo(
      weightOf(index.queryTerms(tokenise('forecast Mahnungen'))),
    );
  });

  const index = new Bm25Index();
  for (const [slot, text] of ['weather forecast', 'weather radar', 'weather station', 'invoice'].entries()) {
    index.put(slot, tokenise(text));
  }

  it('is a unit vector with ascending terms', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2 ** 32 - 1), { minLength: 1, maxLength: 30 }), (tokens) => {
        const vector = index.queryTerms(Uint32Array.from(tokens));
        expect([...vector.terms]).toEqual([...new Set(tokens)].sort((a, b) => a - b));
        expect(sparseDot(vector, vector)).toBeCloseTo(1, 5);
      }),
    );
  });

  it('weighs tf·ln(1 + M/(1 + df))', () => {
    const { weights } = index.queryTerms(tokenise('invoice weather weather'));
    const [invoice, weather] = [Math.log(1 + 4 / 2), 2 * Math.log(1 + 4 / 4)];
    const byTerm = tokenise('invoice')[0] < tokenise('weather')[0] ? [invoice, weather] : [weather, invoice];
    const norm = Math.hypot(invoice, weather);
    expect(weights[0]).toBeCloseTo(byTerm[0] / norm, 6);
    expect(weights[1]).toBeCloseTo(byTerm[1] / norm, 6);
  });

  it('is empty where nothing weighs anything', () => {
    expect(index.queryTerms(tokenise('')).terms).toHaveLength(0);
    expect(new Bm25Index().queryTerms(tokenise('weather')).terms).toHaveLength(0);
  });
});
