import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OutcomeMemory } from '../../../bandit/memory/outcome-memory.ts';
import type { CaseOutcome, QueryFeatures } from '../../../bandit/policy.ts';
import { createTypescriptKernels } from '../kernels/typescript-kernels.ts';

const kernels = createTypescriptKernels();
const QUERY: QueryFeatures = {
  embedding: null,
  terms: { terms: Uint32Array.of(1), weights: Float32Array.of(1) },
};

/** P and N of tool 0 after these outcomes for one query. */
function countsAfter(outcomes: readonly Omit<CaseOutcome, 'slot'>[]): { p: number; n: number } {
  const memory = new OutcomeMemory(kernels, { dimensions: 0, cases: 10 });
  let id = -1;
  for (const [at, outcome] of outcomes.entries())
    id = memory.remember(QUERY, [{ slot: 0, ...outcome }], at, 0);
  const [{ positives: p, negatives: n }] = memory.caseCounts(id);
  memory.dispose();
  return { p, n };
}

const rewards = fc.constantFrom(0, 0.25, 0.5, 1);

describe('weights of outcomes in memory', () => {
  it('a whole weight is as many outcomes of weight 1, and no more than two', () => {
    const outcomes = fc.array(fc.record({ reward: rewards, weight: fc.integer({ min: 1, max: 10 }) }), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(outcomes, (weighted) => {
        const repeated = weighted.flatMap(({ reward, weight }) =>
          Array(Math.min(2, weight)).fill({ reward }),
        );
        expect(countsAfter(weighted)).toEqual(countsAfter(repeated));
      }),
    );
  });

  it('any weight moves the rate towards its reward, the more the heavier, and never past the limit', () => {
    const weights = fc.double({ min: 0.01, max: 10, noNaN: true });
    fc.assert(
      fc.property(fc.array(rewards, { minLength: 1, maxLength: 8 }), weights, weights, (earlier, a, b) => {
        const before = earlier.map((reward) => ({ reward }));
        const [light, heavy] = [Math.min(a, b), Math.max(a, b)].map((weight) =>
          countsAfter([...before, { reward: 1, weight }]),
        );
        const rate = ({ p, n }: { p: number; n: number }) => p / (p + n);
        expect(rate(light)).toBeGreaterThanOrEqual(rate(countsAfter(before)) - 1e-6);
        expect(rate(heavy)).toBeGreaterThanOrEqual(rate(light) - 1e-6);
        expect(heavy.p + heavy.n).toBeLessThanOrEqual(5 + 1e-5);
      }),
    );
  });

  it('refuses weights that are none, before anything is written', () => {
    const memory = new OutcomeMemory(kernels, { dimensions: 0, cases: 10 });
    for (const weight of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e9]) {
      expect(() => memory.remember(QUERY, [{ slot: 0, reward: 1, weight }], 0, 0)).toThrow(RangeError);
    }
    expect(memory.size).toBe(0);
    memory.dispose();
  });
});
