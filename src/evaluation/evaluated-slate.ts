import { explorationScores } from '../../bandit/effects/instruction-effects.ts';
import type { Candidates, SlotPools } from '../../bandit/policy.ts';
import type { BudgetedCandidates } from '../../bandit/selection/select-under-budget.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { Decision, SlateReason } from '../decisions/decision.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { SkippedDecisions } from './evaluation.ts';

/** A logged decision as policies are evaluated on it. */
export interface EvaluatedSlate {
  readonly decision: Decision;
  /** Slots of its candidates. */
  readonly slots: Int32Array;
  /** Indices of the candidates that were neither pinned nor carried (every policy has those); null: all of them. */
  readonly free: readonly number[] | null;
  /** Tools of the slate that were chosen among them, ≥ 1. */
  readonly k: number;
  /** What every policy has to keep within; null: its request named neither a token budget nor instructions. */
  readonly budget: EvaluatedBudget | null;
}

/** The budget of a decision, and what competes with its tools for it: a policy is judged under the same. */
export interface EvaluatedBudget {
  /** Tokens for all that was not served before. */
  readonly room: number;
  /** Of each candidate; those that were carried cost nothing. */
  readonly tokens: Float64Array;
  /** Indices of the candidates that were pinned or carried. */
  readonly forced: readonly number[];
  /** It came to a prompt that goes on: what is new had to be worth its tokens. */
  readonly goesOn: boolean;
  /** With the gains of that time: they are not the policy's. What comes with an instruction is not counted with it. */
  readonly instructions: BudgetedCandidates;
  /** Of the tools, which near duplicates are known by. */
  readonly vectors: ToolVectors;
}

/** Returns the decision as a slate to evaluate on, or why it cannot be one. */
export function evaluatedSlate(
  decision: Decision,
  state: CatalogState,
): EvaluatedSlate | keyof SkippedDecisions {
  if (decision.fallback !== null) return 'fallback';
  if (decision.fingerprint !== state.fingerprint) return 'otherEmbedder';
  const count = decision.candidates.length;
  const shownBecause = (reason: SlateReason) =>
    decision.slate.filter((_, at) => decision.reasons[at] === reason);
  const carried = shownBecause('carried');
  const pinned = shownBecause('pinned');
  const forced = [...carried, ...pinned];
  const k = decision.budget?.limit ?? decision.k - pinned.length;
  if (decision.exploration !== 'plackett-luce' || k < 1 || forced.length >= count) return 'unexplored';
  // Where no tool was worth its tokens, there was no draw.
  if (decision.budget !== undefined && decision.columns.propensity.every((p) => p === 0 || p === 1)) {
    return 'unexplored';
  }
  const slots = new Int32Array(count);
  for (let index = 0; index < count; index++) {
    const slot = state.tools.find(decision.candidates[index])?.slot;
    if (slot === undefined) return 'toolGone';
    slots[index] = slot;
  }
  const free = forced.length === 0 ? null : [...slots.keys()].filter((index) => !forced.includes(index));
  return { decision, slots, free, k, budget: budgetOf(decision, carried, pinned, state) };
}

function budgetOf(
  { budget, instructions, carried: before }: Decision,
  carried: readonly number[],
  pinned: readonly number[],
  state: CatalogState,
): EvaluatedBudget | null {
  if (budget === undefined) return null;
  const tokens = Float64Array.from(budget.tokens);
  for (const index of carried) tokens[index] = 0;
  const { shown = [], limit = 0 } = instructions ?? {};
  const kept = shown.filter((index) => before?.instructions.includes(instructions!.ids[index]));
  const costs = Float64Array.from(instructions?.tokens ?? []);
  for (const index of kept) costs[index] = 0;
  const gain = Float64Array.from(instructions?.gain ?? []);
  return {
    ...{ room: budget.room, tokens, forced: [...carried, ...pinned], vectors: state.tools.vectors },
    goesOn: before !== undefined && !before.restarted,
    instructions: { gain, score: explorationScores(gain), tokens: costs, forced: kept, limit },
  };
}

/** Gives policies the candidates of one slate after the other, in arrays that are used again. */
export class SlateCandidates {
  readonly #byCount = new Map<number, Candidates>();

  /**
   * Valid until the next call.
   * @param merges which slots are ranked as one in decisions that had merged tools
   */
  of({ decision, slots }: EvaluatedSlate, merges: SlotPools): Candidates {
    const candidates = this.#ofCount(slots.length);
    const { lexical, dense, retrieval, similarity } = decision.columns;
    candidates.slots.set(slots);
    candidates.lexical.set(lexical);
    candidates.dense.set(dense);
    candidates.base.set(retrieval);
    candidates.similarity.set(similarity);
    return decision.merged === undefined ? candidates : { ...candidates, pools: merges };
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
