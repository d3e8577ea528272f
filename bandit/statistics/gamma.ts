/**
 * ln Γ(x) for x > 0, to about 1e-15 of max(1, |ln Γ|). Stirling's series (NIST DLMF 5.11.1) from 10 upwards,
 * the recurrence Γ(x + 1) = xΓ(x) below.
 */
export function lnGamma(x: number): number {
  let product = 1;
  let y = x;
  for (; y < 10; y++) product *= y;
  return (y - 0.5) * Math.log(y) - y + HALF_LN_TWO_PI + stirlingRest(y) - Math.log(product);
}

/** ln B(a, b) for a, b > 0, without the cancellation of three large ln Γ when one of them is large. */
export function lnBeta(a: number, b: number): number {
  const large = Math.max(a, b);
  const small = Math.min(a, b);
  if (large < 10) return lnGamma(small) + lnGamma(large) - lnGamma(small + large);
  const sum = large + small;
  // ln Γ(large) − ln Γ(sum), term by term of Stirling's series.
  const ratio = -(large - 0.5) * Math.log1p(small / large) - small * (Math.log(sum) - 1);
  return lnGamma(small) + ratio + (stirlingRest(large) - stirlingRest(sum));
}

/** P(a, x) = γ(a, x)/Γ(a) and Q = 1 − P for a > 0, x ≥ 0, each accurate where it is small. */
export function incompleteGamma(a: number, x: number): { readonly lower: number; readonly upper: number } {
  if (x <= 0) return { lower: 0, upper: 1 };
  const scale = Math.exp(a * Math.log(x) - x - lnGamma(a));
  if (x < a + 1) {
    const lower = scale * series(a, x);
    return { lower, upper: 1 - lower };
  }
  const upper = scale * continuedFraction(a, x);
  return { lower: 1 - upper, upper };
}

/** DLMF 8.11.4: Σ xᵏ / (a)ₖ₊₁. */
function series(a: number, x: number): number {
  let term = 1 / a;
  let sum = term;
  for (let k = 1; term > sum * 1e-17; k++) {
    term *= x / (a + k);
    sum += term;
  }
  return sum;
}

/** DLMF 8.9.2 by the modified Lentz method: Γ(a, x) / (xᵃe⁻ˣ). */
function continuedFraction(a: number, x: number): number {
  let b = x + 1 - a;
  let c = Number.MAX_VALUE;
  let d = 1 / b;
  let value = d;
  for (let k = 1, change = 0; Math.abs(change - 1) > 1e-16 && k < 100_000; k++) {
    const numerator = k * (a - k);
    b += 2;
    d = 1 / away(b + numerator * d);
    c = away(b + numerator / c);
    change = c * d;
    value *= change;
  }
  return value;
}

/** Lentz's method divides by these; a zero is moved to the nearest harmless number. */
function away(x: number): number {
  return Math.abs(x) < 1e-300 ? 1e-300 : x;
}

/** Returns what Stirling's series adds to (x − ½)ln x − x + ½ln 2π, for x ≥ 10. */
function stirlingRest(x: number): number {
  const y = 1 / (x * x);
  let sum = 1 / 156;
  for (const coefficient of STIRLING) sum = coefficient + y * sum;
  return sum / x;
}

/** B₂ₖ / (2k(2k − 1)) from k = 6 down to 1. */
const STIRLING: readonly number[] = [-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12];
const HALF_LN_TWO_PI = 0.5 * Math.log(2 * Math.PI);
