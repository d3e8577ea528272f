import { inclusionLength, type Kernels } from '../kernels/kernels.ts';

/** What may be neglected. */
const TINY = 1e-11;
/** A rate has arrived for certain after this many of its mean times: e^(−28) < 1e-12. */
const LAST_ARRIVALS = 28;

/** See `inclusionPropensities`. */
export interface Inclusion {
  /** Pr[among the first K to arrive], per candidate. */
  readonly probability: Float64Array;
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
export function integrateInclusion(rates: Float64Array, k: number, kernels: Kernels): Inclusion {
  const n = rates.length;
  const parts = Math.ceil(1 + 0.7 * Math.sqrt(k));
  const step = Math.LN2 / parts;
  const start = startOf(rates, k);
  const work = kernels.allocateFloat64(inclusionLength(n, k));
  work.set(rates);
  const sum = { work, count: n, k, end: LAST_ARRIVALS / rates[Math.min(k, n - 1)], negligible: TINY / n };
  for (let part = 0; part < parts; part++) {
    kernels.sumInclusion({ ...sum, first: start * Math.exp(part * step) });
  }
  const before = geometric(step);
  const probability = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    probability[i] = step * (sumBefore(rates[i] * start, before) + work[n + 2 * i] + work[n + 2 * i + 1]);
  }
  const arrival = step * (start * before[0] + work[3 * n] + work[3 * n + 1]);
  kernels.free(work);
  return { probability, arrival };
}

/** Before this t even as many as K arrivals have a probability below TINY: (Σw·t)ᴷ/K!. */
function startOf(rates: Float64Array, k: number): number {
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
