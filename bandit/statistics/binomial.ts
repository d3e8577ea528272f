import { lnGamma } from './gamma.ts';

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
