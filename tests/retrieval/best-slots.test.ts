import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomFor } from '../../bandit/random.ts';
import { BestSlots, proposals, withinReach } from '../../src/retrieval/best-slots.ts';

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

describe('proposals', () => {
  it('are the first of those that are not excluded, whatever their scores are', () => {
    const score = fc.oneof(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.constantFrom(0, 0.25, 1, -1e12, -0.5, 2, 1e12),
    );
    fc.assert(
      fc.property(
        fc.array(score, { maxLength: 120 }),
        fc.integer({ min: 0, max: 60 }),
        fc.uniqueArray(fc.nat(119), { maxLength: 20 }),
        (scores, limit, excluded) => {
          const exclude = new Set(excluded);
          const slots = [...scores.keys()].reverse();
          const of = Float64Array.from(slots, (slot) => scores[slot]);
          const expected = slots
            .filter((slot) => !exclude.has(slot))
            .sort((a, b) => scores[b] - scores[a] || a - b)
            .slice(0, limit);
          expect([...proposals(Int32Array.from(slots), of, { limit, exclude })]).toEqual(expected);
        },
      ),
      { numRuns: 500, seed: 20_261_123 },
    );
  });
});

describe('withinReach', () => {
  it('has one that is above another by twice the margin, where both are as far from what is known as can be', () => {
    const near = withinReach(Int32Array.of(0, 1), Float64Array.of(0.5, 0.35), 0.1, { limit: 1 });
    expect([...proposals(near, Float64Array.of(0.41, 0.44), { limit: 1 })]).toEqual([1]);
  });

  it('has all that can be proposed when no score is further than the margin from what is known of it, and few others', () => {
    const request = fc.record({
      limit: fc.integer({ min: 1, max: 60 }),
      exclude: fc.uniqueArray(fc.nat(2_999), { maxLength: 20 }).map((slots) => new Set(slots)),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3_000 }),
        fc.constantFrom(0, 0.01, 0.1),
        fc.constantFrom('rising', 'falling', 'mixed', 'equal'),
        request,
        fc.integer(),
        (count, margin, order, asked, seed) => {
          const random = randomFor(`reach/${seed}`);
          const about = Float64Array.from({ length: count }, (_, slot) =>
            order === 'equal' ? 0.5 : random.uniform(slot),
          );
          if (order === 'rising') about.sort();
          if (order === 'falling') about.sort().reverse();
          const exact = about.map((score, slot) => score + margin * (2 * random.uniform(count + slot) - 1));
          const slots = Int32Array.from(about.keys()).reverse();
          const known = Float64Array.from(slots, (slot) => about[slot]);
          const near = withinReach(slots, known, margin, asked);
          const all = Float64Array.from(slots, (slot) => exact[slot]);
          const some = Float64Array.from(near, (slot) => exact[slot]);
          expect([...proposals(near, some, asked)]).toEqual([...proposals(slots, all, asked)]);
          const wanted = Math.min(count, asked.limit + asked.exclude.size);
          const last = about.toSorted()[count - wanted];
          // Scores are counted by bins of 1/256.
          for (const slot of near) expect(about[slot]).toBeGreaterThanOrEqual(last - 2 * margin - 1 / 256);
        },
      ),
      { numRuns: 100, seed: 20_261_124 },
    );
  });
});
