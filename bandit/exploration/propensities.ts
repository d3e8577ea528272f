import { inclusionLength, type Kernels } from '../kernels/kernels.ts';
import { checkScores, checkTemperature } from './draw-slate.ts';

/** How the propensities of a decision were computed. */
export type PropensityMethod = 'exact' | 'deterministic';

/** The smallest propensity, so that none is 0. */
const FLOOR = 1e-300;
/** Scores further than this many temperatures from the K-th are settled: e⁻³⁰ ≈ 1e-13. */
const REACH = 30;

/**
 * Returns the probability that each candidate is in a Plackett–Luce slate of K, exact to about 1e-10. In units of
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

  const rates: number[] = [];
  for (let place = certain; place < end; place++) rates.push(Math.exp(logRate(place)));
  const inclusion = integrateInclusion(rates, k - certain, kernels);
  for (let i = 0; i < rates.length; i++) propensity[order[certain + i]] = inclusion.probability[i];
  for (let place = end; place < n; place++) {
    propensity[order[place]] = Math.exp(logRate(place)) * inclusion.arrival;
  }
  for (let i = 0; i < n; i++) propensity[i] = Math.min(1, Math.max(FLOOR, propensity[i]));
  return propensity;
}

/** Returns indices by score, equal ones in their order. Insertion sort, since candidates are few and mostly sorted already. */
function inDescendingOrder(score: Float64Array): number[] {
  const order: number[] = [];
  for (let i = 0; i < score.length; i++) {
    let place = i;
    for (; place > 0 && score[order[place - 1]] < score[i]; place--) order[place] = order[place - 1];
    order[place] = i;
  }
  return order;
}

/**
 * Returns ln of the probability that Plackett–Luce draws exactly this slate in this order:
 *   Σ_k u_k/T − ln Σ_(not drawn before k) exp(u/T).
 * 0 for an empty slate. @throws RangeError when an index is repeated or does not exist.
 */
export function slateLogProbability(score: Float64Array, slate: Int32Array, temperature: number): number {
  checkScores(score, Math.max(1, slate.length));
  checkTemperature(temperature);
  const drawn: boolean[] = [];
  for (let i = 0; i < score.length; i++) drawn.push(false);
  let sum = 0;
  for (const index of slate) {
    if (drawn[index] !== false)
      throw new RangeError(`candidate ${index} is in the slate twice, or does not exist`);
    let most = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < score.length; i++) if (!drawn[i] && score[i] > most) most = score[i];
    let total = 0;
    for (let i = 0; i < score.length; i++) {
      if (!drawn[i]) total += Math.exp((score[i] - most) / temperature);
    }
    sum += (score[index] - most) / temperature - Math.log(total);
    drawn[index] = true;
  }
  return sum;
}

/** Probabilities below this are neglected. */
const TINY = 1e-11;
/** A rate has arrived for certain after this many of its mean times: e^(−28) < 1e-12. */
const LAST_ARRIVALS = 28;

/** See `inclusionPropensities`. */
export interface Inclusion {
  /** Pr[among the first K to arrive], per candidate. */
  readonly probability: readonly number[];
  /** E[time of the K-th arrival]. */
  readonly arrival: number;
}

/**
 * Integrates over ln t by the trapezoidal rule, for rates in falling order within e^±30, 1 ≤ K ≤ n. The
 * numbers that arrived before and after each candidate are Poisson-binomial, by recursion from both ends.
 *
 * Doubling t needs no exp: p ← p(2 − p) for the arrived share, e ← e² for the rest. The steps in between belong
 * to other sums over doublings. With steps h in ln t the error is about |Γ(K + 2πi/h)|/Γ(K), hence their number.
 */
export function integrateInclusion(rates: readonly number[], k: number, kernels: Kernels): Inclusion {
  const n = rates.length;
  const parts = Math.ceil(1 + 0.7 * Math.sqrt(k));
  const step = Math.LN2 / parts;
  const start = startOf(rates, k);
  const work = kernels.allocateFloat64(inclusionLength(n, k));
  work.set(rates);
  const end = LAST_ARRIVALS / rates[Math.min(k, n - 1)];
  for (let part = 0; part < parts; part++) {
    const first = start * Math.exp(part * step);
    kernels.sumInclusion({ work, count: n, k, first, end, negligible: TINY / n });
  }
  const before = geometric(step);
  const probability: number[] = [];
  for (let i = 0; i < n; i++) {
    const sum = sumBefore(rates[i] * start, before) + work[n + 2 * i] + work[n + 2 * i + 1];
    probability.push(step * sum);
  }
  const arrival = step * (start * before[0] + work[3 * n] + work[3 * n + 1]);
  kernels.free(work);
  return { probability, arrival };
}

/** Before this t even as many as K arrivals have a probability below TINY: (Σw·t)ᴷ/K!. */
function startOf(rates: readonly number[], k: number): number {
  let logFactorial = 0;
  for (let i = 2; i <= k; i++) logFactorial += Math.log(i);
  const arrivals = Math.exp((Math.log(TINY) + logFactorial) / k);
  let total = 0;
  for (const rate of rates) total += rate;
  return Math.min(0.02, arrivals) / total;
}

/** e^(−m·step) + e^(−2m·step) + …, for m = 1 … 4. */
function geometric(step: number): readonly number[] {
  return [1, 2, 3, 4].map((power) => 1 / Math.expm1(power * step));
}

/** Σ x·e^(−x) over x = first·e^(−step), first·e^(−2·step), …: what comes before the first step. */
function sumBefore(first: number, [one, two, three, four]: readonly number[]): number {
  return first * (one - first * (two - first * (three / 2 - (first * four) / 6)));
}
