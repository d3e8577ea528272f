import { float64Columns } from '../../bandit/columns.ts';
import { nominate } from '../../bandit/nominate.ts';
import type { Candidates, Recall } from '../../bandit/policy.ts';
import { RerankedScores, type RetrievalScores, type ToolScores } from './retrieval-scores.ts';

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

/**
 * Why a tool is a candidate; a pinned one is `pinned` even if retrieval found it as well. One that is `used` is ranked where it is by
 * how it was used.
 */
export type Origin = 'retrieved' | 'remembered' | 'used' | 'pinned';

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
  return inOrder(origins, scores);
}

/** The candidates by g, with their scores in columns. */
function inOrder(chosen: ReadonlyMap<number, Origin>, scores: RetrievalScores): Shortlist {
  const all: { readonly slot: number; readonly origin: Origin; readonly own: ToolScores }[] = [];
  for (const [slot, origin] of chosen) all.push({ slot, origin, own: scores.of(slot) });
  // What retrieval proposes is in order already, so this takes no longer than reading it.
  all.sort((a, b) => b.own.base - a.own.base || a.slot - b.slot);
  const slots = new Int32Array(all.length);
  const [lexical, dense, base, similarity] = float64Columns(all.length, 4);
  const origins: Origin[] = [];
  for (let i = 0; i < all.length; i++) {
    const { slot, origin, own } = all[i];
    slots[i] = slot;
    lexical[i] = own.lexical;
    dense[i] = own.dense;
    base[i] = own.base;
    similarity[i] = own.similarity;
    origins.push(origin === 'retrieved' && own.isUsed === true ? 'used' : origin);
  }
  const candidates = { slots, lexical, dense, base, similarity };
  if (!(scores instanceof RerankedScores)) return { candidates, origins };
  const said = all.map(({ own }) => own.reranked);
  const reranked = {
    score: Float64Array.from(said, (one) => one?.score ?? 0),
    lexical: Float64Array.from(said, (one, i) => one?.lexical ?? lexical[i]),
  };
  return { candidates: { ...candidates, reranked }, origins };
}
