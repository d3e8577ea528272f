import { type ContextRanker, rankBySignals } from '../../bandit/ranking/context-ranker.ts';
import type { TreeScorer } from '../../bandit/ranking/tree-scorer.ts';
import { type ContextQuery, contextCandidates, type Moment } from './context-candidates.ts';
import { reasonsOf } from './context-reasons.ts';
import type { ContextItem } from './item.ts';
import { BY_MODEL, BY_SIGNALS, servedItems } from './item-probability.ts';
import type { LoadedContext } from './user-contexts.ts';

export interface ChosenItem extends ContextItem {
  /** What decisions keep in place of the id. */
  readonly number: number;
  /** The estimated probability that the query needs it, 0…1. */
  readonly score: number;
  /** Why, in words. */
  readonly reasons: readonly string[];
  /** Its `CONTEXT_FEATURES`; NaN where nothing is known. */
  readonly features: Float32Array;
  /** Its vector, by the embedder of the query; null: none. */
  readonly vector: Float32Array | null;
}

/**
 * Chooses the items of a user that a query needs, at most k, the likeliest first (Context Tuning, §3): candidates are ranked by the model,
 * or by signals alone where it was trained with another embedder, and then by how likely they are. None, if none is likely enough. Pure.
 */
export function chooseContext(
  user: LoadedContext,
  query: ContextQuery,
  moment: Moment,
  k: number,
  ranker: ContextRanker | null,
  scorer: TreeScorer,
): ChosenItem[] {
  if (k === 0 || user.items.length === 0) return [];
  const { rows, candidates, moment: asked } = contextCandidates(user, query, moment);
  const isRanked = ranker !== null && asked.query !== null && ranker.embedder === query.fingerprint;
  const ranked = isRanked ? ranker.rank(candidates, asked, scorer) : rankBySignals(candidates, asked);
  return servedItems(ranked, isRanked ? BY_MODEL : BY_SIGNALS, k).map((one) => {
    const { usage, vector } = candidates[one.item];
    const item = user.items[rows[one.item]];
    return {
      ...item,
      ...{ number: user.key.numberOf(item.id), vector },
      score: one.probability,
      reasons: reasonsOf(one.features, usage, asked),
      features: Float32Array.from(one.features),
    };
  });
}
