import type { Candidates } from '../policy.ts';
import type { BudgetedRequest } from '../selection/select-under-budget.ts';
import { fixedRanking } from './fixed-ranking.ts';
import type { PolicyKind } from './policy-kind.ts';

/**
 * Ranks as Instruction-Tool Retrieval does (Franko 2025, equation 3), tools and instructions alike:
 *   S(a|q) = w1·cos(E(q), E(a)) + w2·BM25(q, a) + w3·CE(q, a),
 * where BM25 is divided by its maximum in the catalog and CE, the reranker's score, is min–max over what it read, and 0 where
 * nothing was read. S of instructions is taken as a share of the most that it can be. Of tools it learns nothing: their gain is S, as in the paper, so that it stays the same while others learn and can be compared with them. What
 * instructions add is learned beside it, as with every policy.
 */
export const ITR: PolicyKind = fixedRanking(
  {
    name: 'itr',
    sentence:
      'Instruction-Tool Retrieval: a weighted sum of cosine, BM25 and the reranker’s score, for tools and instructions; learns nothing about tools.',
    defaultExploration: 'greedy',
    parameters: [
      {
        ...{ name: 'w1', default: 1, minimum: 0, maximum: 10 },
        sentence: 'Weight of the cosine between query and description.',
      },
      {
        ...{ name: 'w2', default: 1, minimum: 0, maximum: 10 },
        sentence: 'Weight of BM25, as a share of the best match in the catalog.',
      },
      {
        ...{ name: 'w3', default: 1, minimum: 0, maximum: 10 },
        sentence: 'Weight of the reranker, where the catalog has one.',
      },
      {
        ...{ name: 'greedy', default: 0, minimum: 0, maximum: 1, integer: true },
        sentence:
          '1: under a token budget it takes by gain per token, as the paper does; 0: the best choice.',
      },
    ],
  },
  ({ candidates }, parameters) => itrScores(candidates, parameters),
);

/** Returns S of each candidate. */
export function itrScores(
  { similarity, lexical, reranked }: Candidates,
  { w1, w2, w3 }: Readonly<Record<string, number>>,
): Float64Array {
  const words = reranked?.lexical ?? lexical;
  return similarity.map((cosine, i) => w1 * cosine + w2 * words[i] + w3 * (reranked?.score[i] ?? 0));
}

/** Returns how a policy chooses under a token budget. */
export function selectionMethod({
  name,
  parameters,
}: {
  readonly name: string;
  readonly parameters: Readonly<Record<string, number>>;
}): BudgetedRequest['method'] {
  return name === ITR.name && parameters.greedy === 1 ? 'greedy' : 'exact';
}
