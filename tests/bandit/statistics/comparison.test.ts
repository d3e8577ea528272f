import { describe, expect, test } from 'vitest';
import {
  confidenceSequence,
  oneSidedSequence,
  tightestFor,
} from '../../../bandit/statistics/confidence-sequence.ts';
import { type Difference, difference } from '../../../bandit/statistics/difference.ts';
import { fixedHorizonInterval, fixedHorizonUnits } from '../../../bandit/statistics/fixed-horizon.ts';
import { Moments } from '../../../bandit/statistics/moments.ts';
import { type Sample, sampleOf } from '../../../bandit/statistics/sample.ts';
import golden from '../../golden/statistics-tests.json' with { type: 'json' };

/** A sample with one decision a unit. */
function sample(values: readonly number[], covariates?: readonly number[]): Sample {
  const moments = new Moments(3);
  values.forEach((value, i) => {
    moments.add([1, value, covariates?.[i] ?? 0]);
  });
  const plain = { value: 1, weight: 0 };
  return sampleOf(
    moments,
    covariates === undefined ? plain : { ...plain, covariate: { value: 2, weight: 0 } },
  );
}

const known = (values: Partial<Difference>): Difference => ({
  estimate: 0,
  variance: 1,
  cautiousVariance: 1,
  units: 1000,
  clock: 250,
  degreesOfFreedom: 998,
  covariateWeight: 0,
  varianceReduction: 0,
  ...values,
});

describe('difference of means', () => {
  test("is Welch's, with his interval", () => {
    for (const wanted of golden.welch) {
      const found = difference([{ variant: sample(wanted.variant), against: sample(wanted.against) }])!;
      const interval = fixedHorizonInterval(found, wanted.alpha);
      expect(found.estimate).toBeCloseTo(wanted.estimate, 12);
      expect(found.degreesOfFreedom).toBeCloseTo(wanted.degreesOfFreedom, 8);
      expect(interval.lower).toBeCloseTo(wanted.lower, 10);
      expect(interval.upper).toBeCloseTo(wanted.upper, 10);
      expect(interval.pValue / wanted.pValue).toBeCloseTo(1, 8);
    }
  });

  test('with a covariate is the regression on it', () => {
    const { variant, against, theta, estimate, lower, upper } = golden.cuped;
    const of = (rows: number[][]) =>
      sample(
        rows.map(([y]) => y!),
        rows.map(([, x]) => x!),
      );
    const found = difference([{ variant: of(variant), against: of(against) }])!;
    expect(found.covariateWeight).toBeCloseTo(theta, 12);
    expect(found.estimate).toBeCloseTo(estimate, 12);
    const interval = fixedHorizonInterval(found, 0.05);
    expect(interval.lower).toBeCloseTo(lower, 10);
    expect(interval.upper).toBeCloseTo(upper, 10);
    expect(found.varianceReduction).toBeGreaterThan(0.4);
  });

  test('of a ratio over units has the variance of the delta method', () => {
    const wanted = golden.ratio;
    const moments = new Moments(3);
    wanted.sizes.forEach((size, i) => {
      moments.add([size, wanted.values[i], wanted.covariates[i]]);
    });
    const found = sampleOf(moments, { value: 1, weight: 0, covariate: { value: 2, weight: 0 } });
    expect(found.mean).toBeCloseTo(wanted.mean, 12);
    expect(found.variance).toBeCloseTo(wanted.variance, 12);
    expect(found.covariate!.mean).toBeCloseTo(wanted.covariateMean, 12);
    expect(found.covariate!.variance).toBeCloseTo(wanted.covariateVariance, 12);
    expect(found.covariate!.covariance).toBeCloseTo(wanted.covariance, 12);
  });

  test('over two periods is not fooled by a trend that the shares followed', () => {
    // Everybody does better in the second period, in which the variant has most of the traffic.
    const rate = (ones: number, of: number) =>
      sample(Array.from({ length: of }, (_, i) => (i < ones ? 1 : 0)));
    const first = { variant: rate(20, 100), against: rate(180, 900) };
    const second = { variant: rate(540, 900), against: rate(60, 100) };
    expect(difference([first, second])!.estimate).toBeCloseTo(0, 12);
    expect(difference([first])!.estimate).toBeCloseTo(0, 12);
    const joined = { variant: rate(560, 1000), against: rate(240, 1000) };
    expect(difference([joined])!.estimate).toBeCloseTo(0.32, 12);
  });

  test('of one period is the same as of the period split into equal ones, up to precision', () => {
    const half = {
      variant: sample([...Array(100)].map((_, i) => i % 3)),
      against: sample([...Array(100)].map((_, i) => i % 2)),
    };
    const whole = difference([half, half])!;
    expect(whole.estimate).toBeCloseTo(difference([half])!.estimate, 12);
    expect(whole.cautiousVariance).toBeCloseTo(difference([half])!.cautiousVariance / 2, 12);
    expect(whole.clock).toBeCloseTo(difference([half])!.clock * 2, 8);
  });

  test('says nothing about a handful of units, nor where nothing varies', () => {
    const few = sample([...Array(49)].map((_, i) => i));
    const many = sample([...Array(500)].map((_, i) => i));
    expect(difference([{ variant: few, against: many }])).toBeNull();
    expect(difference([{ variant: few, against: many }], 10)).not.toBeNull();
    const constant = sample([...Array(500)].map(() => 1));
    expect(difference([{ variant: constant, against: constant }])).toBeNull();
    expect(difference([])).toBeNull();
  });

  test('does not believe that a small variant without a single success cannot vary', () => {
    const none = sample([...Array(60)].map(() => 0));
    const rare = sample([...Array(1000)].map((_, i) => (i % 50 === 0 ? 1 : 0)));
    const found = difference([{ variant: none, against: rare }])!;
    expect(found.cautiousVariance).toBeGreaterThan(10 * found.variance);
    expect(difference([{ variant: rare, against: rare }])!.cautiousVariance).toBeCloseTo(
      (2 * rare.variance) / 1000,
      12,
    );
  });
});

describe('confidence sequence', () => {
  test('is the normal mixture tuned by the exact optimum', () => {
    for (const {
      estimate,
      variance,
      clock,
      alpha,
      tightestAt,
      lower,
      upper,
      pValue,
    } of golden.confidenceSequence) {
      const found = confidenceSequence(known({ estimate, cautiousVariance: variance, clock }), {
        alpha,
        tightestAt,
      });
      expect(found.lower).toBeCloseTo(lower, 10);
      expect(found.upper).toBeCloseTo(upper, 10);
      expect(Math.abs(found.pValue - pValue)).toBeLessThan(1e-9 * Math.max(pValue, 1e-30));
    }
  });

  test('one side is at least, and nearly, the exact half-normal mixture', () => {
    for (const {
      estimate,
      variance,
      clock,
      alpha,
      tightestAt,
      oneSidedMargin,
    } of golden.confidenceSequence) {
      const found = oneSidedSequence(known({ estimate, cautiousVariance: variance, clock }), {
        alpha,
        tightestAt,
      });
      const margin = found.upper - estimate;
      expect(estimate - found.lower).toBeCloseTo(margin, 12);
      expect(margin).toBeGreaterThanOrEqual(oneSidedMargin * (1 - 1e-12));
      expect(margin).toBeLessThan(oneSidedMargin * 1.03);
    }
  });

  test('excludes 0 exactly when its p-value is below α', () => {
    for (let estimate = 0; estimate < 0.2; estimate += 0.003) {
      const found = confidenceSequence(known({ estimate, cautiousVariance: 1e-3 }), {
        alpha: 0.05,
        tightestAt: 1000,
      });
      expect(found.lower > 0).toBe(found.pValue < 0.05);
    }
  });

  test('is narrowest, for its size, where it was told to be', () => {
    const width = (units: number) => {
      const at = known({ cautiousVariance: 1 / units, clock: units / 4 });
      return confidenceSequence(at, { alpha: 0.05, tightestAt: 8000 }).upper * Math.sqrt(units);
    };
    expect(width(8000)).toBeCloseTo(3.036, 2);
    for (const units of [500, 4000, 7000, 9000, 16_000, 1e6])
      expect(width(units)).toBeGreaterThan(width(8000));
  });

  test('refuses settings that mean nothing', () => {
    expect(() => confidenceSequence(known({}), { alpha: 0, tightestAt: 100 })).toThrow(/alpha/);
    expect(() => oneSidedSequence(known({}), { alpha: 0.5, tightestAt: 100 })).toThrow(/alpha/);
    expect(() => confidenceSequence(known({}), { alpha: 0.05, tightestAt: 0 })).toThrow(/tightestAt/);
  });
});

test('plans', () => {
  for (const { units, ...plan } of golden.fixedHorizonUnits) expect(fixedHorizonUnits(plan)).toBe(units);
  const units = tightestFor(0.02, 0.5, 0.05);
  const then = known({ estimate: 0.02, cautiousVariance: (4 * 0.25) / units, clock: units / 4 });
  expect(confidenceSequence(then, { alpha: 0.05, tightestAt: units }).lower).toBeCloseTo(0, 4);
});
