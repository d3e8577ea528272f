import { randomFor } from '../../../bandit/random.ts';
import { CONTEXT_FEATURES } from '../../../bandit/ranking/context-features.ts';
import type { ContextRanker } from '../../../bandit/ranking/context-ranker.ts';
import type { TreeScorer } from '../../../bandit/ranking/tree-scorer.ts';
import { type ContextQuery, contextCandidates, type Moment } from '../context-candidates.ts';
import type { LoadedContext } from '../user-contexts.ts';
import { type ContextExample, SHOWN, USED } from './user-examples.ts';

/** Items of one example at most: those that were used or shown, the best ranked others up to 15, and others by chance. */
export const MOST_ROWS = 20;
const BEST_ROWS = 15;
/** Items that are said to be used: more of them say little. */
const MOST_USED = 10;

const FEATURES = CONTEXT_FEATURES.length;

/** What was reported of a decision. */
export interface ReportedItems {
  readonly decision: string;
  /** Ids. Empty: none was right. */
  readonly used: readonly string[];
  /** Numbers of the items that were shown. */
  readonly shown: readonly number[];
}

/**
 * Derives the features of a past decision again, from what is known of the user before its uses are recorded. Null where they would not
 * be those of then, or teach nothing: something was used since, no item that was used is left as it was, the query has no
 * vector of the model's embedder. Items that were put or changed since are left out. Pure.
 */
export function exampleOf(
  user: LoadedContext,
  query: ContextQuery,
  moment: Moment,
  { decision, used, shown }: ReportedItems,
  ranker: ContextRanker,
  scorer: TreeScorer,
): ContextExample | null {
  const { candidates, moment: asked, rows } = contextCandidates(user, query, moment);
  const isKnown = asked.query !== null && ranker.embedder === query.fingerprint;
  // Clocks of users move with them: of what was used at the same time nobody can tell which came first.
  if (!isKnown || user.signals.newest >= asked.now) return null;
  const isUsed = new Set(used);
  const isShown = new Set(shown);
  const ranked = ranker
    .rank(candidates, asked, scorer)
    .map(({ item, features }) => ({ item, features, ...user.items[rows[item]] }))
    .filter(({ putAt }) => putAt <= moment.now)
    .map(({ item, features, id }) => {
      const said =
        (isUsed.has(id) ? USED : 0) | (isShown.size > 0 && isShown.has(user.key.numberOf(id)) ? SHOWN : 0);
      return { item, features, said };
    });
  const telling = ranked.filter(({ said }) => (said & USED) !== 0).slice(0, MOST_USED);
  if (used.length > 0 ? telling.length === 0 : !ranked.some(({ said }) => said === SHOWN)) return null;
  const others = ranked.filter(({ said }) => (said & USED) === 0);
  const best = [...others.filter(({ said }) => said === SHOWN), ...others.filter(({ said }) => said === 0)];
  const near = best.slice(0, Math.max(shown.length, BEST_ROWS - telling.length));
  const random = randomFor(`example ${decision}`);
  const drawn = best
    .slice(near.length)
    .map((one) => ({ one, key: random.uniform(one.item) }))
    .sort((a, b) => a.key - b.key)
    .map(({ one }) => one);
  // In the order of the items, which says nothing about which of them were used.
  const kept = [...telling, ...near, ...drawn].slice(0, MOST_ROWS).sort((a, b) => a.item - b.item);
  if (kept.length < 2) return null;
  const features = new Float32Array(kept.length * FEATURES);
  for (const [row, one] of kept.entries()) features.set(one.features, row * FEATURES);
  return { decision, at: moment.now, said: Uint8Array.from(kept, ({ said }) => said), features };
}
