import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BestSlots } from '../../src/retrieval/best-slots.ts';

describe('BestSlots', () => {
  it('are the first of all of them in order, the lower slot first of equal scores', () => {
    const scores = fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 60 });
    fc.assert(
      fc.property(scores, fc.integer({ min: 0, max: 20 }), fc.integer(), (values, limit, seed) => {
        const best = new BestSlots(limit);
        const slots = [...values.keys()];
        const shuffled = slots.toSorted((a, b) => ((a * 31 + seed) % 17) - ((b * 31 + seed) % 17));
        for (const slot of shuffled) best.offer(slot, values[slot]);
        const expected = slots.toSorted((a, b) => values[b] - values[a] || a - b).slice(0, limit);
        expect([...best.list()]).toEqual(expected);
      }),
      { numRuns: 500, seed: 20_261_121 },
    );
  });
});
