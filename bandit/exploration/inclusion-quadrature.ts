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
 * to other chains of doublings. The later of K arrivals are a bump of width 1/√K over ln t, and a sum over
 * steps h of such a bump is wrong by about e^(−2π²/(K·h²)): hence the number of chains.
 */
export function integrateInclusion(rates: Float64Array, k: number): Inclusion {
  const chains = Math.max(2, Math.ceil(Math.sqrt(k)));
  const step = Math.LN2 / chains;
  const start = startOf(rates, k);
  const end = LAST_ARRIVALS / rates[Math.min(k, rates.length - 1)];
  const probability = new Float64Array(rates.length);
  let arrival = start / Math.expm1(step);
  for (let chain = 0; chain < chains; chain++) {
    arrival += sumOverDoublings(rates, k, start * Math.exp(chain * step), end, probability);
  }
  return {
    probability: probability.map((sum, i) => step * (sum + sumBefore(rates[i] * start, step))),
    arrival: step * arrival,
  };
}

/** Before this t even one more than K arrivals have a probability of less than TINY: (Σw·t)ᴷ/K!. */
function startOf(rates: Float64Array, k: number): number {
  let logFactorial = 0;
  for (let i = 2; i <= k; i++) logFactorial += Math.log(i);
  const arrivals = Math.exp((Math.log(TINY) + logFactorial) / k);
  const total = rates.reduce((sum, rate) => sum + rate, 0);
  return Math.min(0.02, arrivals) / total;
}

/** Σ x·e^(−x) over x = first·e^(−step), first·e^(−2·step), …: what comes before the first step, term by term. */
function sumBefore(first: number, step: number): number {
  const term = (power: number) => first ** power / Math.expm1(power * step);
  return term(1) - term(2) + term(3) / 2 - term(4) / 6;
}

/**
 * Adds Σ w·t·e^(−wt)·Pr[at most K−1 others by t] over t = first, 2·first, … < end to `sums`; answers
 * Σ t·Pr[at most K−1 in all by t].
 */
function sumOverDoublings(
  rates: Float64Array,
  k: number,
  first: number,
  end: number,
  sums: Float64Array,
): number {
  const n = rates.length;
  // 1 − e^(−wt) and e^(−wt), each to full precision.
  const arrived = rates.map((rate) => -Math.expm1(-rate * first));
  const absent = rates.map((rate) => Math.exp(-rate * first));
  // before[i·K + a]: Pr[a of the candidates before i have arrived]; one row more for all of them.
  const before = new Float64Array((n + 1) * k);
  before[0] = 1;
  const after = new Float64Array(k);
  let arrivals = 0;
  // Candidates beyond `live` have hardly begun to arrive: each still gets its share of `arrivals`.
  let live = 0;
  for (let t = first; t < end; t *= 2) {
    while (live < n && rates[live] * t > TINY / n) {
      sums[live] += rates[live] * arrivals;
      live++;
    }
    countBefore(arrived, absent, before, live, k);
    let atMost = 0;
    for (let a = 0, row = live * k; a < k; a++) atMost += before[row + a];
    arrivals += t * atMost;
    addInclusion(rates, arrived, absent, before, after, live, k, t, sums);
    for (let i = 0; i < n; i++) {
      const p = arrived[i] * (2 - arrived[i]);
      arrived[i] = p;
      // Below a half the difference is exact enough, above it only the square is.
      absent[i] = p <= 0.5 ? 1 - p : absent[i] * absent[i];
    }
  }
  for (let i = live; i < n; i++) sums[i] += rates[i] * arrivals;
  return arrivals;
}

function countBefore(
  arrived: Float64Array,
  absent: Float64Array,
  before: Float64Array,
  live: number,
  k: number,
): void {
  for (let i = 0, row = 0; i < live; i++, row += k) {
    const p = arrived[i];
    const e = absent[i];
    let less = 0;
    for (let a = row; a < row + k; a++) {
      const value = before[a];
      before[a + k] = e * value + p * less;
      less = value;
    }
  }
}

/** The sum of one t. `after[a]` is Pr[at most K−1−a of the candidates after i have arrived]. */
function addInclusion(
  rates: Float64Array,
  arrived: Float64Array,
  absent: Float64Array,
  before: Float64Array,
  after: Float64Array,
  live: number,
  k: number,
  t: number,
  sums: Float64Array,
): void {
  after.fill(1);
  for (let i = live - 1; i >= 0; i--) {
    const p = arrived[i];
    const e = absent[i];
    const row = i * k;
    let room = 0;
    let value = after[0];
    for (let a = 0; a < k - 1; a++) {
      const fewer = after[a + 1];
      room += before[row + a] * value;
      after[a] = e * value + p * fewer;
      value = fewer;
    }
    room += before[row + k - 1] * value;
    after[k - 1] = e * value;
    sums[i] += rates[i] * t * e * room;
  }
}
