import type { Interval } from './confidence-sequence.ts';
import type { Difference } from './difference.ts';
import { normalQuantile, studentCdf, studentQuantile } from './distributions.ts';

/**
 * Welch's interval and two-sided p-value. They hold for one look at a number of units that was fixed beforehand, and
 * are too narrow if the report is read often and the experiment is stopped when it looks good.
 * @param alpha probability of missing the true difference, e.g. 0.05.
 */
export function fixedHorizonInterval(difference: Difference, alpha: number): Interval & { pValue: number } {
  const error = Math.sqrt(difference.variance);
  const margin = error * -studentQuantile(alpha / 2, difference.degreesOfFreedom);
  const pValue = 2 * studentCdf(-Math.abs(difference.estimate) / error, difference.degreesOfFreedom);
  return { lower: difference.estimate - margin, upper: difference.estimate + margin, pValue };
}

/** Plan of an experiment of fixed size. */
export interface Plan {
  /** Smallest difference worth finding. */
  readonly lift: number;
  /** Standard deviation of one unit's value; √(p(1 − p)) for a success rate p with one decision a unit. */
  readonly standardDeviation: number;
  readonly alpha: number;
  /** Probability of finding it, e.g. 0.8. */
  readonly power: number;
}

/** Units needed in both variants together, in equal halves: 4σ²(z₁₋α/₂ + z_power)²/lift². */
export function fixedHorizonUnits({ lift, standardDeviation, alpha, power }: Plan): number {
  const z = normalQuantile(power) - normalQuantile(alpha / 2);
  return Math.ceil((2 * z * standardDeviation * (1 / lift)) ** 2);
}
