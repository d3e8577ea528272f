import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactKnapsack, greedyKnapsack, type KnapsackCorpus } from '../../../bandit/selection/knapsack.ts';

type Item = readonly [gain: number, tokens: number];

function corpusOf(items: readonly Item[], limit: number): KnapsackCorpus {
  return {
    gain: Float64Array.from(items, ([gain]) => gain),
    tokens: Float64Array.from(items, ([, tokens]) => tokens),
    limit,
  };
}

function sum(indices: readonly number[], column: Float64Array): number {
  return indices.reduce((total, index) => total + column[index], 0);
}

/** The largest gain, and the fewest tokens that reach it, of all choices. */
function bruteForce(tools: KnapsackCorpus, instructions: KnapsackCorpus, budget: number) {
  const n = tools.gain.length;
  const all = n + instructions.gain.length;
  let best = { gain: 0, tokens: 0 };
  for (let choice = 0; choice < 2 ** all; choice++) {
    let gain = 0;
    let tokens = 0;
    const counts = [0, 0];
    for (let i = 0; i < all; i++) {
      if ((choice & (1 << i)) === 0) continue;
      const corpus = i < n ? tools : instructions;
      const at = i < n ? i : i - n;
      counts[i < n ? 0 : 1]++;
      gain += corpus.gain[at];
      tokens += corpus.tokens[at];
    }
    if (tokens > budget || counts[0] > tools.limit || counts[1] > instructions.limit) continue;
    if (gain > best.gain || (gain === best.gain && tokens < best.tokens)) best = { gain, tokens };
  }
  return best;
}

// Gains are quarters, so that ties are frequent and every sum is exact.
const item = fc.tuple(
  fc.integer({ min: -2, max: 12 }).map((quarters) => quarters / 4),
  fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 0, max: 30 }) },
    { weight: 1, arbitrary: fc.constantFrom(0, 1e9, Number.POSITIVE_INFINITY) },
  ),
);
const limit = fc.integer({ min: 0, max: 6 });
const instance = fc.record({
  tools: fc.array(item, { maxLength: 7 }),
  instructions: fc.array(item, { maxLength: 6 }),
  maxTools: limit,
  maxInstructions: limit,
  budget: fc.integer({ min: 0, max: 120 }),
});

describe('the knapsack', () => {
  it('chooses nothing where the budget is below 0, as that is which is left beside what is carried', () => {
    const some = corpusOf(
      [
        [0.08, 14],
        [1, 0],
      ],
      3,
    );
    for (const knapsack of [exactKnapsack, greedyKnapsack]) {
      expect(knapsack(some, corpusOf([], 0), -2)).toEqual({ tools: [], instructions: [] });
      expect(knapsack(corpusOf([], 0), some, -1e-9)).toEqual({ tools: [], instructions: [] });
    }
  });

  it('finds what all choices counted out find: the largest gain, with the fewest tokens', () => {
    fc.assert(
      fc.property(instance, ({ tools, instructions, maxTools, maxInstructions, budget }) => {
        const first = corpusOf(tools, maxTools);
        const second = corpusOf(instructions, maxInstructions);
        const chosen = exactKnapsack(first, second, budget);
        const gain = sum(chosen.tools, first.gain) + sum(chosen.instructions, second.gain);
        const tokens = sum(chosen.tools, first.tokens) + sum(chosen.instructions, second.tokens);
        expect({ gain, tokens }).toEqual(bruteForce(first, second, budget));
        expect(chosen.tools.length).toBeLessThanOrEqual(maxTools);
        expect(chosen.instructions.length).toBeLessThanOrEqual(maxInstructions);
      }),
      { numRuns: 400 },
    );
  });

  it('finds it for gains of any size', () => {
    const real = fc.record({
      gains: fc.array(fc.double({ min: 1e-6, max: 1, noNaN: true }), { minLength: 12, maxLength: 12 }),
      tokens: fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 12, maxLength: 12 }),
      scale: fc.constantFrom(1e-200, 1e-9, 1, 1e12),
      budget: fc.integer({ min: 1, max: 1500 }),
      limit,
    });
    fc.assert(
      fc.property(real, ({ gains, tokens, scale, budget, limit: most }) => {
        const items = gains.map((gain, at): Item => [gain * scale, tokens[at]]);
        const [first, second] = [corpusOf(items.slice(0, 7), most), corpusOf(items.slice(7), 3)];
        const chosen = exactKnapsack(first, second, budget);
        const gain = sum(chosen.tools, first.gain) + sum(chosen.instructions, second.gain);
        const best = bruteForce(first, second, budget).gain;
        expect(Math.abs(gain - best)).toBeLessThanOrEqual(1e-10 * scale);
      }),
      { numRuns: 60 },
    );
  });

  it('chooses alike whatever the order of the candidates', () => {
    fc.assert(
      fc.property(
        instance.chain((one) =>
          fc.record({
            one: fc.constant(one),
            shuffled: fc.shuffledSubarray(one.tools, { minLength: one.tools.length }),
          }),
        ),
        ({ one, shuffled }) => {
          const second = corpusOf(one.instructions, one.maxInstructions);
          for (const knapsack of [exactKnapsack, greedyKnapsack]) {
            const [items, others] = [one.tools, shuffled].map((tools) => {
              const chosen = knapsack(corpusOf(tools, one.maxTools), second, one.budget);
              return [chosen.tools.map((index) => tools[index].join()).sort(), chosen.instructions];
            });
            expect(items).toEqual(others);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('takes the first of identical candidates', () => {
    const same = corpusOf(Array(5).fill([1, 10]), 2);
    const none = corpusOf([], 0);
    for (const knapsack of [exactKnapsack, greedyKnapsack]) {
      expect(knapsack(same, none, 100)).toEqual({ tools: [0, 1], instructions: [] });
      expect(knapsack(same, none, 10)).toEqual({ tools: [0], instructions: [] });
    }
  });

  it('is better than greed where greed leaves room that it cannot fill', () => {
    const tools = corpusOf(
      [
        [0.6, 50],
        [1, 100],
      ],
      2,
    );
    const none = corpusOf([], 4);
    expect(greedyKnapsack(tools, none, 100).tools).toEqual([0]);
    expect(exactKnapsack(tools, none, 100).tools).toEqual([1]);
  });

  it('stays within bounds by greed too, and never beats the exact choice', () => {
    fc.assert(
      fc.property(instance, ({ tools, instructions, maxTools, maxInstructions, budget }) => {
        const first = corpusOf(tools, maxTools);
        const second = corpusOf(instructions, maxInstructions);
        const worth = (knapsack: typeof exactKnapsack) => {
          const chosen = knapsack(first, second, budget);
          expect(chosen.tools.length).toBeLessThanOrEqual(maxTools);
          expect(
            sum(chosen.tools, first.tokens) + sum(chosen.instructions, second.tokens),
          ).toBeLessThanOrEqual(budget);
          return sum(chosen.tools, first.gain) + sum(chosen.instructions, second.gain);
        };
        expect(worth(greedyKnapsack)).toBeLessThanOrEqual(worth(exactKnapsack));
      }),
    );
  });
});
