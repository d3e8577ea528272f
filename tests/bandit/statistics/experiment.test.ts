import { describe, expect, test } from 'vitest';
import { randomFor } from '../../../bandit/random.ts';
import { type ReportSettings, reportExperiment } from '../../../bandit/statistics/experiment-report.ts';
import { ExperimentTally } from '../../../bandit/statistics/experiment-tally.ts';
import { guardrailState } from '../../../bandit/statistics/guardrail.ts';
import { sampleRatio } from '../../../bandit/statistics/sample-ratio.ts';
import golden from '../../golden/statistics-tests.json' with { type: 'json' };

/** How many times as likely k + 1 is as k. */
function chance(units: number, k: number, share: number): number {
  return ((units - k) / (k + 1)) * (share / (1 - share));
}

describe('sample ratio', () => {
  test('is Pearson’s χ², and the mixture for looking all the time', () => {
    for (const { counts, shares, pValue, anytimePValue } of golden.sampleRatio) {
      const found = sampleRatio([{ counts, shares }]);
      expect(Math.abs(found.pValue - pValue)).toBeLessThan(1e-9 * pValue + 1e-300);
      expect(Math.abs(found.anytimePValue - anytimePValue)).toBeLessThan(1e-8 * anytimePValue);
      expect(found.ok).toBe(pValue >= 0.001);
    }
  });

  test('of two variants alarms by mistake in at most one look of a thousand, counted out', () => {
    for (const [units, share] of [
      [50, 0.9],
      [300, 0.99],
      [1000, 0.5],
      [5000, 0.9],
      [20_000, 0.5],
    ] as const) {
      let alarms = 0;
      // (units choose count)·shareᶜ·(1 − share)ⁿ⁻ᶜ, one after the other from the mean outwards.
      const mean = Math.round(units * share);
      const masses = [1];
      for (let k = mean; k < units; k++) masses[k + 1 - mean] = masses[k - mean] * chance(units, k, share);
      const below = [1];
      for (let k = mean; k > 0; k--) below[mean - k + 1] = below[mean - k] / chance(units, k - 1, share);
      const whole = [...masses, ...below.slice(1)].reduce((sum, mass) => sum + mass, 0);
      for (let k = 0; k <= units; k++) {
        const mass = (k >= mean ? masses[k - mean] : below[mean - k]) / whole;
        if (mass < 1e-12) continue;
        const { ok } = sampleRatio([{ counts: [k, units - k], shares: [share, 1 - share] }]);
        const mirrored = sampleRatio([{ counts: [0, units - k, k], shares: [0, 1 - share, share] }]);
        expect(mirrored.ok).toBe(ok);
        if (!ok) alarms += mass;
      }
      expect(alarms).toBeLessThanOrEqual(0.001);
      // Nor is it deaf.
      const far = Math.round(mean - 5 * Math.sqrt(units * share * (1 - share)));
      expect(sampleRatio([{ counts: [far, units - far], shares: [share, 1 - share] }]).ok).toBe(false);
    }
  });

  test('adds up periods with different shares', () => {
    const fine = sampleRatio([
      { counts: [900, 100], shares: [9, 1] },
      { counts: [500, 500], shares: [1, 1] },
    ]);
    expect(fine.pValue).toBe(1);
    const wrong = sampleRatio([
      { counts: [900, 100], shares: [9, 1] },
      { counts: [600, 400], shares: [1, 1] },
    ]);
    expect([wrong.ok, wrong.anytimeOk]).toEqual([false, false]);
  });

  test('handles edge cases: no units yet, one variant, units in a variant without a share', () => {
    expect(sampleRatio([{ counts: [0, 0], shares: [1, 1] }])).toMatchObject({
      pValue: 1,
      ok: true,
      anytimePValue: 1,
    });
    expect(sampleRatio([{ counts: [77], shares: [1] }])).toMatchObject({
      pValue: 1,
      ok: true,
      anytimePValue: 1,
    });
    expect(sampleRatio([{ counts: [9, 1], shares: [1, 0] }])).toMatchObject({
      pValue: 0,
      ok: false,
      anytimeOk: false,
    });
    expect(sampleRatio([{ counts: [9, 0], shares: [1, 0] }])).toMatchObject({ pValue: 1, ok: true });
    expect(() => sampleRatio([{ counts: [1], shares: [1, 1] }])).toThrow(/one of each/);
    expect(() => sampleRatio([{ counts: [1, 2], shares: [0, 0] }])).toThrow(/no proportions/);
    expect(() => sampleRatio([{ counts: [1, 2], shares: [-1, 2] }])).toThrow(/no proportions/);
    expect(() => sampleRatio([{ counts: [1, 2.5], shares: [1, 1] }])).toThrow(/no count/);
  });
});

const plan = { variants: ['control', 'new'], metrics: ['reward', 'latencyMs'], shares: [5000, 5000] };
const settings: ReportSettings = {
  against: 'control',
  metric: 'reward',
  better: 'higher',
  minimumLift: 0,
  alpha: 0.05,
  tightestAt: 4000,
  guardrails: [{ metric: 'latencyMs', harm: 'rise', tolerance: 20 }],
  withCovariate: false,
};

interface World {
  readonly rates: Readonly<Record<string, number>>;
  readonly latencies?: Readonly<Record<string, number>>;
  readonly skew?: number;
}

/** Users who come back a few times; their success depends on how hard their queries are. */
function run(units: number, { rates, latencies = {}, skew = 0 }: World, tally = new ExperimentTally(plan)) {
  const random = randomFor(`experiment ${JSON.stringify(rates)}`);
  let counter = 0;
  const names = Object.keys(rates);
  for (let unit = 0; unit < units; unit++) {
    const variant =
      names[Math.min(names.length - 1, Math.floor(random.uniform(counter++) * names.length + skew))];
    for (let visit = 0; visit < 2; visit++) {
      const ease = random.uniform(counter++);
      const success = random.uniform(counter++) < rates[variant] + 0.5 * (ease - 0.5) ? 1 : 0;
      const latency = 100 + (latencies[variant] ?? 0) + 40 * random.uniform(counter++);
      const values = [
        { sum: success, of: 1 },
        { sum: latency, of: 1 },
      ];
      tally.add(variant, `user-${unit}`, { decisions: 1, covariate: ease, values });
    }
  }
  return tally;
}

describe('report of an experiment', () => {
  test('a better variant is found, and says by how much', () => {
    const report = reportExperiment(run(3000, { rates: { control: 0.4, new: 0.5 } }), settings);
    expect(report).toMatchObject({ decision: true, winner: 'new', srm: { ok: true } });
    expect(report.reason).toMatch(/^new is better than control in reward by 0\.\d+ \(/);
    const reward = report.differences.find(({ metric }) => metric === 'reward')!;
    expect(reward.lower!).toBeLessThan(0.1);
    expect(reward.upper!).toBeGreaterThan(0.1);
    expect(reward.fixedHorizon!.upper - reward.fixedHorizon!.lower).toBeLessThan(
      reward.upper! - reward.lower!,
    );
    expect(report.variants.map(({ units }) => units).reduce((a, b) => a + b)).toBe(3000);
    expect(report.variants.map(({ decisions }) => decisions).reduce((a, b) => a + b)).toBe(6000);
    expect(report.guardrails).toMatchObject([{ variant: 'new', state: 'kept' }]);
  });

  test('a worse variant is refused, equal ones stay open, few units say so', () => {
    const worse = reportExperiment(run(3000, { rates: { control: 0.5, new: 0.4 } }), settings);
    expect(worse).toMatchObject({ decision: false, winner: null });
    expect(worse.reason).toMatch(/not better than control/);
    const equal = reportExperiment(run(3000, { rates: { control: 0.5, new: 0.5 } }), settings);
    expect(equal).toMatchObject({ decision: null });
    expect(equal.reason).toMatch(/is open/);
    const few = reportExperiment(run(60, { rates: { control: 0.5, new: 0.5 } }), settings);
    expect(few).toMatchObject({ decision: null });
    expect(few.reason).toMatch(/too few units/);
    expect(few.differences[0]).toMatchObject({
      estimate: null,
      lower: null,
      upper: null,
      fixedHorizon: null,
    });
  });

  test('a variant that breaks a guardrail does not win', () => {
    const slow = run(3000, { rates: { control: 0.4, new: 0.5 }, latencies: { new: 40 } });
    const report = reportExperiment(slow, settings);
    expect(report).toMatchObject({ decision: false, guardrails: [{ state: 'breached' }] });
    expect(report.reason).toMatch(/breaks the guardrail latencyMs/);
  });

  test('nothing is decided when the split is wrong', () => {
    const report = reportExperiment(run(3000, { rates: { control: 0.4, new: 0.5 }, skew: 0.2 }), settings);
    expect(report).toMatchObject({ decision: null, winner: null, srm: { ok: false } });
    expect(report.reason).toMatch(/not split as the shares say/);
  });

  test('smaller can be better, and a minimum lift is asked for', () => {
    const quick = run(3000, { rates: { control: 0.5, new: 0.5 }, latencies: { new: -10 } });
    const faster: ReportSettings = { ...settings, metric: 'latencyMs', better: 'lower', guardrails: [] };
    expect(reportExperiment(quick, faster)).toMatchObject({ decision: true, winner: 'new' });
    expect(reportExperiment(quick, { ...faster, minimumLift: 15 })).toMatchObject({ decision: false });
    expect(reportExperiment(quick, { ...faster, minimumLift: 10 }).decision).toBeNull();
  });

  test('of several winners the best one is named; each pays for being one of several', () => {
    const three = { variants: ['control', 'good', 'best'], metrics: plan.metrics, shares: [1, 1, 1] };
    const tally = run(6000, { rates: { control: 0.3, good: 0.42, best: 0.5 } }, new ExperimentTally(three));
    const report = reportExperiment(tally, settings);
    expect(report).toMatchObject({ decision: true, winner: 'best' });
    const alone = reportExperiment(tally, { ...settings, alpha: 0.025 }).differences[0];
    const paired = report.differences[0];
    expect(paired.upper! - paired.lower!).toBeLessThan(alone.upper! - alone.lower!);
  });

  test('a covariate makes the interval narrower and keeps the estimate', () => {
    const tally = run(3000, { rates: { control: 0.5, new: 0.5 } });
    const plain = reportExperiment(tally, settings).differences[0];
    const corrected = reportExperiment(tally, { ...settings, withCovariate: true }).differences[0];
    expect(corrected.varianceReduction).toBeGreaterThan(0.04);
    expect(corrected.upper! - corrected.lower!).toBeLessThan(plain.upper! - plain.lower!);
    expect(Math.abs(corrected.estimate! - plain.estimate!)).toBeLessThan(0.02);
  });

  test('survives a round trip at any moment, bit for bit', () => {
    const whole = run(400, { rates: { control: 0.4, new: 0.5 } });
    whole.changeShares([2000, 8000]);
    const loaded = ExperimentTally.load(JSON.parse(JSON.stringify(whole.save())));
    const values = [
      { sum: 1, of: 1 },
      { sum: 50, of: 1 },
    ];
    for (const tally of [whole, loaded]) {
      tally.add('new', 'user-1', { decisions: 1, covariate: 0.1, values });
      tally.add('new', 'user-1', { decisions: 1, covariate: 0.2, values });
      tally.add('control', null, { decisions: 1, covariate: 0.3, values });
      tally.release('new', 'user-1');
    }
    expect(loaded.save()).toEqual(whole.save());
    expect(reportExperiment(loaded, settings)).toEqual(reportExperiment(whole, settings));
    expect(whole.sharePeriods().at(-1)).toEqual({ shares: [2000, 8000], counts: [1, 1] });
  });

  test('unknown names and missing numbers are refused', () => {
    const tally = new ExperimentTally(plan);
    const event = { decisions: 1, covariate: 0, values: [{ sum: 1, of: 1 }] };
    expect(() => tally.add('new', null, event)).toThrow(/1 values for the metrics reward, latencyMs/);
    const both = { ...event, values: [...event.values, { sum: Number.NaN, of: 1 }] };
    expect(() => tally.add('new', null, both)).toThrow(/finite/);
    expect(() => tally.add('old', null, { ...both, values: [...event.values, ...event.values] })).toThrow(
      /unknown variant "old": there are control, new/,
    );
    expect(() => reportExperiment(tally, { ...settings, metric: 'profit' })).toThrow(
      /unknown metric "profit"/,
    );
    expect(() => tally.changeShares([1])).toThrow(/1 shares for 2 variants/);
  });
});

test('a guardrail is open, kept or breached, in either direction', () => {
  const found = (estimate: number) => ({
    estimate,
    variance: 1,
    cautiousVariance: 1,
    units: 4000,
    clock: 1000,
    degreesOfFreedom: 3998,
    covariateWeight: 0,
    varianceReduction: 0,
  });
  const sequence = { alpha: 0.05, tightestAt: 4000 };
  const state = (harm: 'rise' | 'fall', tolerance: number, estimate: number) =>
    guardrailState({ metric: 'm', harm, tolerance }, found(estimate), sequence).state;
  expect(state('rise', 0, 5)).toBe('breached');
  expect(state('fall', 0, 5)).toBe('kept');
  expect(state('fall', 0, -5)).toBe('breached');
  expect(state('rise', 10, 5)).toBe('kept');
  expect(state('rise', 5, 5)).toBe('open');
  expect(guardrailState({ metric: 'm', harm: 'rise', tolerance: 0 }, null, sequence).state).toBe('open');
  expect(() => state('rise', Number.NaN, 0)).toThrow(/tolerance/);
});
