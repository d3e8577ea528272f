import { float64Columns } from '../columns.ts';
import type { Candidates, Recall } from '../policy.ts';
import { pooledRecall } from '../pooled-recall.ts';
import type { SlotRows } from '../slot-rows.ts';
import type { TaughtVectors } from '../taught/taught-vectors.ts';
import type { CallCounts } from './call-counts.ts';

/**
 * The extra features of `sc-linucb-memory`, by learning.md's names: h and c, the two halves of the retrieval
 * score; mx, the similarity of the nearest case in which the tool did well; vote, the memory's nomination; rho,
 * the local success rate; rate, the success rate of all its calls; taught, the score of its taught vector.
 */
export const MEMORY_FEATURES = ['h', 'c', 'mx', 'vote', 'rho', 'rate', 'taught'] as const;

/** Trials that the retrieval score counts for in rho, and how it is read as a success rate. */
const RHO_TRIALS = 0.5;
const RHO_RATE = 0.5;

const NO_MEMBERS: readonly number[] = [];

/** Scratch of one policy. */
export interface RecallRows {
  readonly memory: SlotRows;
  readonly taught: SlotRows;
}

export interface MemoryFeatures {
  /** Row-major, MEMORY_FEATURES and behind them room for what else is in a row; float32, as they are logged and learned. */
  readonly features: Float32Array;
  /** w_a·ψ(q), float64; 0 for a tool that was taught nothing. */
  readonly taught: Float64Array;
  /** θ₀ᵀx, float64. */
  readonly base: Float64Array;
  /** n: remembered trials near the query. */
  readonly trials: Float64Array;
}

/**
 * Features and θ₀ᵀx of all candidates.
 *
 * The base is taken from the float64 values in an order that keeps a promise: h + c is exactly 2g (or g, without
 * an embedder), and with an empty memory rho is exactly g/2, so θ₀ᵀx is a monotone function of g, rounding
 * included. On day 0 the greedy order therefore is the retrieval order, ties and near-ties alike. How far to trust
 * taught vectors is learned: their weight in θ₀ is 0.
 *
 * @param rows scratch, to find slots in what memory and what taught vectors recall
 * @param width of a row, at least that of MEMORY_FEATURES
 */
export function memoryFeatures(
  { slots, lexical, dense, base: retrieval, pools }: Candidates,
  recalled: Recall,
  calls: CallCounts,
  vectors: TaughtVectors,
  theta0: readonly number[],
  rows: RecallRows,
  width: number,
): MemoryFeatures {
  const [retrievalWeight, , mxWeight, voteWeight, rhoWeight, rateWeight] = theta0;
  const recall = pools === undefined ? recalled : pooledRecall(recalled, pools);
  rows.memory.read(recall.slots);
  if (pools !== undefined) rows.taught.read(recall.taught.slots);
  const features = new Float32Array(slots.length * width);
  const [base, trials, taught] = float64Columns(slots.length, 3);
  for (let i = 0; i < slots.length; i++) {
    const row = rows.memory.of(slots[i]);
    const positives = row < 0 ? 0 : recall.positives[row];
    const n = row < 0 ? 0 : recall.trials[row];
    const mx = row < 0 ? 0 : recall.nearest[row];
    const vote = row < 0 ? 0 : recall.votes[row];
    const rho = (positives + RHO_TRIALS * RHO_RATE * retrieval[i]) / (n + RHO_TRIALS);
    const members = pools?.membersOf(slots[i]) ?? NO_MEMBERS;
    const rate = members.length === 0 ? calls.rate(slots[i]) : calls.rateOf(members);
    const taughtRow = pools === undefined ? vectors.rowOf(slots[i]) : rows.taught.of(slots[i]);
    if (taughtRow >= 0) taught[i] = recall.taught.values[taughtRow];
    const at = i * width;
    features[at] = lexical[i];
    features[at + 1] = dense[i];
    features[at + 2] = mx;
    features[at + 3] = vote;
    features[at + 4] = rho;
    features[at + 5] = rate;
    features[at + 6] = taught[i];
    base[i] =
      retrievalWeight * (lexical[i] + dense[i]) +
      rhoWeight * rho +
      mxWeight * mx +
      voteWeight * vote +
      rateWeight * rate;
    trials[i] = n;
  }
  return { features, taught, base, trials };
}
