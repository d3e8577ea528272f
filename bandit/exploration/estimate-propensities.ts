import type { Random } from '../random.ts';
import { checkScores, checkTemperature } from './draw-slate.ts';
import { gumbelNoise } from './gumbel.ts';

/** u + T·Gumbel: what a selection that is not a plain top K is made from. Replicate 0 is the one that counts. */
export function perturbedScores(
  score: Float64Array,
  temperature: number,
  random: Random,
  replicate = 0,
): Float64Array {
  checkScores(score, 1);
  checkTemperature(temperature);
  return gumbelNoise(score.length, random, replicate).map((noise, i) => score[i] + temperature * noise);
}

/**
 * Propensities of any selection from perturbed scores (a token budget, say) for which there is no formula: the
 * share of draws in which each candidate is selected, over the draw that counts and `replicates` others. So
 * nothing that was selected has less than 1/(replicates + 1); the standard error is √(p(1−p)/(replicates + 1)).
 */
export function estimatePropensities(
  score: Float64Array,
  temperature: number,
  random: Random,
  replicates: number,
  select: (perturbed: Float64Array) => Iterable<number>,
): Float64Array {
  if (!Number.isSafeInteger(replicates) || replicates < 1) {
    throw new RangeError(`replicates must be a whole number of at least 1, got ${replicates}`);
  }
  const count = new Float64Array(score.length);
  for (let replicate = 0; replicate <= replicates; replicate++) {
    for (const index of select(perturbedScores(score, temperature, random, replicate))) count[index]++;
  }
  return count.map((times) => times / (replicates + 1));
}
