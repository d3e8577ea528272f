import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TermPostings } from '../../../bandit/memory/term-postings.ts';
import { type SparseVector, sparseDot } from '../../../bandit/sparse-vector.ts';

const PLACES = 40;
/** Few, so that lists become long; small and large ones, and some that lie beside each other in the table. */
const TERMS = Array.from({ length: 60 }, (_, i) => [i, 2 ** 32 - 1 - i, 2 ** 31 + 4096 * i][i % 3]);

const vectors = fc
  .array(fc.tuple(fc.constantFrom(...TERMS), fc.float({ min: Math.fround(0.01), max: 1, noNaN: true })), {
    maxLength: 30,
  })
  .map((pairs): SparseVector => {
    const weights = new Map(pairs);
    const terms = Uint32Array.from(weights.keys()).sort();
    return { terms, weights: Float32Array.from(terms, (term) => weights.get(term)!) };
  });
const steps = fc.array(fc.tuple(fc.nat(PLACES - 1), fc.option(vectors)), { maxLength: 120 });

describe('TermPostings', () => {
  it('has the products of what is there now, and gives it back, whatever came and went', () => {
    fc.assert(
      fc.property(steps, vectors, (script, query) => {
        const postings = new TermPostings();
        const live = new Map<number, SparseVector>();
        for (const [place, vector] of script) {
          if (live.delete(place)) postings.remove(place);
          if (vector === null) continue;
          postings.add(place, vector);
          live.set(place, vector);
        }
        const products = new Float64Array(PLACES);
        postings.addProducts(query, products);
        for (let place = 0; place < PLACES; place++) {
          const vector = live.get(place);
          expect(products[place]).toBe(vector === undefined ? 0 : sparseDot(query, vector));
        }
        const { offsets, terms, weights } = postings.save(PLACES);
        for (let place = 0; place < PLACES; place++) {
          const range = [offsets[place], offsets[place + 1]] as const;
          expect(terms.subarray(...range)).toEqual(live.get(place)?.terms ?? new Uint32Array(0));
          expect(weights.subarray(...range)).toEqual(live.get(place)?.weights ?? new Float32Array(0));
        }
      }),
      { numRuns: 100 },
    );
  });

  it('takes no more room for cases that come and go than for those that stay', () => {
    const postings = new TermPostings();
    const vectorOf = (round: number, place: number): SparseVector => ({
      terms: Uint32Array.from({ length: 20 }, (_, i) => 20 * (100 * round + place) + i),
      weights: new Float32Array(20).fill(0.2),
    });
    for (let place = 0; place < 100; place++) postings.add(place, vectorOf(0, place));
    const { bytes } = postings;
    for (let round = 1; round < 50; round++) {
      for (let place = 0; place < 100; place++) {
        postings.remove(place);
        postings.add(place, vectorOf(round, place));
      }
    }
    expect(postings.bytes).toBe(bytes);
    const products = new Float64Array(100);
    postings.addProducts(vectorOf(49, 7), products);
    expect(products.indexOf(sparseDot(vectorOf(49, 7), vectorOf(49, 7)))).toBe(7);
    expect(products.filter((product) => product !== 0)).toHaveLength(1);
  });

  it('takes no more room for a term that becomes frequent and rare again, over and over', () => {
    const postings = new TermPostings();
    const vector: SparseVector = { terms: Uint32Array.of(7), weights: Float32Array.of(1) };
    const comeAndGo = (): void => {
      for (let place = 0; place < 100; place++) postings.add(place, vector);
      for (let place = 0; place < 100; place++) postings.remove(place);
    };
    comeAndGo();
    const { bytes } = postings;
    for (let round = 0; round < 50; round++) comeAndGo();
    expect(postings.bytes).toBe(bytes);
  });
});
