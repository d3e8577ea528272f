import { fixedRanking } from './fixed-ranking.ts';

export const HYBRID = fixedRanking(
  {
    name: 'hybrid',
    sentence: 'Keeps the retrieval order, BM25 and cosine together; learns nothing.',
    defaultExploration: 'greedy',
  },
  ({ candidates }) => candidates.base.slice(),
);
