import { incompleteGamma, lnBeta, lnGamma } from './gamma.ts';
/** Φ(x): the probability of at most x, accurate in the lower tail too. */
export function normalCdf(x: number): number {
  const { lower, upper } = incompleteGamma(0.5, (x * x) / 2);
  return x < 0 ? upper / 2 : 0.5 + lower / 2;
}

/**
 * Φ⁻¹(p). A rational first guess (Abramowitz & Stegun 26.2.23, good to 4.5e-4) and Halley's steps on Φ.
 * @param p in [1e-300, 1).
 */
export function normalQuantile(p: number): number {
  if (!(p >= 1e-300 && p < 1))
    throw new RangeError(`no normal quantile of ${p}: give a probability inside (0, 1)`);
  if (p === 0.5) return 0;
  const tail = Math.min(p, 1 - p);
  const t = Math.sqrt(-2 * Math.log(tail));
  const top = 2.515517 + t * (0.802853 + t * 0.010328);
  let x = top / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  for (let step = 0; step < 3; step++) {
    const error = (normalCdf(x) - tail) / normalDensity(x);
    x -= error / (1 + (x * error) / 2);
  }
  return p < 0.5 ? x : -x;
}

export function normalDensity(x: number): number {
  return Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
}

/** Probability that Student's t with ν > 0 degrees of freedom is at most t. */
export function studentCdf(t: number, degreesOfFreedom: number): number {
  const tail = upperTail(Math.abs(t), degreesOfFreedom);
  return t < 0 ? tail : 1 - tail;
}

/** The t below which Student's t with ν > 0 degrees of freedom lies with probability p in (0, 1). */
export function studentQuantile(p: number, degreesOfFreedom: number): number {
  if (!(p > 0 && p < 1)) throw new RangeError(`no quantile of ${p}: give a probability inside (0, 1)`);
  if (p === 0.5) return 0;
  const tail = Math.min(p, 1 - p);
  const t = upperTailQuantile(tail, degreesOfFreedom);
  return p < 0.5 ? -t : t;
}

/** Newton's method on ln P(T > t), which is smooth in ln t, kept inside a bracket that shrinks. */
function upperTailQuantile(tail: number, degreesOfFreedom: number): number {
  let low = 0;
  let high = Math.max(1, -normalQuantile(tail));
  while (upperTail(high, degreesOfFreedom) > tail) {
    low = high;
    high *= 2;
  }
  let t = high;
  for (let step = 0; step < 100; step++) {
    const probability = upperTail(t, degreesOfFreedom);
    if (probability > tail) low = t;
    else high = t;
    const slope = (-t * density(t, degreesOfFreedom)) / probability;
    let next = t * Math.exp(-Math.log(probability / tail) / slope);
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (Math.abs(next - t) <= 1e-15 * t) return next;
    t = next;
  }
  return t;
}

/** P(T > t) for t ≥ 0: half of the regularised incomplete beta function at ν/(ν + t²). */
function upperTail(t: number, degreesOfFreedom: number): number {
  const whole = degreesOfFreedom + t * t;
  return 0.5 * incompleteBeta(degreesOfFreedom / 2, 0.5, degreesOfFreedom / whole, (t * t) / whole);
}

function density(t: number, degreesOfFreedom: number): number {
  const power = (-(degreesOfFreedom + 1) / 2) * Math.log1p((t * t) / degreesOfFreedom);
  return Math.exp(power - lnBeta(degreesOfFreedom / 2, 0.5)) / Math.sqrt(degreesOfFreedom);
}

/**
 * I_x(a, b) with y = 1 − x given apart, because near 1 the difference would be lost. DLMF 8.17.22 by the modified
 * Lentz method, on whichever side converges fast.
 */
function incompleteBeta(a: number, b: number, x: number, y: number): number {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const scale = Math.exp(a * lnOf(x, y) + b * lnOf(y, x) - lnBeta(a, b));
  if (x < (a + 1) / (a + b + 2)) return (scale * continuedFraction(a, b, x)) / a;
  return 1 - (scale * continuedFraction(b, a, y)) / b;
}

function lnOf(x: number, complement: number): number {
  return x > 0.5 ? Math.log1p(-complement) : Math.log(x);
}

function continuedFraction(a: number, b: number, x: number): number {
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let value = d;
  for (let m = 1, change = 0; Math.abs(change - 1) > 1e-16 && m < 100_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    value *= c * d;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    change = c * d;
    value *= change;
  }
  return value;
}

/** Lentz's method divides by these; a zero is moved to the nearest harmless number. */
function away(x: number): number {
  return Math.abs(x) < 1e-300 ? 1e-300 : x;
}

/** Probability that χ² with this many degrees of freedom (> 0) exceeds x. */
export function chiSquaredTail(x: number, degreesOfFreedom: number): number {
  return incompleteGamma(degreesOfFreedom / 2, x / 2).upper;
}

/** Below this part of the sum so far, what is left of a tail changes no digit. */
const NEGLIGIBLE = 1e-17;

/**
 * Twice the probability of the smaller tail: of a count at least as far on the same side, for `trials` trials with
 * probability p in (0, 1). Exact: a test that alarms below α alarms by mistake with at most α, whatever the numbers.
 */
export function binomialPValue(count: number, trials: number, p: number): number {
  const upwards = count > trials * p;
  const step = upwards ? 1 : -1;
  const odds = p / (1 - p);
  let term = Math.exp(
    lnGamma(trials + 1) -
      lnGamma(count + 1) -
      lnGamma(trials - count + 1) +
      count * Math.log(p) +
      (trials - count) * Math.log1p(-p),
  );
  let tail = 0;
  // Away from the mean the terms fall from the first one on.
  for (let k = count; k >= 0 && k <= trials && term > NEGLIGIBLE * tail; k += step) {
    tail += term;
    term *= upwards ? ((trials - k) / (k + 1)) * odds : k / (trials - k + 1) / odds;
  }
  return Math.min(1, 2 * tail);
}
