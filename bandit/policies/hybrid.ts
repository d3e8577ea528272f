import { fixedRanking } from './fixed-ranking.ts';

export const HYBRID = fixedRanking(
  'hybrid',
  'Keeps the retrieval order, BM25 and cosine together; learns nothing.',
  ({ candidates }) => candidates.base.slice(),
);
