import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawSlate, type ExplorationMode } from '../../bandit/exploration/draw-slate.ts';
import { inclusionPropensities, slateLogProbability } from '../../bandit/exploration/propensities.ts';
import { randomFor } from '../../bandit/random.ts';
import { numbers, sequence, wasmKernels } from './kernels/both-kernels.ts';
import { createTypescriptKernels } from './kernels/typescript-kernels.ts';

const typescript = createTypescriptKernels();

function draw(
  score: Float64Array,
  k: number,
  temperature: number,
  key: string,
  mode: ExplorationMode = 'plackett-luce',
) {
  return drawSlate({ score, k, temperature, mode, random: randomFor(key) });
}

/** Every ordered slate of k with its probability. */
function* slates(
  score: Float64Array,
  k: number,
  temperature: number,
  taken: number[] = [],
): Generator<[number[], number]> {
  if (taken.length === k) {
    yield [taken, Math.exp(slateLogProbability(score, Int32Array.from(taken), temperature))];
    return;
  }
  for (let i = 0; i < score.length; i++) {
    if (!taken.includes(i)) yield* slates(score, k, temperature, [...taken, i]);
  }
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}

const few = fc.record({
  seed: fc.integer({ min: 0, max: 2 ** 31 }),
  n: fc.integer({ min: 1, max: 7 }),
  k: fc.integer({ min: 1, max: 7 }),
  temperature: fc.constantFrom(1e-6, 0.03, 0.1, 1, 100),
  spread: fc.constantFrom(0, 1e-7, 0.1, 1, 1e9),
});

describe('inclusion propensities', () => {
  it('are those of all slates counted out', () => {
    fc.assert(
      fc.property(few, ({ seed, n, k, temperature, spread }) => {
        const score = numbers(sequence(seed), n).map((value) => value * spread);
        const size = Math.min(n, k);
        const expected = new Float64Array(n);
        for (const [slate, probability] of slates(score, size, temperature)) {
          for (const index of slate) expected[index] += probability;
        }
        const propensity = inclusionPropensities(score, k, temperature, typescript);
        for (let i = 0; i < n; i++) expect(propensity[i]).toBeCloseTo(expected[i], 8);
      }),
      { numRuns: 120 },
    );
  });

  it('sum to K, are ordered as the scores and within (0, 1], whatever the scores', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 31 }),
        fc.integer({ min: 1, max: 80 }),
        fc.integer({ min: 1, max: 50 }),
        fc.constantFrom(1e-6, 0.03, 1),
        fc.constantFrom(0, 1e-7, 0.3, 1, 1e9),
        (seed, n, k, temperature, spread) => {
          const next = sequence(seed);
          // Ties among them.
          const score = numbers(next, n).map((value) => (Math.round(value * 20) / 20) * spread);
          const propensity = inclusionPropensities(score, k, temperature, typescript);
          expect(Math.abs(sum(propensity) - Math.min(k, n))).toBeLessThan(1e-7);
          for (let i = 0; i < n; i++) {
            expect(propensity[i] > 0 && propensity[i] <= 1).toBe(true);
            for (let j = 0; j < i; j++) {
              if (score[i] === score[j]) expect(propensity[i]).toBeCloseTo(propensity[j], 9);
              if (score[i] > score[j]) expect(propensity[i]).toBeGreaterThan(propensity[j] - 1e-9);
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('have the same bits with any kernels, and leave no memory behind', () => {
    const kernels = wasmKernels();
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 31 }),
        fc.integer({ min: 1, max: 70 }),
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom(0.01, 0.03, 1),
        (seed, n, k, temperature) => {
          const score = numbers(sequence(seed), n);
          const fast = inclusionPropensities(score, k, temperature, kernels);
          expect(fast).toEqual(inclusionPropensities(score, k, temperature, typescript));
          expect(kernels.allocatedBytes).toBe(0);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('of equal scores are K/n', () => {
    for (const p of inclusionPropensities(new Float64Array(40).fill(3), 5, 0.03, typescript))
      expect(p).toBeCloseTo(5 / 40, 8);
  });

  it('keep small ones to full relative precision, also far below the rest', () => {
    // One place, rates 1 and e^−40: P = e^−40/(1 + e^−40).
    const [, far] = inclusionPropensities(Float64Array.of(0, -40), 1, 1, typescript);
    expect(far / Math.exp(-40)).toBeCloseTo(1, 9);
    const [, near] = inclusionPropensities(Float64Array.of(0, -20), 1, 1, typescript);
    expect(near / (Math.exp(-20) / (1 + Math.exp(-20)))).toBeCloseTo(1, 9);
  });

  it('are the shares of 200,000 draws, within .005', () => {
    const score = numbers(sequence(21), 12).map((value) => value * 0.1);
    const counts = new Float64Array(12);
    for (let i = 0; i < 200_000; i++)
      for (const index of draw(score, 4, 0.05, `decision ${i}`)) counts[index]++;
    const propensity = inclusionPropensities(score, 4, 0.05, typescript);
    for (let i = 0; i < 12; i++) expect(Math.abs(counts[i] / 200_000 - propensity[i])).toBeLessThan(0.005);
  });

  it('refuse what is no score, no size and no temperature', () => {
    const score = Float64Array.of(1, 2);
    expect(() => inclusionPropensities(Float64Array.of(1, Number.NaN), 1, 1, typescript)).toThrow(
      'score[1] must be finite',
    );
    expect(() => inclusionPropensities(score, 0, 1, typescript)).toThrow('k must be');
    expect(() => inclusionPropensities(score, 1, 0, typescript)).toThrow('temperature must be positive');
    expect(() => slateLogProbability(score, Int32Array.of(1, 1), 1)).toThrow('twice');
    expect(() => slateLogProbability(score, Int32Array.of(2), 1)).toThrow('does not exist');
  });
});

describe('drawing a slate', () => {
  it('is the same draw for the same decision, and another one for another', () => {
    const score = new Float64Array(30);
    const slate = draw(score, 5, 1, 'a');
    expect(draw(score, 5, 1, 'a')).toEqual(slate);
    expect(draw(score, 5, 1, 'b')).not.toEqual(slate);
    expect(new Set(slate).size).toBe(5);
  });

  it('draws ordered slates with the probability that is logged', () => {
    const score = Float64Array.of(0, 0.5, 1, 0.2);
    const counts = new Map<string, number>();
    for (let i = 0; i < 40_000; i++) {
      const key = draw(score, 2, 0.5, `d${i}`).join();
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    let total = 0;
    for (const [slate, probability] of slates(score, 2, 0.5)) {
      total += probability;
      expect(Math.abs((counts.get(slate.join()) ?? 0) / 40_000 - probability)).toBeLessThan(0.01);
    }
    expect(total).toBeCloseTo(1, 12);
  });

  it('draws fairly among equals, however far below the best they are', () => {
    const score = Float64Array.of(0, -1e9, -1e9);
    let second = 0;
    for (let i = 0; i < 4000; i++) {
      const slate = draw(score, 2, 1e-6, `d${i}`);
      expect(slate[0]).toBe(0);
      if (slate[1] === 1) second++;
    }
    expect(Math.abs(second / 4000 - 0.5)).toBeLessThan(0.03);
  });

  it('without noise: the best first, ties by index', () => {
    const score = Float64Array.of(1, 3, 3, 2, 3);
    for (const mode of ['ucb', 'greedy'] as const) {
      const slate = draw(score, 4, 0.03, 'x', mode);
      expect([...slate]).toEqual([1, 2, 4, 3]);
    }
  });

  it('takes all there are, and none of none', () => {
    expect(draw(Float64Array.of(1, 2), 5, 1, 'x')).toHaveLength(2);
    expect(draw(new Float64Array(0), 5, 1, 'x')).toHaveLength(0);
    expect(inclusionPropensities(Float64Array.of(1, 2), 2, 1, typescript)).toEqual(Float64Array.of(1, 1));
  });

  it('does not know other modes', () => {
    expect(() => draw(new Float64Array(3), 1, 1, 'x', 'epsilon' as ExplorationMode)).toThrow(
      'unknown exploration mode "epsilon"; known: plackett-luce, ucb, greedy',
    );
  });
});
