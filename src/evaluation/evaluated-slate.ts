import type { Candidates } from '../../bandit/policy.ts';
import type { Decision } from '../decisions/decision.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { SkippedDecisions } from './evaluation.ts';

/** A logged decision as policies are evaluated on it. */
export interface EvaluatedSlate {
  readonly decision: Decision;
  /** Slots of its candidates. */
  readonly slots: Int32Array;
  /** Indices of the candidates that were not pinned (every policy has the pins); null: all of them. */
  readonly free: readonly number[] | null;
  /** Tools of the slate that were chosen among them, ≥ 1. */
  readonly k: number;
}

/** Returns the decision as a slate to evaluate on, or why it cannot be one. */
export function evaluatedSlate(
  decision: Decision,
  state: CatalogState,
): EvaluatedSlate | keyof SkippedDecisions {
  if (decision.fallback !== null) return 'fallback';
  if (decision.fingerprint !== state.fingerprint) return 'otherEmbedder';
  const count = decision.candidates.length;
  const pinned = decision.slate.filter((_, at) => decision.reasons[at] === 'pinned');
  const k = decision.k - pinned.length;
  if (decision.exploration !== 'plackett-luce' || k < 1 || pinned.length >= count) return 'unexplored';
  const slots = new Int32Array(count);
  for (let index = 0; index < count; index++) {
    const slot = state.tools.find(decision.candidates[index])?.slot;
    if (slot === undefined) return 'toolGone';
    slots[index] = slot;
  }
  const free = pinned.length === 0 ? null : [...slots.keys()].filter((index) => !pinned.includes(index));
  return { decision, slots, free, k };
}

/** Gives policies the candidates of one slate after the other, in arrays that are used again. */
export class SlateCandidates {
  readonly #byCount = new Map<number, Candidates>();

  /** Valid until the next call. */
  of({ decision, slots }: EvaluatedSlate): Candidates {
    const candidates = this.#ofCount(slots.length);
    const { lexical, dense, retrieval, similarity } = decision.columns;
    candidates.slots.set(slots);
    candidates.lexical.set(lexical);
    candidates.dense.set(dense);
    candidates.base.set(retrieval);
    candidates.similarity.set(similarity);
    return candidates;
  }

  #ofCount(count: number): Candidates {
    const known = this.#byCount.get(count);
    if (known !== undefined) return known;
    const column = () => new Float64Array(count);
    const candidates = {
      slots: new Int32Array(count),
      lexical: column(),
      dense: column(),
      base: column(),
      similarity: column(),
    };
    this.#byCount.set(count, candidates);
    return candidates;
  }
}
