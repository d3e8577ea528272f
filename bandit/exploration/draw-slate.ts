import type { Random } from '../random.ts';

/**
 * Returns standard Gumbel noise for each of n candidates: −ln(−ln U). The counter is the candidate's index among those that are
 * drawn from, in the order in which they are logged with the decision, so the draw can be repeated from the key and the list.
 */
export function gumbelNoise(count: number, random: Random): number[] {
  const noise: number[] = [];
  for (let i = 0; i < count; i++) noise.push(-Math.log(-Math.log(random.uniform(i))));
  return noise;
}

/**
 * How a slate is chosen by scores: `plackett-luce` draws without replacement, in proportion to exp(u/T); `ucb`
 * and `greedy` take the best (they differ in what the caller passes as the score: with or without bonuses).
 */
export const EXPLORATION_MODES = ['plackett-luce', 'ucb', 'greedy'] as const;
export type ExplorationMode = (typeof EXPLORATION_MODES)[number];

export interface SlateRequest {
  /** u of each candidate, in the order in which they are logged. Finite. */
  readonly score: Float64Array;
  /** K ≥ 1; with fewer candidates all of them are taken. */
  readonly k: number;
  /** T > 0, in units of the score; read by `plackett-luce` only. */
  readonly temperature: number;
  readonly mode: ExplorationMode;
  /** Draws keyed by the decision id. */
  readonly random: Random;
}

/**
 * Returns the slate: indices of the chosen candidates, best first. Plackett–Luce by the Gumbel top-k trick (Kool, van
 * Hoof, Welling: Stochastic beams and where to find them; ICML 2019): the K largest of u/T + Gumbel. Equal
 * scores without noise: the lower index first. @throws RangeError on a bad k, temperature or score.
 */
export function drawSlate(request: SlateRequest): Int32Array {
  const { score, k, temperature, mode, random } = request;
  checkScores(score, k);
  if (mode === 'plackett-luce') {
    checkTemperature(temperature);
    const noise = gumbelNoise(score.length, random);
    // Differences of scores are taken before they are divided: far below the best, u/T has no room for noise.
    return largest(score.length, k, (i, j) => (score[i] - score[j]) / temperature + (noise[i] - noise[j]));
  }
  if (mode !== 'ucb' && mode !== 'greedy') {
    throw new RangeError(`unknown exploration mode "${mode}"; known: ${EXPLORATION_MODES.join(', ')}`);
  }
  return largest(score.length, k, (i, j) => score[i] - score[j]);
}

/** Returns the k first of 0 … n−1 by a comparison that is positive when the left one is better; ties by index. */
function largest(n: number, k: number, lead: (i: number, j: number) => number): Int32Array {
  const best = new Int32Array(Math.min(n, k));
  for (let i = 0; i < n; i++) {
    let place = Math.min(i, best.length);
    while (place > 0 && lead(i, best[place - 1]) > 0) place--;
    if (place === best.length) continue;
    best.copyWithin(place + 1, place, best.length - 1);
    best[place] = i;
  }
  return best;
}

export function checkScores(score: Float64Array, k: number): void {
  if (!Number.isSafeInteger(k) || k < 1) {
    throw new RangeError(`k must be a whole number of at least 1, got ${k}`);
  }
  for (let i = 0; i < score.length; i++) {
    if (!Number.isFinite(score[i])) throw new RangeError(`score[${i}] must be finite, got ${score[i]}`);
  }
}

export function checkTemperature(temperature: number): void {
  if (!(temperature > 0 && temperature < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`temperature must be positive and finite, got ${temperature}`);
  }
}
