import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { QueryFeatures } from '../../../bandit/policy.ts';
import { randomFor } from '../../../bandit/random.ts';
import { TaughtQueries, type TaughtQuery } from '../../../bandit/taught/taught-query.ts';
import { TaughtVectors } from '../../../bandit/taught/taught-vectors.ts';
import { createTypescriptKernels } from '../kernels/typescript-kernels.ts';

const D = 5;
const B = 64;
const OPTIONS = { dimensions: D, buckets: B, rate: 0.2, failures: 0.5 };
const kernels = createTypescriptKernels();
const random = randomFor('taught');
let draws = 0;

/** A query with unit embedding and unit terms. */
function query(terms = 3): QueryFeatures {
  const uniform = () => random.uniform(draws++);
  const embedding = Float32Array.from({ length: D }, () => uniform() - 0.5);
  const norm = Math.hypot(...embedding);
  const hashes = Uint32Array.from({ length: terms }, () => Math.floor(uniform() * 2 ** 32)).sort();
  const weights = new Float32Array(terms).fill(1 / Math.sqrt(terms));
  return { embedding: embedding.map((value) => value / norm), terms: { terms: hashes, weights } };
}

const taughtQuery = (query: QueryFeatures, buckets: number): TaughtQuery =>
  new TaughtQueries(buckets).of(query);

/** ψ(q) as one dense array. */
function psi({ embedding, terms }: QueryFeatures): number[] {
  const hashed = new Array(B).fill(0);
  const { buckets, weights } = taughtQuery({ embedding, terms }, B);
  for (const [i, bucket] of buckets.entries()) hashed[bucket] = weights[i];
  return [...(embedding ?? new Float32Array(D)), ...hashed];
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * b[i], 0);
}

describe('taught vectors', () => {
  let taught: TaughtVectors;
  let before: number;

  beforeEach(() => {
    before = kernels.allocatedBytes;
    taught = new TaughtVectors(kernels, OPTIONS);
  });

  afterEach(() => {
    taught.free();
    expect(kernels.allocatedBytes).toBe(before);
  });

  const scoreOf = (slot: number, asked: QueryFeatures, by = taught): number => {
    const { slots, values } = by.score(asked);
    const row = slots.indexOf(slot);
    return row < 0 ? 0 : values[row];
  };

  it('says nothing before the first event, and then about that tool alone', () => {
    expect(taught.score(query()).slots.length).toBe(0);
    expect(taught.rowOf(3)).toBe(-1);
    taught.learn(3, query(), 1, 1, 0.25);
    expect([...taught.score(query()).slots]).toEqual([3]);
    expect(taught.rowOf(4)).toBe(-1);
  });

  it('moves by .2 · (1 − m) · ψ(q) with one success', () => {
    const asked = query();
    taught.learn(3, asked, 1, 1, 0.25);
    const features = psi(asked);
    expect(scoreOf(3, asked)).toBeCloseTo(0.2 * 0.75 * dot(features, features), 6);
    const { arrays } = { arrays: taught.save() };
    const w = [...(arrays['taught.dense'] as Float32Array), ...(arrays['taught.hashed'] as Float32Array)];
    for (const [i, value] of w.entries()) expect(value).toBeCloseTo(0.2 * 0.75 * features[i], 6);
  });

  it('follows the definition over any history', () => {
    const pool = Array.from({ length: 6 }, (_, i) => query(i));
    const event = fc.record({
      slot: fc.nat(4),
      asked: fc.nat(5),
      reward: fc.double({ min: 0, max: 1, noNaN: true }),
      weight: fc.constantFrom(0.2, 1, 10),
      mean: fc.double({ min: -1, max: 2, noNaN: true }),
      corrected: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const own = new TaughtVectors(kernels, OPTIONS);
        const naive = Array.from({ length: 5 }, () => new Array<number>(D + B).fill(0));
        for (const { slot, asked, reward, weight, mean, corrected } of events) {
          const features = psi(pool[asked]);
          const square = dot(features, features);
          const rate = Math.min(0.2 * Math.min(weight, 2), square > 0 ? 1 / square : 1);
          const error = reward - Math.min(2, Math.max(-1, mean)) - dot(naive[slot], features);
          const share = (r: number) => (0.5 + 0.5 * r) * r;
          const factor = corrected
            ? rate * (share(1 - reward) - share(reward))
            : rate * (0.5 + 0.5 * reward) * error;
          if (!corrected || own.rowOf(slot) >= 0) {
            for (let i = 0; i < features.length; i++) naive[slot][i] += factor * features[i];
          }
          if (corrected) own.correct(slot, pool[asked], reward, 1 - reward, weight);
          else own.learn(slot, pool[asked], reward, weight, mean);
        }
        for (const asked of pool) {
          for (let slot = 0; slot < 5; slot++) {
            expect(scoreOf(slot, asked, own)).toBeCloseTo(dot(naive[slot], psi(asked)), 4);
          }
        }
        own.free();
      }),
      { numRuns: 60 },
    );
  });

  it('comes back from what it saved with the same bits, whatever came before', () => {
    const asked = Array.from({ length: 8 }, () => query());
    for (let at = 0; at < 200; at++) taught.learn((at * 7) % 90, asked[at % 8], at % 2, 1, 0.3);
    for (const slot of [3, 40, 77]) taught.scale(slot, 0);
    const copy = TaughtVectors.load(kernels, OPTIONS, taught.save());
    for (const one of [taught, copy]) {
      for (let at = 0; at < 50; at++) one.learn((at * 11) % 95, asked[at % 8], 1 - (at % 2), 2, 0.1);
    }
    expect(copy.save()).toEqual(taught.save());
    for (let slot = 0; slot < 95; slot++) expect(scoreOf(slot, asked[0], copy)).toBe(scoreOf(slot, asked[0]));
    copy.free();
  });

  it('says what each word adds: together with the embedding, the whole score', () => {
    const asked = query(4);
    taught.learn(3, query(2), 1, 1, 0);
    taught.learn(3, asked, 1, 1, 0);
    const words = scoreOf(3, { ...asked, embedding: null });
    const shares = taught.termShares(asked, 3);
    expect(shares.map(({ term }) => term)).toEqual([...asked.terms.terms]);
    expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(words, 6);
    expect(taught.termShares(asked, 4)).toEqual([]);
  });

  it('gives the row with the oldest last event to a further tool when all are taken', () => {
    const small = new TaughtVectors(kernels, { ...OPTIONS, tools: 3 });
    const asked = query();
    for (const slot of [10, 20, 30, 10]) small.learn(slot, asked, 1, 1, 0);
    small.learn(40, asked, 1, 1, 0);
    expect([10, 20, 30, 40].map((slot) => small.rowOf(slot) >= 0)).toEqual([true, false, true, true]);
    // The row starts at zero: nothing of the tool before is left in it.
    const features = psi(asked);
    expect(scoreOf(40, asked, small)).toBeCloseTo(0.2 * dot(features, features), 6);
    for (let slot = 100; slot < 5000; slot++) small.learn(slot, asked, slot % 2, 1, 0.5);
    expect(small.score(asked).slots.length).toBe(3);
    expect([...small.score(asked).values].every(Number.isFinite)).toBe(true);
    small.free();
  });

  it('forgets a tool, and halves one that became another', () => {
    const asked = query();
    taught.learn(1, asked, 1, 1, 0);
    const whole = scoreOf(1, asked);
    taught.scale(1, 0.5);
    expect(scoreOf(1, asked)).toBeCloseTo(whole / 2, 6);
    taught.scale(1, 0);
    expect(taught.rowOf(1)).toBe(-1);
    expect(taught.save()['taught.slots'].length).toBe(0);
  });

  it('stays finite, and near what is true, under the largest weight and a thousand repeats', () => {
    const asked = query();
    for (let at = 0; at < 1000; at++) taught.learn(1, asked, 1, 1e6, 0.1);
    expect(scoreOf(1, asked)).toBeCloseTo(0.9, 4);
  });

  it('takes queries without an embedding, without words, and knows neither when it has no buckets', () => {
    const whole = query();
    const words: QueryFeatures = { ...whole, embedding: null };
    taught.learn(1, words, 1, 1, 0);
    expect(scoreOf(1, words)).toBeCloseTo(0.2, 6);
    expect(scoreOf(1, whole)).toBeCloseTo(0.2, 6);
    const dense = new TaughtVectors(kernels, { ...OPTIONS, buckets: 0 });
    dense.learn(1, whole, 1, 1, 0);
    expect(scoreOf(1, whole, dense)).toBeCloseTo(0.2, 6);
    expect(scoreOf(1, words, dense)).toBe(0);
    dense.free();
  });

  it('is not moved further by a query of many words that all meet in one bucket', () => {
    // 1,200 words with the bucket and the sign of one.
    const target = 12_345;
    const {
      buckets: [bucket],
      weights: [sign],
    } = taughtQuery(
      { embedding: null, terms: { terms: Uint32Array.of(target), weights: Float32Array.of(1) } },
      B,
    );
    const stacked: number[] = [];
    for (let term = 1; stacked.length < 1200; term++) {
      const one = taughtQuery(
        { embedding: null, terms: { terms: Uint32Array.of(term), weights: Float32Array.of(1) } },
        B,
      );
      if (one.buckets[0] === bucket && one.weights[0] === sign) stacked.push(term);
    }
    const weights = new Float32Array(1200).fill(1 / Math.sqrt(1200));
    const attack: QueryFeatures = { embedding: null, terms: { terms: Uint32Array.from(stacked), weights } };
    expect(taughtQuery(attack, B).weights[0]).toBeCloseTo(sign, 6);
    for (let at = 0; at < 50; at++) {
      taught.learn(1, attack, 1, 10, 0.2);
      const victim = scoreOf(1, {
        embedding: null,
        terms: { terms: Uint32Array.of(target), weights: Float32Array.of(1) },
      });
      expect(victim).toBeLessThanOrEqual(0.8 + 1e-6);
    }
  });

  it('ends where it began when corrections do, whatever lay between', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(0, 0.25, 0.5, 1), { maxLength: 300 }), (values) => {
        const own = new TaughtVectors(kernels, { ...OPTIONS, rate: 0.5, failures: 0.7 });
        const asked = query();
        own.learn(1, asked, 0.5, 10, 0.3);
        const before = scoreOf(1, asked, own);
        let from = 0.5;
        for (const to of [...values, 0.5]) {
          own.correct(1, asked, from, to, 10);
          from = to;
        }
        expect(scoreOf(1, asked, own)).toBeCloseTo(before, 4);
        own.free();
      }),
      { numRuns: 50 },
    );
  });

  it('comes nearer and never goes past what is true, at every rate, weight and number of buckets', () => {
    for (const buckets of [0, 1, 4, 16, 1024]) {
      for (const rate of [0.2, 0.5]) {
        const own = new TaughtVectors(kernels, { ...OPTIONS, buckets, rate, failures: 1 });
        const asked = query(9);
        let before = 0;
        for (let at = 0; at < 200; at++) {
          own.learn(1, asked, 1, 10, 0.3);
          const now = scoreOf(1, asked, own);
          expect(now).toBeGreaterThanOrEqual(before - 1e-6);
          expect(now).toBeLessThanOrEqual(0.7 + 1e-5);
          before = now;
        }
        expect(before).toBeCloseTo(0.7, 4);
        own.free();
      }
    }
  });

  it('refuses what is not finite, and learns nothing from it', () => {
    taught.learn(1, query(), 1, 1, 0);
    const saved = taught.save();
    const bad = { ...query(), embedding: new Float32Array(D).fill(Number.NaN) };
    expect(() => taught.learn(1, bad, 1, 1, 0)).toThrow(RangeError);
    expect(() => taught.learn(1, query(), 1, 1, Number.NaN)).toThrow('finite');
    expect(() => taught.learn(1, { ...query(), embedding: new Float32Array(2) }, 1, 1, 0)).toThrow(
      '5 dimensions',
    );
    expect(() => taught.learn(2, bad, 1, 1, 0)).toThrow(RangeError);
    expect(taught.save()).toEqual(saved);
  });

  it('refuses arrays that do not fit', () => {
    taught.learn(1, query(), 1, 1, 0);
    const saved = taught.save();
    expect(() => TaughtVectors.load(kernels, { ...OPTIONS, buckets: 32 }, saved)).toThrow('taught.hashed');
    const { 'taught.dense': _, ...without } = saved;
    expect(() => TaughtVectors.load(kernels, OPTIONS, without)).toThrow('taught.dense');
    expect(kernels.allocatedBytes).toBeGreaterThan(0);
  });

  it('learns nothing at rate 0', () => {
    const off = new TaughtVectors(kernels, { ...OPTIONS, rate: 0 });
    off.learn(1, query(), 1, 1, 0);
    expect(off.rowOf(1)).toBe(-1);
    off.free();
  });
});

describe('the features of a query', () => {
  it('puts every term into one bucket with a sign, and adds those that meet', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(2 ** 31), { maxLength: 40 }), (hashes) => {
        const terms = Uint32Array.from(hashes).sort();
        const weights = new Float32Array(terms.length).fill(1 / 64);
        const { buckets, weights: sums } = taughtQuery({ embedding: null, terms: { terms, weights } }, 16);
        expect([...buckets]).toEqual([...new Set(buckets)].sort((a, b) => a - b));
        expect([...buckets].every((bucket) => bucket >= 0 && bucket < 16)).toBe(true);
        const total = [...sums].reduce((sum, value) => sum + Math.abs(value), 0);
        expect(total).toBeLessThanOrEqual(terms.length / 64 + 1e-9);
        expect((terms.length / 64 - total) % (1 / 32)).toBeCloseTo(0, 9); // two of opposite signs cancel whole
      }),
    );
  });

  it('are the same whatever query was hashed before', () => {
    const queries = new TaughtQueries(48);
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(2 ** 32 - 1), { maxLength: 80 }), (hashes) => {
        const terms = Uint32Array.from(hashes).sort();
        const weights = Float32Array.from(terms, (_, i) => (1 + (i % 7)) / 8);
        const query = { embedding: null, terms: { terms, weights } };
        expect(queries.of(query)).toEqual(taughtQuery(query, 48));
      }),
    );
  });

  it('spreads signs and buckets evenly', () => {
    const terms = Uint32Array.from({ length: 20_000 }, (_, i) => i * 64);
    const signs = terms.reduce((sum, term) => {
      const one = { terms: Uint32Array.of(term), weights: Float32Array.of(1) };
      return sum + taughtQuery({ embedding: null, terms: one }, 64).weights[0];
    }, 0);
    expect(Math.abs(signs)).toBeLessThan(4 * Math.sqrt(20_000));
    const counts = new Array(64).fill(0);
    for (const term of terms) {
      const one = { terms: Uint32Array.of(term), weights: Float32Array.of(1) };
      counts[taughtQuery({ embedding: null, terms: one }, 64).buckets[0]]++;
    }
    const expected = 20_000 / 64;
    const chi = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    expect(chi).toBeLessThan(63 + 5 * Math.sqrt(126));
  });
});
