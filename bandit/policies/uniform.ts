import { fixedRanking } from './fixed-ranking.ts';

/** All scores are equal, so that Plackett–Luce draws every slate with the same probability. */
export const UNIFORM = fixedRanking(
  'uniform',
  'Draws among the candidates with equal probability (exploration “plackett-luce”); learns nothing.',
  ({ candidates }) => new Float64Array(candidates.slots.length),
);
