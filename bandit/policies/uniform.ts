import { fixedRanking } from './fixed-ranking.ts';

/** All scores are equal, so that Plackett–Luce draws every slate with the same probability. */
export const UNIFORM = fixedRanking(
  {
    name: 'uniform',
    sentence: 'Draws among the candidates with equal probability; learns nothing.',
    defaultExploration: 'plackett-luce',
  },
  ({ candidates }) => new Float64Array(candidates.slots.length),
);
