import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bestRows, reciprocalRankFusion } from '../../../bandit/ranking/reciprocal-rank-fusion.ts';

it('adds 1/(60 + rank) of each list', () => {
  const both = reciprocalRankFusion([
    { items: [7, 3, 5], weight: 1 },
    { items: [3, 9], weight: 1 },
  ]);
  expect(both).toEqual([
    { item: 3, score: 1 / 62 + 1 / 61 },
    { item: 7, score: 1 / 61 },
    { item: 9, score: 1 / 62 },
    { item: 5, score: 1 / 63 },
  ]);
});

it('gives the same whatever the order of the lists, the order of one list alone, and counts no item of a list twice', () => {
  const list = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 15 });
  fc.assert(
    fc.property(fc.array(list, { maxLength: 2 }), list, (lists, one) => {
      const weighted = lists.map((items, at) => ({ items, weight: at + 1 }));
      expect(reciprocalRankFusion(weighted.toReversed(), 10)).toEqual(reciprocalRankFusion(weighted, 10));
      const unique = [...new Set(one)];
      expect(reciprocalRankFusion([{ items: one, weight: 2 }]).map(({ item }) => item)).toHaveLength(
        unique.length,
      );
      const alone = reciprocalRankFusion([{ items: unique, weight: 2 }]).map(({ item }) => item);
      expect(alone).toEqual(unique);
    }),
  );
});

it('finds the rows of the largest values and their places without sorting all of them', () => {
  const value = fc.oneof(
    fc.integer({ min: -2, max: 6 }),
    fc.double({ min: -1, max: 6 }),
    fc.constant(Number.NaN),
  );
  fc.assert(
    fc.property(fc.array(value, { maxLength: 60 }), fc.integer({ min: 1, max: 30 }), (values, most) => {
      const sorted = [...values.keys()]
        .filter((row) => values[row] > 0)
        .sort((a, b) => values[b] - values[a] || a - b)
        .slice(0, most);
      const { rows, places } = bestRows(Float64Array.from(values), most);
      expect([...rows]).toEqual(sorted.toSorted((a, b) => a - b));
      expect([...places]).toEqual([...rows].map((row) => sorted.indexOf(row)));
    }),
  );
});
