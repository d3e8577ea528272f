import { fixedRanking } from './fixed-ranking.ts';

export const COSINE = fixedRanking(
  'cosine',
  'Ranks by the cosine between query and description alone; learns nothing.',
  ({ candidates }) => candidates.similarity.slice(),
);
