import type { Sample } from './sample.ts';

/** Samples of one metric of two variants, over the same stretch of time. */
export interface Pair {
  readonly variant: Sample;
  readonly against: Sample;
}

/** By how much the variant's mean is better (or worse, below 0), with its uncertainty. */
export interface Difference {
  readonly estimate: number;
  /** Squared standard error as Welch's test takes it. */
  readonly variance: number;
  /** The squared standard error for reading the report early and often; never smaller, and the same with thousands of units. */
  readonly cautiousVariance: number;
  /** Units of both variants together. */
  readonly units: number;
  /** Information in units: variance of one unit / cautious variance. A quarter of `units` for equal halves. */
  readonly clock: number;
  /** Degrees of freedom of Student's t, by Satterthwaite's approximation. */
  readonly degreesOfFreedom: number;
  /** θ of the covariate, 0 if there is none. */
  readonly covariateWeight: number;
  /** Share of the variance that the covariate took away; about 0 at worst. */
  readonly varianceReduction: number;
}

/** With fewer units in a variant there is no estimate, because the variance of a few units is too uncertain. */
export const MINIMUM_UNITS = 50;

/**
 * A small variant's variance is estimated as if this many more of its units had varied like all units. Without it
 * a variant of 50 units with rare successes shows a variance of 0 and is "surely different" (A/A with 10 % of the
 * traffic, 1 % successes and constant looking: 37 % false positives without, under 2 % with; bench/experiments.ts).
 */
export const POOLED_UNITS = 300;

/**
 * Difference of means, `variant` − `against`, each with its own variance (Welch 1947).
 *
 * With a covariate from before the assignment, both means are first corrected by θ·(covariate − its mean), θ the pooled
 * regression slope (CUPED; Deng, Xu, Kohavi & Walker 2013, section 3): a chance difference in how hard the queries were
 * is taken out, and nothing else.
 *
 * Several pairs are stretches of time with different shares. They are compared each by itself and weighted by their
 * precision, because a plain mean over a change of shares mixes "which variant" with "when". With these weights the
 * estimate is a Brownian motion in its own information whatever the shares were, which confidence sequences need.
 *
 * @returns null while every pair has a variant with fewer than `minimumUnits` units, or nothing varies yet.
 */
export function difference(pairs: readonly Pair[], minimumUnits: number = MINIMUM_UNITS): Difference | null {
  const ready = pairs.filter(
    ({ variant, against }) => Math.min(variant.units, against.units) >= minimumUnits,
  );
  const samples = ready.flatMap(({ variant, against }) => [variant, against]);
  const weight = covariateWeight(samples);
  const pooled = pooledVariance(samples, weight);
  if (!(pooled > 0)) return null;
  let information = 0;
  let weighted = 0;
  let variance = 0;
  let satterthwaite = 0;
  for (const pair of ready) {
    const sides = [pair.variant, pair.against].map((sample) => squaredErrors(sample, weight, pooled));
    const precision = 1 / (sides[0].cautious + sides[1].cautious);
    information += precision;
    weighted += precision * adjustedDifference(pair, weight);
    for (const { own, freedom } of sides) {
      variance += precision ** 2 * own;
      satterthwaite += (precision ** 2 * own) ** 2 / freedom;
    }
  }
  const plain = pooledVariance(samples, 0);
  return {
    estimate: weighted / information,
    variance: variance / information ** 2,
    cautiousVariance: 1 / information,
    units: samples.reduce((sum, { units }) => sum + units, 0),
    clock: pooled * information,
    degreesOfFreedom: variance ** 2 / satterthwaite,
    covariateWeight: weight,
    varianceReduction: 1 - pooled / plain,
  };
}

/** θ = Cov(metric, covariate)/Var(covariate), pooled within the samples; 0 if a sample has no covariate. */
function covariateWeight(samples: readonly Sample[]): number {
  let covariance = 0;
  let variance = 0;
  for (const sample of samples) {
    if (sample.covariate === null) return 0;
    covariance += sample.covariate.covariance * (sample.units - 1);
    variance += sample.covariate.variance * (sample.units - 1);
  }
  return variance > 0 ? covariance / variance : 0;
}

/** Variance of one unit within the samples, after correction by the covariate. */
function pooledVariance(samples: readonly Sample[], weight: number): number {
  let spread = 0;
  let freedom = 0;
  for (const sample of samples) {
    spread += adjustedVariance(sample, weight) * (sample.units - 1);
    freedom += sample.units - 1;
  }
  return freedom > 0 ? spread / freedom : 0;
}

function squaredErrors(sample: Sample, weight: number, pooled: number) {
  const own = adjustedVariance(sample, weight);
  const freedom = sample.units - 1;
  const cautious = own + (Math.max(0, pooled - own) * POOLED_UNITS) / (freedom + POOLED_UNITS);
  return { own: own / sample.units, cautious: cautious / sample.units, freedom };
}

function adjustedVariance({ variance, covariate }: Sample, weight: number): number {
  if (covariate === null || weight === 0) return variance;
  return Math.max(0, variance - 2 * weight * covariate.covariance + weight * weight * covariate.variance);
}

function adjustedDifference({ variant, against }: Pair, weight: number): number {
  const plain = variant.mean - against.mean;
  if (weight === 0) return plain;
  return plain - weight * (variant.covariate!.mean - against.covariate!.mean);
}
