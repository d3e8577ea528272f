import type { Interval } from '../statistics/confidence-sequence.ts';
import { studentQuantile } from '../statistics/distributions.ts';
import {
  DECISIONS,
  DOUBLY_ROBUST,
  IPS,
  LOGGED,
  type OffPolicyTally,
  SIZE,
  THIN_PROPENSITY,
  WEIGHT,
} from './off-policy-tally.ts';

export type Estimator = 'ips' | 'snips' | 'dr';

/** Reward per decision that the evaluated policy would have earned, summed over its slate. */
export interface OffPolicyEstimate extends Interval {
  readonly estimator: Estimator;
  readonly value: number;
  readonly standardError: number;
}

/** Reward per decision by which the evaluated policy would have earned more than what ran, by the dr estimates of both. */
export interface OffPolicyDifference extends Interval {
  readonly value: number;
  readonly standardError: number;
}

export interface OffPolicyReport {
  readonly decisions: number;
  readonly units: number;
  readonly effectiveSampleSize: number;
  /** Share of the target's slates with propensities below 1 %. */
  readonly thinShare: number;
  /** The largest weight that counts, the share of shown tools it cut, and what it took out of the target's slates. */
  readonly clip: number;
  readonly clippedShare: number;
  readonly lostPerDecision: number;
  /** Why no estimate is given; null: there are estimates. */
  readonly refusal: string | null;
  readonly estimates: readonly OffPolicyEstimate[];
  /** Null where it is refused. */
  readonly difference: OffPolicyDifference | null;
}

export interface EstimateSettings {
  /** Probability that an interval misses the true value, e.g. 0.05. */
  readonly alpha: number;
  /** Rewards cannot lie outside; what clipping removed is bounded by it. */
  readonly rewards: Interval;
  /** So many policies are evaluated: the intervals of their differences all hold together, with probability 1 − alpha. */
  readonly comparisons: number;
}

export const MINIMUM_EFFECTIVE_SAMPLE = 50;
export const MAXIMUM_THIN_SHARE = 0.05;

export function reportOffPolicy(tally: OffPolicyTally, settings: EstimateSettings): OffPolicyReport {
  const refusal = refusalOf(tally);
  return {
    decisions: tally.decisions,
    units: tally.moments.count,
    effectiveSampleSize: tally.effectiveSampleSize,
    thinShare: tally.thinShare,
    clip: tally.clip,
    clippedShare: tally.clippedShare,
    lostPerDecision: tally.lostPerDecision,
    refusal,
    estimates: refusal === null ? offPolicyEstimates(tally, settings) : [],
    difference: refusal === null ? offPolicyDifference(tally, settings) : null,
  };
}

/** Returns why this log does not support an estimate for this policy, in a sentence; null if it does. */
export function refusalOf(tally: OffPolicyTally): string | null {
  const { effectiveSampleSize, thinShare } = tally;
  if (tally.decisions === 0) return 'There are no logged decisions to evaluate on.';
  if (thinShare > MAXIMUM_THIN_SHARE) {
    return (
      `${percent(thinShare)} of what the policy would show was shown with a probability below ` +
      `${percent(THIN_PROPENSITY)} or never; ${percent(MAXIMUM_THIN_SHARE)} is the limit. ` +
      'Log with more exploration, or compare a policy that is closer to the logging one.'
    );
  }
  if (effectiveSampleSize < MINIMUM_EFFECTIVE_SAMPLE) {
    return (
      `The log says as much about this policy as ${Math.floor(effectiveSampleSize)} decisions made by it would; ` +
      `${MINIMUM_EFFECTIVE_SAMPLE} are needed. Log more decisions, or compare a policy that is closer to the logging one.`
    );
  }
  return null;
}

/**
 * Returns the three estimates with their intervals, also if they cannot be trusted, which `refusalOf` says.
 *
 * - ips: mean of Σ w·r. snips: K·Σwr/Σw with K the target's mean slate size (Swaminathan & Joachims 2015). dr: mean of
 *   Σ π·r̂ + Σ w(r − r̂) (Dudík, Langford & Li 2011).
 * - The standard error is the delta method's over units, times √missingVariance: a sample in which rare large weights
 *   did not come looks more certain than it is, and how large they would have been is known from the propensities.
 * - What clipping and propensities of 0 removed could have earned the least or the most that rewards allow; both ends
 *   move out by that.
 */
export function offPolicyEstimates(
  tally: OffPolicyTally,
  { alpha, rewards }: Pick<EstimateSettings, 'alpha' | 'rewards'>,
): OffPolicyEstimate[] {
  const { moments, lostPerDecision: lost } = tally;
  const n = moments.mean(DECISIONS);
  const size = moments.mean(SIZE);
  const weight = moments.mean(WEIGHT);
  if (!(n > 0 && weight > 0)) return [];
  const quantile = quantileOf(tally, alpha);
  const range = rewards.upper - rewards.lower;

  const make = (
    estimator: Estimator,
    value: number,
    gradient: Record<number, number>,
    least: number,
    most: number,
  ) => {
    const standardError = standardErrorOf(tally, gradient);
    const margin = quantile * standardError;
    return { estimator, value, standardError, lower: value + least - margin, upper: value + most + margin };
  };

  const ips = moments.mean(IPS) / n;
  const dr = moments.mean(DOUBLY_ROBUST) / n;
  const snips = (size * moments.mean(IPS)) / (n * weight);
  const snipsGradient = {
    [DECISIONS]: -snips / n,
    [SIZE]: snips / size,
    [IPS]: size / (n * weight),
    [WEIGHT]: -snips / weight,
  };
  // Normalising scaled the observed part to the whole slate; the part that was not observed has its own bounds.
  const stretched = (snips * lost * n) / size;
  return [
    make('ips', ips, { [DECISIONS]: -ips / n, [IPS]: 1 / n }, lost * rewards.lower, lost * rewards.upper),
    make('snips', snips, snipsGradient, lost * rewards.lower - stretched, lost * rewards.upper - stretched),
    make('dr', dr, { [DECISIONS]: -dr / n, [DOUBLY_ROBUST]: 1 / n }, -lost * range, lost * range),
  ];
}

/**
 * Returns by how much the policy is better than what ran, on the same decisions: what makes decisions hard or easy for both
 * cancels out, so the interval is narrower than those of the two values tell. The policy that ran has 0, exactly.
 */
export function offPolicyDifference(
  tally: OffPolicyTally,
  { alpha, rewards, comparisons }: EstimateSettings,
): OffPolicyDifference {
  const { moments, lostPerDecision } = tally;
  const n = moments.mean(DECISIONS);
  const value = (moments.mean(DOUBLY_ROBUST) - moments.mean(LOGGED)) / n;
  const gradient = { [DECISIONS]: -value / n, [DOUBLY_ROBUST]: 1 / n, [LOGGED]: -1 / n };
  const standardError = standardErrorOf(tally, gradient);
  const lost = lostPerDecision * (rewards.upper - rewards.lower);
  const margin = quantileOf(tally, alpha / comparisons) * standardError + lost;
  return { value, standardError, lower: value - margin, upper: value + margin };
}

function standardErrorOf(
  { moments, missingVariance }: OffPolicyTally,
  gradient: Readonly<Record<number, number>>,
): number {
  const influence = Float64Array.from({ length: moments.dimensions }, (_, column) => gradient[column] ?? 0);
  const variance = moments.combinedCovariance(influence, influence) / moments.count;
  return Math.sqrt(Math.max(0, variance) * missingVariance);
}

function quantileOf({ effectiveSampleSize }: OffPolicyTally, alpha: number): number {
  return -studentQuantile(alpha / 2, Math.max(1, effectiveSampleSize - 1));
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
