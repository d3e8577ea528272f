/** Step in ln t. The integrand is analytic in |Im ln t| < π/2, so the error of the sum is about e^(−π²/step). */
const STEP = Math.LN2 / 2;
/** The sum starts where this many arrivals are expected in all; what lies before is a geometric series. */
const FIRST_ARRIVALS = 1e-5;
/** … and ends where even the (K+1)-th rate has arrived but for e^(−40). */
const LAST_ARRIVALS = 40;

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
 * Two steps double t, and doubling needs no exp: p ← p(2 − p) for the arrived share, e ← e² for the rest. Even
 * and odd steps are two such chains, computed side by side.
 */
export function integrateInclusion(rates: Float64Array, k: number): Inclusion {
  const n = rates.length;
  const total = rates.reduce((sum, rate) => sum + rate, 0);
  const start = FIRST_ARRIVALS / total;
  const end = LAST_ARRIVALS / rates[Math.min(k, n - 1)];
  const chains = [new Chain(rates, k, start), new Chain(rates, k, start * Math.SQRT2)];
  for (let t = start; t < end; t *= 2) for (const chain of chains) chain.step();

  // What the sum has before its first step: STEP·w·start·(e^−STEP + e^−2·STEP + …).
  const before = start / Math.expm1(STEP);
  const probability = rates.map((rate, i) => {
    return STEP * (rate * before + chains[0].inclusion[i] + chains[1].inclusion[i]);
  });
  return { probability, arrival: STEP * (before + chains[0].arrival + chains[1].arrival) };
}

/** The sum over t = t₀, 2t₀, 4t₀, … */
class Chain {
  readonly inclusion: Float64Array;
  arrival = 0;
  readonly #rates: Float64Array;
  readonly #k: number;
  #time: number;
  /** 1 − e^(−wt) and e^(−wt), each to full precision. */
  readonly #arrived: Float64Array;
  readonly #absent: Float64Array;
  /** before[i·K + a]: Pr[a of the candidates before i have arrived], a < K; one row more for all of them. */
  readonly #before: Float64Array;
  /** Pr[at most a of the candidates after i have arrived]. */
  readonly #after: Float64Array;

  constructor(rates: Float64Array, k: number, time: number) {
    this.#rates = rates;
    this.#k = k;
    this.#time = time;
    this.inclusion = new Float64Array(rates.length);
    this.#arrived = rates.map((rate) => -Math.expm1(-rate * time));
    this.#absent = rates.map((rate) => Math.exp(-rate * time));
    this.#before = new Float64Array((rates.length + 1) * k);
    this.#after = new Float64Array(k);
  }

  /** Adds what this t contributes, and doubles it. */
  step(): void {
    this.#countBefore();
    this.#add();
    this.#double();
  }

  #countBefore(): void {
    const k = this.#k;
    const before = this.#before;
    before[0] = 1;
    for (let i = 0; i < this.#rates.length; i++) {
      const p = this.#arrived[i];
      const e = this.#absent[i];
      const row = i * k;
      before[row + k] = e * before[row];
      for (let a = 1; a < k; a++) before[row + k + a] = e * before[row + a] + p * before[row + a - 1];
    }
  }

  #add(): void {
    const k = this.#k;
    const before = this.#before;
    const after = this.#after.fill(1);
    const time = this.#time;
    let atMost = 0;
    for (let a = 0, row = this.#rates.length * k; a < k; a++) atMost += before[row + a];
    this.arrival += time * atMost;
    for (let i = this.#rates.length - 1; i >= 0; i--) {
      const p = this.#arrived[i];
      const e = this.#absent[i];
      const row = i * k;
      let room = 0;
      for (let a = 0; a < k; a++) room += before[row + a] * after[k - 1 - a];
      this.inclusion[i] += this.#rates[i] * time * e * room;
      for (let a = k - 1; a > 0; a--) after[a] = e * after[a] + p * after[a - 1];
      after[0] *= e;
    }
  }

  #double(): void {
    this.#time *= 2;
    for (let i = 0; i < this.#rates.length; i++) {
      const p = this.#arrived[i] * (2 - this.#arrived[i]);
      this.#arrived[i] = p;
      // Below a half the difference is exact enough, above it only the square is.
      this.#absent[i] = p <= 0.5 ? 1 - p : this.#absent[i] * this.#absent[i];
    }
  }
}
