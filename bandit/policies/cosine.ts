import { fixedRanking } from './fixed-ranking.ts';

export const COSINE = fixedRanking(
  {
    name: 'cosine',
    sentence: 'Ranks by the cosine between query and description alone; learns nothing.',
    defaultExploration: 'greedy',
  },
  ({ candidates }) => candidates.similarity.slice(),
);
