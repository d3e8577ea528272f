import type { Difference } from './difference.ts';

/** An interval for a number, in its unit of measure; an end may be infinite. */
export interface Interval {
  readonly lower: number;
  readonly upper: number;
}

/**
 * Asymptotic confidence sequences (Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2024, "Time-uniform central limit
 * theory and asymptotic confidence sequences", theorem 2.2): Robbins' normal mixture with estimated variance. With
 * probability 1 − α the true difference is inside **at every moment**, so the report may be read after every unit, and the
 * experiment stopped at any time. It needs what Welch's test needs and no more (independent units, finite variance, not too few of them),
 * so one method serves rewards, tokens, latencies, ratios over units and covariate-adjusted differences alike.
 */
export interface SequenceSettings {
  /** Probability that the true difference is ever outside, e.g. 0.05. */
  readonly alpha: number;
  /** Units of both variants together (in equal halves) at which the interval shall be narrowest for its size. */
  readonly tightestAt: number;
}

export interface SequenceInterval extends Interval {
  /** Smallest α at which 0 would be outside; as valid under peeking as the interval. */
  readonly pValue: number;
}

/** Both sides: estimate ± √(V·(1 + 1/x)·(ln(1 + x) + 2 ln 1/α)), x = clock·ρ². */
export function confidenceSequence(difference: Difference, settings: SequenceSettings): SequenceInterval {
  checkSettings(settings);
  const { estimate, cautiousVariance: variance } = difference;
  const x = mixtureTime(difference, settings.alpha, settings.tightestAt);
  const margin = Math.sqrt(variance * (1 + 1 / x) * (Math.log1p(x) + 2 * Math.log(1 / settings.alpha)));
  // The mixture itself (also known as mSPRT): 1/p is its likelihood ratio against "no difference".
  const evidence = ((estimate * estimate) / variance) * (x / (1 + x));
  const pValue = Math.min(1, Math.sqrt(1 + x) * Math.exp(-evidence / 2));
  return { lower: estimate - margin, upper: estimate + margin, pValue };
}

/**
 * One side only, for questions with one bad direction: with probability 1 − α the true difference is above `lower` at
 * every moment; and likewise below `upper`. Each side holds by itself, not both together (then it is α twice).
 *
 * The mixture is half a normal, M = 2(1 + x)^(-1/2)·exp(u²/2)·Φ(u) with u = z√(x/(1 + x)); Φ(u) ≥ 1 − exp(−u²/2)/2
 * puts M = 1/α into closed form and errs on the safe side.
 */
export function oneSidedSequence(difference: Difference, settings: SequenceSettings): Interval {
  checkSettings(settings);
  const { estimate, cautiousVariance: variance } = difference;
  const x = mixtureTime(difference, 2 * settings.alpha, settings.tightestAt);
  const evidence = 2 * Math.log((1 + Math.sqrt(1 + x) / settings.alpha) / 2);
  const margin = Math.sqrt(variance * (1 + 1 / x) * evidence);
  return { lower: estimate - margin, upper: estimate + margin };
}

/**
 * Units of both variants together at which a difference of this size is about to be found: the `tightestAt` to choose
 * for it.
 */
export function tightestFor(lift: number, standardDeviation: number, alpha: number): number {
  return Math.ceil(4 * (1 + bestTime(alpha)) * (standardDeviation / lift) ** 2);
}

/** x = t·ρ²: how far the experiment has come, in the mixture's own time. */
function mixtureTime({ clock }: Difference, alpha: number, tightestAt: number): number {
  return (clock / (tightestAt / 4)) * bestTime(alpha);
}

/**
 * The x that minimises (1 + 1/x)(ln(1 + x) + 2 ln 1/α): the solution of x = ln(1 + x) + 2 ln 1/α, about 8.2 for
 * α = .05. There the margin is √(1 + x) = 3.04 standard errors, against 1.96 of a single look.
 */
function bestTime(alpha: number): number {
  const target = 2 * Math.log(1 / alpha);
  let x = target + 1;
  for (let step = 0; step < 60; step++) x = Math.log1p(x) + target;
  return x;
}

function checkSettings({ alpha, tightestAt }: SequenceSettings): void {
  if (!(alpha > 0 && alpha < 0.5))
    throw new RangeError(`alpha is ${alpha}: give a probability between 0 and 0.5`);
  if (!(tightestAt > 0)) throw new RangeError(`tightestAt is ${tightestAt}: give a number of units above 0`);
}
