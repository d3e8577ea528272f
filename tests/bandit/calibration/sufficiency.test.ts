import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OnlineLogistic } from '../../../bandit/calibration/online-logistic.ts';
import { Reliability } from '../../../bandit/calibration/reliability.ts';
import { Sufficiency } from '../../../bandit/calibration/sufficiency.ts';
import {
  SUFFICIENCY_FEATURES,
  sufficiencyFeatures,
} from '../../../bandit/calibration/sufficiency-features.ts';
import { randomFor } from '../../../bandit/random.ts';

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

describe('online logistic regression', () => {
  it('finds the weights that made the outcomes', () => {
    const model = new OnlineLogistic({ weights: [0, 0, 0], variances: [9, 9, 9] });
    const random = randomFor('logistic');
    for (let i = 0; i < 6000; i++) {
      const x = [1, 2 * random.uniform(4 * i) - 1, 2 * random.uniform(4 * i + 1) - 1];
      const p = sigmoid(0.5 + 2 * x[1] - 1 * x[2]);
      model.learn(x, random.uniform(4 * i + 2) < p ? 1 : 0);
    }
    const [bias, first, second] = model.weights;
    expect(bias).toBeCloseTo(0.5, 0);
    expect(first).toBeCloseTo(2, 0);
    expect(second).toBeCloseTo(-1, 0);
    expect(model.probability([1, 1, -1])).toBeGreaterThan(0.94);
  });

  it('keeps finite weights and an ordered answer, whatever it is taught', () => {
    const example = fc.tuple(
      fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: 3, maxLength: 3 }),
      fc.constantFrom(0, 0.5, 1),
    );
    fc.assert(
      fc.property(fc.array(example, { maxLength: 200 }), (examples) => {
        const model = new OnlineLogistic({ weights: [0, 1, 0], variances: [4, 4, 4] });
        for (const [x, y] of examples) model.learn(x, y);
        for (const [x] of examples) {
          const before = model.probability(x);
          expect(before > 0 && before < 1).toBe(true);
          const copy = OnlineLogistic.load({ weights: [0, 1, 0], variances: [4, 4, 4] }, model.save());
          copy.learn(x, 1);
          expect(copy.probability(x)).toBeGreaterThanOrEqual(before - 1e-6);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('reliability', () => {
  it('is the weighted gap between what was predicted and what came', () => {
    const reliability = new Reliability();
    for (let i = 0; i < 10; i++) reliability.add(0.95, i < 8 ? 1 : 0);
    for (let i = 0; i < 30; i++) reliability.add(0.25, i < 6 ? 1 : 0);
    expect(reliability.error).toBeCloseTo((10 * 0.15 + 30 * 0.05) / 40, 12);
    expect(reliability.bins()[2]).toEqual({ from: 0.2, to: 0.3, count: 30, predicted: 0.25, observed: 0.2 });
    reliability.correct(0.25, 1);
    expect(reliability.bins()[2].observed).toBeCloseTo(7 / 30, 12);
  });

  it('lets old outcomes fade', () => {
    const reliability = new Reliability();
    for (let i = 0; i < 5000; i++) reliability.add(0.5, 0);
    for (let i = 0; i < 15_000; i++) reliability.add(0.5, 1);
    expect(reliability.total).toBeCloseTo(5000, 6);
    expect(reliability.bins()[5].observed).toBeGreaterThan(0.94);
  });
});

describe('sufficiency', () => {
  const columnsOf = (score: number[]) => ({
    ...{ score, mean: score, trials: score.map(() => 0), similarity: score, lexical: score },
    ...{ dense: score, retrieval: score },
  });

  it('is predicted from features that do not depend on the order of the candidates', () => {
    const scores = fc.uniqueArray(fc.double({ min: 0, max: 1, noNaN: true }), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(scores, fc.integer({ min: 1, max: 12 }), (score, k) => {
        const features = sufficiencyFeatures(columnsOf(score), k, 0);
        const turned = sufficiencyFeatures(columnsOf([...score].reverse()), k, 0);
        expect(features).toHaveLength(SUFFICIENCY_FEATURES.length);
        for (const [i, value] of features.entries()) expect(turned[i]).toBeCloseTo(value, 12);
      }),
    );
  });

  it('has features of decisions without a candidate, and of columns that are no numbers', () => {
    for (const score of [[], [Number.NaN], [Number.POSITIVE_INFINITY, 0.5]]) {
      const features = sufficiencyFeatures(columnsOf(score), 5, 3);
      expect(features.every((value) => Number.isFinite(value))).toBe(true);
    }
  });

  it('grows with the best candidate, before anything was learned', () => {
    const sufficiency = new Sufficiency();
    const at = (best: number): number =>
      sufficiency.probability({ features: sufficiencyFeatures(columnsOf([best, 0.1, 0.1]), 5, 0) });
    expect(at(0.9)).toBeGreaterThan(at(0.5));
    expect(at(0.5)).toBeGreaterThan(at(0.1));
  });

  it.each(['a', 'b', 'c'])('is calibrated after 2,000 outcomes (%s)', (seed) => {
    const sufficiency = new Sufficiency();
    const random = randomFor(seed);
    const make = (i: number) => {
      const best = random.uniform(3 * i);
      const features = sufficiencyFeatures(columnsOf([best, random.uniform(3 * i + 1) * best, 0.1]), 5, 0);
      return { features, outcome: random.uniform(3 * i + 2) < best * best ? 1 : 0 };
    };
    for (let i = 0; i < 2000; i++) {
      const { features, outcome } = make(i);
      sufficiency.learn({ features, predicted: sufficiency.probability({ features }) }, outcome);
    }
    const after = new Reliability();
    for (let i = 2000; i < 8000; i++) {
      const { features, outcome } = make(i);
      after.add(sufficiency.probability({ features }), outcome);
    }
    expect(after.error).toBeLessThan(0.05);
  });

  it('believes a rating that says something, and stops believing one that is always high', () => {
    const features = sufficiencyFeatures(columnsOf([0.5, 0.4, 0.1]), 5, 0);
    const learned = (ratingOf: (outcome: number, i: number) => number): number[] => {
      const sufficiency = new Sufficiency();
      for (let i = 0; i < 1000; i++) {
        const outcome = i % 2;
        sufficiency.learn({ features, rating: ratingOf(outcome, i) }, outcome);
      }
      return [0, 1].map((rating) => sufficiency.probability({ features, rating }));
    };
    const [low, high] = learned((outcome) => (outcome === 1 ? 0.9 : 0.1));
    expect(high - low).toBeGreaterThan(0.9);
    const [lowBlind, highBlind] = learned((_, i) => (i % 4 < 2 ? 0.7 : 1));
    expect(highBlind).toBeLessThan(0.65);
    expect(lowBlind).toBeGreaterThan(0.35);
  });

  it('comes back from its arrays bit for bit, and starts anew when it is reset', () => {
    const sufficiency = new Sufficiency();
    const features = sufficiencyFeatures(columnsOf([0.7, 0.2]), 3, 2);
    for (let i = 0; i < 50; i++) sufficiency.learn({ features, rating: 0.5, predicted: 0.5 }, i % 3 ? 1 : 0);
    const again = Sufficiency.load(sufficiency.save());
    for (const one of [sufficiency, again]) one.learn({ features, predicted: 0.4 }, 1);
    expect(again.save()).toEqual(sufficiency.save());
    sufficiency.correct({ features, predicted: 0.4 }, -1);
    expect(sufficiency.probability({ features })).toBeLessThan(again.probability({ features }));
    sufficiency.reset();
    expect(sufficiency.save()).toEqual(new Sufficiency().save());
  });

  it('refuses a rating outside of its range', () => {
    const features = sufficiencyFeatures(columnsOf([0.5]), 3, 0);
    expect(() => new Sufficiency().probability({ features, rating: 1.5 })).toThrow(RangeError);
    const sufficiency = new Sufficiency();
    expect(() => sufficiency.learn({ features, rating: 1.5 }, 1)).toThrow(RangeError);
    expect(sufficiency.outcomes.all).toBe(0);
    expect(() => new Sufficiency().learn({ features }, Number.NaN)).toThrow(RangeError);
    expect(() => new Sufficiency().learn({ features: [1] }, 1)).toThrow(RangeError);
  });
});
