import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  SUFFICIENCY_FEATURES,
  sufficiencyFeatures,
} from '../../../bandit/calibration/sufficiency-features.ts';

const value = fc.oneof(
  fc.integer({ min: 0, max: 6 }).map((tenth) => tenth / 10),
  fc.constant(Number.NaN),
);
const finite = (one: number): number => (Number.isFinite(one) ? one : 0);
const featureOf = (features: readonly number[], name: (typeof SUFFICIENCY_FEATURES)[number]): number =>
  features[SUFFICIENCY_FEATURES.indexOf(name)];

it('features are those of the candidates in the whole order of their scores, of equals the first one first', () => {
  const rows = fc.array(fc.tuple(value, value, value, value, value, value, value), { maxLength: 70 });
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 50 }), (all, k) => {
      const column = (at: number): number[] => all.map((row) => row[at]);
      const [score, mean, trials, similarity, lexical, dense, retrieval] = [0, 1, 2, 3, 4, 5, 6].map(column);
      const columns = { score, mean, trials, similarity, lexical, dense, retrieval };
      const features = sufficiencyFeatures(columns, k, 1);
      const order = [...all.keys()].sort((a, b) => finite(score[b]) - finite(score[a]) || a - b);
      const means = order.map((index) => finite(mean[index]));
      const margin = (at: number): number => Math.min(1, Math.max(0, (means[0] ?? 0) - (means[at] ?? 0)));
      expect(featureOf(features, 'best mean')).toBe(means[0] ?? 0);
      expect(featureOf(features, 'margin over the next')).toBe(margin(1));
      expect(featureOf(features, 'margin over what is left out')).toBe(margin(k));
      expect(featureOf(features, 'best retrieval score')).toBe(finite(retrieval[order[0]] ?? 0));
      const most = Math.max(...means);
      const weights = means.map((one) => Math.exp((one - most) / 0.05));
      const sum = (some: readonly number[]): number => some.reduce((total, one) => total + one, 0);
      const share = all.length === 0 ? 0 : sum(weights.slice(0, k)) / sum(weights);
      expect(featureOf(features, 'share of the slate')).toBeCloseTo(share, 12);
      const first = (one: readonly number[]): number => one.map(finite).indexOf(Math.max(...one.map(finite)));
      const served = order.slice(0, k);
      const both = served.includes(first(lexical)) && served.includes(first(dense));
      const agreement = both ? (first(lexical) === first(dense) ? 1 : 0.5) : 0;
      expect(featureOf(features, 'agreement of words and vectors')).toBe(agreement);
      expect(featureOf(features, 'size of the slate')).toBe(Math.log2(1 + Math.min(k, all.length)) / 4);
    }),
    { numRuns: 500 },
  );
});
