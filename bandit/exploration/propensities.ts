import type { Kernels } from '../kernels/kernels.ts';
import { checkScores, checkTemperature } from './draw-slate.ts';
import { integrateInclusion } from './inclusion-quadrature.ts';

/** How the propensities of a decision came about. */
export type PropensityMethod = 'exact' | 'deterministic' | 'estimated';

/** No propensity is smaller, so that none has to be told apart from "impossible". */
const FLOOR = 1e-300;
/** Scores further than this many temperatures from the K-th are settled: e⁻³⁰ ≈ 1e-13. */
const REACH = 30;

/**
 * The probability that each candidate is in a Plackett–Luce slate of K, exact to about 1e-10. In units of
 * exponential arrival times (candidate i arrives at rate w = exp(u/T), the slate is the first K to arrive):
 *   P_i = ∫ w_i e^(−w_i t) · Pr[at most K−1 others have arrived by t] dt.
 * Candidates far above the K-th are in for certain; for those far below, w_i·E[time of the K-th arrival] is
 * all that is left of the integral. The others are integrated together. n ≤ K: all 1. @throws RangeError on a bad k, temperature or score.
 */
export function inclusionPropensities(
  score: Float64Array,
  k: number,
  temperature: number,
  kernels: Kernels,
): Float64Array {
  checkScores(score, k);
  checkTemperature(temperature);
  const n = score.length;
  const propensity = new Float64Array(n).fill(1);
  if (n <= k) return propensity;
  const order = inDescendingOrder(score);
  const kth = score[order[k - 1]];
  // Logarithms of the rates, relative to the K-th.
  const logRate = (place: number) => (score[order[place]] - kth) / temperature;
  let certain = 0;
  while (logRate(certain) > REACH) certain++;
  let end = k;
  while (end < n && logRate(end) >= -REACH) end++;

  const rates = new Float64Array(end - certain);
  for (let i = 0; i < rates.length; i++) rates[i] = Math.exp(logRate(certain + i));
  const inclusion = integrateInclusion(rates, k - certain, kernels);
  for (let i = 0; i < rates.length; i++) propensity[order[certain + i]] = inclusion.probability[i];
  for (let place = end; place < n; place++) {
    propensity[order[place]] = Math.exp(logRate(place)) * inclusion.arrival;
  }
  for (let i = 0; i < n; i++) propensity[i] = Math.min(1, Math.max(FLOOR, propensity[i]));
  return propensity;
}

/** Indices by score, equal ones in their order. By insertion: candidates are few, and mostly in order already. */
function inDescendingOrder(score: Float64Array): Int32Array {
  const order = new Int32Array(score.length);
  for (let i = 0; i < score.length; i++) {
    let place = i;
    for (; place > 0 && score[order[place - 1]] < score[i]; place--) order[place] = order[place - 1];
    order[place] = i;
  }
  return order;
}

/**
 * ln of the probability that Plackett–Luce draws exactly this slate in this order:
 *   Σ_k u_k/T − ln Σ_(not drawn before k) exp(u/T).
 * 0 for an empty slate. @throws RangeError when an index is repeated or does not exist.
 */
export function slateLogProbability(score: Float64Array, slate: Int32Array, temperature: number): number {
  checkScores(score, Math.max(1, slate.length));
  checkTemperature(temperature);
  const drawn = new Uint8Array(score.length);
  let sum = 0;
  for (const index of slate) {
    if (drawn[index] !== 0)
      throw new RangeError(`candidate ${index} is in the slate twice, or does not exist`);
    let most = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < score.length; i++) if (drawn[i] === 0 && score[i] > most) most = score[i];
    let total = 0;
    for (let i = 0; i < score.length; i++) {
      if (drawn[i] === 0) total += Math.exp((score[i] - most) / temperature);
    }
    sum += (score[index] - most) / temperature - Math.log(total);
    drawn[index] = 1;
  }
  return sum;
}
