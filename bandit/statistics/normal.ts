import { incompleteGamma } from './gamma.ts';

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
