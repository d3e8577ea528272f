import type { Candidates } from '../../bandit/policy.ts';
import type { Decision } from '../routing/decision.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { SkippedDecisions } from './evaluation.ts';

/** A logged decision as policies are evaluated on it. */
export interface EvaluatedSlate {
  readonly decision: Decision;
  readonly candidates: Candidates;
  /** Indices of the candidates that were not pinned; every policy has the pins. */
  readonly free: readonly number[];
  /** Places that were left for them, ≥ 1. */
  readonly k: number;
}

/** The decision as a slate to evaluate on, or why it is none. */
export function evaluatedSlate(
  decision: Decision,
  state: CatalogState,
): EvaluatedSlate | keyof SkippedDecisions {
  if (decision.fallback !== null) return 'fallback';
  if (decision.fingerprint !== state.fingerprint) return 'otherEmbedder';
  const pinned = decision.slate.filter((_, at) => decision.reasons[at] === 'pinned');
  const k = decision.k - pinned.length;
  const free = [...decision.candidates.keys()].filter((index) => !pinned.includes(index));
  if (decision.exploration !== 'plackett-luce' || k < 1 || free.length === 0) return 'unexplored';
  const slots = new Int32Array(decision.candidates.length);
  for (const [index, name] of decision.candidates.entries()) {
    const slot = state.tools.find(name)?.slot;
    if (slot === undefined) return 'toolGone';
    slots[index] = slot;
  }
  const { lexical, dense, retrieval, similarity } = decision.columns;
  const candidates = {
    slots,
    lexical: new Float64Array(lexical),
    dense: new Float64Array(dense),
    base: new Float64Array(retrieval),
    similarity: new Float64Array(similarity),
  };
  return { decision, candidates, free, k };
}
