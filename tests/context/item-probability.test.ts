import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COLUMNS, CONTEXT_FEATURES, type ContextFeature } from '../../bandit/ranking/context-features.ts';
import type { RankedItem } from '../../bandit/ranking/context-ranker.ts';
import {
  BY_MODEL,
  BY_SIGNALS,
  byProbability,
  type ItemScale,
  servedItems,
} from '../../src/context/item-probability.ts';

function ranked(
  item: number,
  score: number,
  known: Partial<Record<ContextFeature, number>> = {},
): RankedItem {
  const features = new Float64Array(CONTEXT_FEATURES.length).fill(Number.NaN);
  for (const [name, value] of Object.entries(known)) features[COLUMNS[name as ContextFeature]] = value;
  return { item, score, features };
}

describe('the items that are served', () => {
  it('are the likeliest, although others have better scores of the trees', () => {
    const all = [
      ranked(0, 3, { cosine: 0.05 }),
      ranked(1, 2.9, { cosine: 0.04 }),
      ranked(2, 2.5, { cosine: 0.1, 'asked cosine': 1, 'its uses with the tools': 1 }),
    ];
    expect(servedItems(all, BY_MODEL, 1).map(({ item }) => item)).toEqual([2]);
    const [best, ...others] = servedItems(all, BY_MODEL, 3);
    expect(best.item).toBe(2);
    for (const { probability } of others) expect(probability).toBeLessThan(best.probability);
  });

  it('are the first k of a naive sort that are likely enough', () => {
    const value = fc.double({ min: 0, max: 1, noNaN: true });
    const one = fc.record({
      score: fc.double({ min: -5, max: 5, noNaN: true }),
      cosine: value,
      asked: value,
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 12 }), fc.nat({ max: 6 }), (values, k) => {
        const all = values.map(({ score, cosine, asked }, item) =>
          ranked(item, score, { cosine, 'asked cosine': asked }),
        );
        const { none, evidence, at, share, cosine: byCosine, asked: byAsked, threshold } = BY_MODEL;
        const any = Math.max(0, ...values.map(({ cosine, asked }) => Math.max(cosine, asked)));
        const total = values.reduce((sum, { score }) => sum + Math.exp(score), 0);
        const naive = values
          .map(({ score, cosine, asked }, item) => {
            const sum = at + share * Math.log(Math.exp(score) / total) + byCosine * cosine + byAsked * asked;
            return { item, p: 1 / (1 + Math.exp(-none - evidence * any)) / (1 + Math.exp(-sum)) };
          })
          .sort((a, b) => b.p - a.p)
          .slice(0, k)
          .filter(({ p }) => p >= threshold);
        const served = servedItems(all, BY_MODEL, k);
        expect(served).toHaveLength(naive.length);
        for (const [i, { probability }] of served.entries()) expect(probability).toBeCloseTo(naive[i].p, 9);
      }),
      { seed: 7 },
    );
  });
});

describe('a habit', () => {
  it.each<[string, ItemScale]>([
    ['with the model', BY_MODEL],
    ['by signals alone', BY_SIGNALS],
  ])('makes no item likely of which the query says nothing, %s', (_, scale) => {
    const habit = { 'its uses with the tools': 1, 'share of all uses': 1, uses: 5, cosine: 0.1 };
    const items = [ranked(0, 20, habit), ranked(1, 0)];
    for (const { probability } of byProbability(items, scale)) expect(probability).toBeLessThan(0.1);
    expect(servedItems(items, scale, 3)).toEqual([]);
    const asked = [ranked(0, 20, { ...habit, 'asked cosine': 0.9 }), ranked(1, 0)];
    expect(byProbability(asked, scale)[0].probability).toBeGreaterThan(0.5);
  });
});
