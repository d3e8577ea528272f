import type { Moments } from './moments.ts';

/** One metric of one variant, as comparisons need it: everything is per unit. */
export interface Sample {
  readonly units: number;
  /** The metric: Σ values / Σ weights over all units, e.g. mean reward per decision. */
  readonly mean: number;
  /** Sample variance of a unit's influence on the mean; variance / units is the squared standard error. */
  readonly variance: number;
  /** The covariate's mean and variance, and its covariance with the metric, made in the same way. */
  readonly covariate: {
    readonly mean: number;
    readonly variance: number;
    readonly covariance: number;
  } | null;
}

/** Which columns of the moments make the metric. */
export interface MetricColumns {
  /** Sum of the values of a unit (rewards, tokens …). */
  readonly value: number;
  /** What the values are divided by: how many decisions of the unit they belong to. */
  readonly weight: number;
  /** Sum of the covariate, and what it is divided by. */
  readonly covariate?: { readonly value: number; readonly weight: number };
}

/**
 * A ratio of two sums and its variance by the delta method (Deng, Knoblich & Lu 2018, "Applying the delta method in
 * metric analytics", equation 2): unit u moves R = Σy/Σn by ψ = (y − R·n)/mean(n). Where every unit has n = 1 this is
 * the plain mean and the plain variance.
 */
export function sampleOf(moments: Moments, columns: MetricColumns): Sample {
  const value = ratio(moments, columns.value, columns.weight);
  const variance = Math.max(0, moments.combinedCovariance(value.influence, value.influence));
  const sample = { units: moments.count, mean: value.mean, variance };
  if (columns.covariate === undefined) return { ...sample, covariate: null };
  const other = ratio(moments, columns.covariate.value, columns.covariate.weight);
  return {
    ...sample,
    covariate: {
      mean: other.mean,
      variance: Math.max(0, moments.combinedCovariance(other.influence, other.influence)),
      covariance: moments.combinedCovariance(value.influence, other.influence),
    },
  };
}

/** R and the gradient that turns a unit's columns into ψ (up to a constant, which a covariance does not see). */
function ratio(moments: Moments, value: number, weight: number) {
  const influence = new Float64Array(moments.dimensions);
  const size = moments.mean(weight);
  if (!(size > 0)) return { mean: 0, influence };
  const mean = moments.mean(value) / size;
  influence[value] += 1 / size;
  influence[weight] -= mean / size;
  return { mean, influence };
}
