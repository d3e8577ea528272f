import {
  COLUMNS,
  type ContextCandidate,
  type ContextFeature,
} from '../../bandit/ranking/context-features.ts';
import { type ContextRanker, type RankedItem, rankBySignals } from '../../bandit/ranking/context-ranker.ts';
import {
  type ContextCandidates,
  type ContextQuery,
  contextCandidates,
  type Moment,
} from './context-candidates.ts';
import { reasonsOf } from './context-reasons.ts';
import type { LoadedContext } from './user-contexts.ts';

/**
 * How a score becomes the probability that an item is needed, σ(at + Σ weight·value), and from which probability on it is served. With the
 * model it was fitted to the best five of each query of the validation part of bench/context.ts and, as a model of queries that need nothing,
 * to as many that say all that they want and name no tool of the user. `npx tsx bench/context.ts --part calibration` measures it beside
 * other fits, also on queries that name a tool of the user. Without a model scores say less.
 */
export const BY_MODEL = { at: -3.6, score: 0.73, cosine: 4.39, mapped: 0.73, asked: 3.41, threshold: 0.25 };
const BY_SIGNALS = { at: -9.5, score: 100, cosine: 0, mapped: 0, asked: 0, threshold: 0.38 };

export interface ChosenItem {
  /** What decisions keep in place of the id. */
  readonly number: number;
  readonly id: string;
  readonly text: string;
  /** The estimated probability that the query needs it, 0…1. */
  readonly score: number;
  /** Why, in words. */
  readonly reasons: readonly string[];
  /** Its `CONTEXT_FEATURES`; NaN where nothing is known. */
  readonly features: Float32Array;
  readonly store: string;
  /** Its vector, by the embedder of the query; null: none. */
  readonly vector: Float32Array | null;
}

/**
 * Chooses the items of a user that a query needs, at most k, the best first (Context Tuning, §3): candidates are ranked by the model, or
 * by signals alone where it was trained with another embedder. None, if none is likely enough. Pure.
 */
export function chooseContext(
  user: LoadedContext,
  query: ContextQuery,
  moment: Moment,
  k: number,
  ranker: ContextRanker | null,
): ChosenItem[] {
  if (k === 0 || user.items.length === 0) return [];
  const { rows, candidates, moment: asked } = contextCandidates(user, query, moment);
  const isRanked = ranker !== null && asked.query !== null && ranker.embedder === query.fingerprint;
  const ranked = isRanked ? ranker.rank(candidates, asked) : rankBySignals(candidates, asked);
  const scale = isRanked ? BY_MODEL : BY_SIGNALS;
  const chosen: ChosenItem[] = [];
  for (const one of ranked.slice(0, k)) {
    const score = probability(one, scale);
    if (score < scale.threshold) continue;
    chosen.push(chosenItem(user, rows[one.item], candidates[one.item], one, score, asked));
  }
  return chosen;
}

/** Returns the probability that an item is needed. What is not known counts as 0. */
export function probability({ score, features }: RankedItem, scale: typeof BY_MODEL): number {
  const known = (name: ContextFeature): number => features[COLUMNS[name]] || 0;
  const sum =
    scale.at +
    scale.score * score +
    scale.cosine * known('cosine') +
    scale.mapped * known('mapped product') +
    scale.asked * known('asked cosine');
  return 1 / (1 + Math.exp(-sum));
}

function chosenItem(
  user: LoadedContext,
  row: number,
  { usage, vector }: ContextCandidate,
  { features }: RankedItem,
  score: number,
  moment: ContextCandidates['moment'],
): ChosenItem {
  const { id, text, store } = user.items[row];
  return {
    ...{ number: user.key.numberOf(id), id, text, store, score, vector },
    reasons: reasonsOf(features, usage, moment),
    features: Float32Array.from(features),
  };
}
