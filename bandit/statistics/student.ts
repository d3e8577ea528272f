import { lnBeta } from './gamma.ts';
import { normalQuantile } from './normal.ts';

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
