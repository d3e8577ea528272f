import { float64Columns } from '../../bandit/columns.ts';
import { nominate } from '../../bandit/nominate.ts';
import type { Candidates, Recall } from '../../bandit/policy.ts';
import { BestSlots } from './best-slots.ts';
import { RerankedScores, type RetrievalScores } from './retrieval-scores.ts';

export interface ShortlistRequest {
  /** How many tools retrieval proposes; 50 is what the default policy was tuned with. */
  readonly limit: number;
  /** What outcome memory knows about the query: it nominates tools that retrieval did not find. */
  readonly recall?: Recall;
  /** The scores of a reranker for some slots. */
  readonly rerank?: ReadonlyMap<number, number>;
  /** Slots that have to be candidates. */
  readonly pin?: readonly number[];
  /** Slots that must not be candidates, pinned or not. */
  readonly exclude?: ReadonlySet<number>;
}

/** Why a tool is a candidate; a pinned one is `pinned` even if retrieval found it as well. */
export type Origin = 'retrieved' | 'remembered' | 'pinned';

export interface Shortlist {
  /** In descending order of the retrieval score; of equals the lower slot first. */
  readonly candidates: Candidates;
  /** One per candidate. */
  readonly origins: readonly Origin[];
}

/**
 * Chooses the candidates of one request among the live slots. Slots that are not live are ignored.
 * @param retrieved what retrieval proposes.
 */
export function shortlist(
  live: { has(slot: number): boolean },
  retrieved: Iterable<number>,
  fused: RetrievalScores,
  request: ShortlistRequest,
): Shortlist {
  const { rerank } = request;
  const scores = rerank === undefined || rerank.size === 0 ? fused : new RerankedScores(fused, rerank);
  const allowed = (slot: number): boolean => live.has(slot) && request.exclude?.has(slot) !== true;
  const origins = new Map<number, Origin>();
  for (const slot of retrieved) origins.set(slot, 'retrieved');
  if (request.recall !== undefined) {
    const unseen = (slot: number): boolean => allowed(slot) && !origins.has(slot);
    for (const slot of nominate(request.recall, unseen)) origins.set(slot, 'remembered');
  }
  for (const slot of request.pin ?? []) if (allowed(slot)) origins.set(slot, 'pinned');

  const order = new BestSlots(origins.size);
  for (const slot of origins.keys()) order.offer(slot, scores.base(slot));
  const slots = order.list();
  return { candidates: candidatesOf(slots, scores), origins: originsOf(slots, origins) };
}

function candidatesOf(slots: Int32Array, scores: RetrievalScores): Candidates {
  const count = slots.length;
  const [lexical, dense, base, similarity] = float64Columns(count, 4);
  for (let i = 0; i < count; i++) {
    const slot = slots[i];
    lexical[i] = scores.lexical(slot);
    dense[i] = scores.dense(slot);
    base[i] = scores.base(slot);
    similarity[i] = scores.similarity(slot);
  }
  return { slots, lexical, dense, base, similarity };
}

function originsOf(slots: Int32Array, origins: ReadonlyMap<number, Origin>): Origin[] {
  const list: Origin[] = [];
  for (const slot of slots) list.push(origins.get(slot)!);
  return list;
}
