import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inclusionPropensities, slateLogProbability } from '../../bandit/exploration/propensities.ts';
import {
  type Estimator,
  offPolicyDifference,
  offPolicyEstimates,
  refusalOf,
  reportOffPolicy,
} from '../../bandit/off-policy/off-policy-estimate.ts';
import { type EvaluatedDecision, OffPolicyTally } from '../../bandit/off-policy/off-policy-tally.ts';
import { randomFor } from '../../bandit/random.ts';
import { wasmKernels } from './kernels/both-kernels.ts';

const settings = { alpha: 0.05, rewards: { lower: 0, upper: 1 }, comparisons: 1 };
const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

/** 0 or large enough that its square is a number: probabilities of a slate add up to its size, so some of them are. */
const probability = fc.double({ min: 0, max: 1, noNaN: true }).map((value) => (value < 1e-9 ? 0 : value));

/** Random logs: 5 candidates, 2 shown, rewards 0 or 1. */
const decision: fc.Arbitrary<EvaluatedDecision> = fc.record({
  propensities: fc.array(fc.double({ min: 0.02, max: 1, noNaN: true }), { minLength: 5, maxLength: 5 }),
  target: fc.array(probability, { minLength: 5, maxLength: 5 }),
  expected: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 5, maxLength: 5 }),
  slate: fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 2, maxLength: 2 }),
  rewards: fc.tuple(fc.constantFrom(0, 1), fc.constantFrom(0, 1)),
});
const logs = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', null), decision), {
  minLength: 5,
  maxLength: 40,
});

/** By the book, over all decisions at once. */
function naive(rows: readonly (readonly [string | null, EvaluatedDecision])[], clip: number) {
  const perDecision = rows.map(([unit, d], index) => {
    const shown = [...(d.slate as number[])];
    const weights = shown.map((a) => Math.min(d.target[a] / d.propensities[a], clip));
    const rewards = [...(d.rewards as number[])];
    const model = sum([...(d.target as number[])].map((pi, a) => pi * d.expected[a]));
    return {
      unit: unit ?? `only ${index}`,
      size: sum([...(d.target as number[])]),
      ips: sum(weights.map((w, i) => w * rewards[i])),
      weight: sum(weights),
      dr: model + sum(weights.map((w, i) => w * (rewards[i] - d.expected[shown[i]]))),
      logged:
        sum([...(d.propensities as number[])].map((p, a) => p * d.expected[a])) +
        sum(rewards.map((r, i) => r - d.expected[shown[i]])),
    };
  });
  const total = (key: 'size' | 'ips' | 'weight' | 'dr' | 'logged') => sum(perDecision.map((row) => row[key]));
  const n = perDecision.length;
  const units = [...new Set(perDecision.map(({ unit }) => unit))];
  /** Standard error of Σ residual / n, residuals summed per unit. */
  const error = (residual: (row: (typeof perDecision)[number]) => number) => {
    const sums = units.map((unit) => sum(perDecision.filter((row) => row.unit === unit).map(residual)));
    const centre = sum(sums) / units.length;
    return Math.sqrt((units.length * sum(sums.map((s) => (s - centre) ** 2))) / (units.length - 1)) / n;
  };
  const ips = total('ips') / n;
  const dr = total('dr') / n;
  const snips = ((total('size') / n) * total('ips')) / total('weight');
  const difference = dr - total('logged') / n;
  const stretch = total('size') / total('weight');
  return {
    ips: { value: ips, error: error((row) => row.ips - ips) },
    dr: { value: dr, error: error((row) => row.dr - dr) },
    difference: { value: difference, error: error((row) => row.dr - row.logged - difference) },
    snips: {
      value: snips,
      error: error(
        (row) =>
          stretch * (row.ips - (total('ips') / total('weight')) * row.weight) +
          (snips * row.size) / (total('size') / n) -
          snips,
      ),
    },
  };
}

describe('estimates', () => {
  test('and their standard errors are those of the textbook, over units', () => {
    fc.assert(
      fc.property(logs, fc.constantFrom(2, 1000), (rows, clip) => {
        const tally = new OffPolicyTally(clip);
        for (const [unit, row] of rows) tally.add(row, unit);
        const wanted = naive(rows, clip);
        fc.pre(Number.isFinite(wanted.snips.value) && Number.isFinite(wanted.ips.error));
        for (const { estimator, value, standardError } of offPolicyEstimates(tally, settings)) {
          const { value: naiveValue, error } = wanted[estimator];
          expect(Math.abs(value - naiveValue)).toBeLessThan(1e-9 * Math.max(1, naiveValue));
          const plain = standardError / Math.sqrt(tally.missingVariance);
          expect(Math.abs(plain - error)).toBeLessThan(1e-6 * Math.max(1, error));
        }
        const { value, standardError } = offPolicyDifference(tally, settings);
        expect(Math.abs(value - wanted.difference.value)).toBeLessThan(1e-9);
        const plain = standardError / Math.sqrt(tally.missingVariance);
        expect(Math.abs(plain - wanted.difference.error)).toBeLessThan(1e-6 * Math.max(1, plain));
      }),
    );
  });

  test('of the difference: the policy that ran has none, and among more policies the interval is wider', () => {
    fc.assert(
      fc.property(logs, (rows) => {
        const ran = new OffPolicyTally();
        const tally = new OffPolicyTally();
        for (const [unit, row] of rows) ran.add({ ...row, target: row.propensities }, unit);
        for (const [unit, row] of rows) tally.add(row, unit);
        const { value, lower, upper } = offPolicyDifference(ran, settings);
        for (const end of [value, lower, upper]) expect(Math.abs(end)).toBeLessThan(1e-6);
        const one = offPolicyDifference(tally, settings);
        const many = offPolicyDifference(tally, { ...settings, comparisons: 20 });
        expect(many.value).toBe(one.value);
        expect(many.lower).toBeLessThanOrEqual(one.lower);
        expect(many.upper).toBeGreaterThanOrEqual(one.upper);
      }),
    );
  });

  test('of IPS and DR are unbiased under Plackett–Luce: exact over all slates', () => {
    const score = Float64Array.of(0.9, 0.85, 0.82, 0.7);
    const propensities = inclusionPropensities(score, 2, 0.05, wasmKernels());
    const target = [0, 1, 0.25, 0.75];
    const truth = [0.9, 0.2, 0.5, 0.6];
    const expected = [0.1, 0.9, 0.3, 0.4];
    const mean = { ips: 0, dr: 0 };
    for (const a of [0, 1, 2, 3]) {
      for (const b of [0, 1, 2, 3].filter((other) => other !== a)) {
        const tally = new OffPolicyTally();
        // A fractional reward stands for its expectation: the estimates are linear in it.
        tally.add({ propensities, target, expected, slate: [a, b], rewards: [truth[a], truth[b]] }, null);
        const probability = Math.exp(slateLogProbability(score, Int32Array.of(a, b), 0.05));
        for (const { estimator, value } of offPolicyEstimates(tally, settings)) {
          if (estimator !== 'snips') mean[estimator] += probability * value;
        }
      }
    }
    const value = sum(target.map((pi, i) => pi * truth[i]));
    expect(mean.ips).toBeCloseTo(value, 7);
    expect(mean.dr).toBeCloseTo(value, 7);
  });

  test('of the logging policy itself are the plain mean, with nothing missing', () => {
    const tally = new OffPolicyTally();
    const random = randomFor('logging policy');
    let reward = 0;
    for (let i = 0; i < 400; i++) {
      const p = [1, 0.6, 0.4];
      const second = random.uniform(2 * i) < 0.6 ? 1 : 2;
      const rewards = [1, random.uniform(2 * i + 1) < 0.5 ? 1 : 0];
      reward += sum(rewards) / 400;
      tally.add({ propensities: p, target: p, expected: [0, 0, 0], slate: [0, second], rewards }, null);
    }
    for (const { value, lower, upper } of offPolicyEstimates(tally, settings)) {
      expect(value).toBeCloseTo(reward, 10);
      expect(lower).toBeLessThan(1.5);
      expect(upper).toBeGreaterThan(1.5);
    }
    expect(tally.effectiveSampleSize).toBeCloseTo(400, 8);
    expect(tally).toMatchObject({ thinShare: 0, lostPerDecision: 0, clippedShare: 0 });
  });
});

describe('what a log cannot say', () => {
  const same: EvaluatedDecision = {
    propensities: [1, 0],
    target: [1, 0],
    expected: [0.5, 0.5],
    slate: [0],
    rewards: [1],
  };
  const repeated = (times: number, row: EvaluatedDecision, tally = new OffPolicyTally()) => {
    for (let i = 0; i < times; i++) tally.add({ ...row, rewards: row.slate.length > 0 ? [i % 2] : [] }, null);
    return tally;
  };

  test('without exploration: only the policy that was logged can be evaluated', () => {
    expect(reportOffPolicy(repeated(100, same), settings)).toMatchObject({
      refusal: null,
      decisions: 100,
      units: 100,
    });
    const other = reportOffPolicy(repeated(100, { ...same, target: [0, 1] }), settings);
    expect(other).toMatchObject({ estimates: [], thinShare: 1, effectiveSampleSize: 0, lostPerDecision: 1 });
    expect(other.refusal).toMatch(
      /^100 % of what the policy would show .* below 1 % or never; 5 % is the limit/,
    );
  });

  test('too little of it', () => {
    expect(refusalOf(new OffPolicyTally())).toMatch(/no logged decisions/);
    expect(refusalOf(repeated(49, same))).toMatch(/as much about this policy as 49 decisions/);
    expect(refusalOf(repeated(50, same))).toBeNull();
    const thin = repeated(94, same);
    expect(refusalOf(repeated(6, { ...same, target: [0, 1] }, thin))).toMatch(/^6 %/);
  });

  test('what clipping removed widens the interval by what it could have earned', () => {
    const half = { ...same, propensities: [0.5, 0.5], target: [1, 0] };
    const whole = repeated(200, half, new OffPolicyTally(1000));
    const clipped = repeated(200, half, new OffPolicyTally(1.5));
    expect(clipped.lostPerDecision).toBeCloseTo(0.25);
    expect(clipped.clippedShare).toBe(1);
    const by = (tally: OffPolicyTally, name: Estimator) =>
      offPolicyEstimates(tally, settings).find(({ estimator }) => estimator === name)!;
    const margin = by(clipped, 'ips').value - by(clipped, 'ips').lower;
    expect(by(clipped, 'ips').upper - by(clipped, 'ips').value).toBeCloseTo(margin + 0.25);
    expect(by(clipped, 'dr').upper - by(clipped, 'dr').lower).toBeGreaterThan(0.5);
    expect(by(whole, 'ips').upper - by(whole, 'ips').value).toBeCloseTo(
      by(whole, 'ips').value - by(whole, 'ips').lower,
    );
  });

  test('rare large weights that did not come make the interval wider, not narrower', () => {
    const rare = { ...same, propensities: [0.99, 0.02], target: [0.8, 0.2] };
    const tally = repeated(300, rare);
    const expected = 0.8 ** 2 / 0.99 + 0.2 ** 2 / 0.02;
    expect(tally.missingVariance).toBeCloseTo(expected / (0.8 / 0.99) ** 2, 8);
    tally.add({ ...rare, slate: [1] }, null);
    expect(tally.missingVariance).toBeLessThan(expected / (0.8 / 0.99) ** 2);
  });
});

test('a tally survives a round trip at any moment, bit for bit', () => {
  fc.assert(
    fc.property(logs, logs, (before, after) => {
      const original = new OffPolicyTally(50);
      for (const [unit, row] of before) original.add(row, unit);
      const loaded = OffPolicyTally.load(JSON.parse(JSON.stringify(original.save())));
      for (const tally of [original, loaded]) for (const [unit, row] of after) tally.add(row, unit);
      expect(loaded.save()).toEqual(original.save());
      expect(reportOffPolicy(loaded, settings)).toEqual(reportOffPolicy(original, settings));
    }),
    { numRuns: 30 },
  );
});

test('a log that contradicts itself is refused and changes nothing', () => {
  const tally = new OffPolicyTally();
  const good = { propensities: [0.5, 0.5], target: [1, 0], expected: [0, 0], slate: [0], rewards: [1] };
  tally.add(good, null);
  const before = tally.save();
  const add = (change: Partial<EvaluatedDecision>) => () => tally.add({ ...good, ...change }, null);
  expect(add({ propensities: [0, 1] })).toThrow(/contradicts itself/);
  expect(add({ slate: [7] })).toThrow(/contradicts itself/);
  expect(add({ propensities: [0.5, 1.5] })).toThrow(/both are 0 to 1/);
  expect(add({ target: [Number.NaN, 0] })).toThrow(/both are 0 to 1/);
  expect(add({ rewards: [Number.NaN] })).toThrow(/finite/);
  expect(add({ rewards: [] })).toThrow(/0 rewards for 1 shown/);
  expect(add({ target: [1] })).toThrow(/one of each per candidate/);
  expect(tally.save()).toEqual(before);
  expect(() => new OffPolicyTally(1)).toThrow(/above 1/);
});
