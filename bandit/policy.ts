import type { Random } from './random.ts';
import type { Ridge } from './ridge/ridge.ts';
import type { SparseVector } from './sparse-vector.ts';

/**
 * Every policy scores candidates and learns from their outcomes. Its inputs and outputs are numbers. A tool is identified by
 * its **slot**, the row of the tool in `ToolVectors`; policies do not know names.
 *
 * Scoring never changes the canonical state; only the learning methods do, and only the fold calls them.
 */
export interface Policy extends Ranker, Learner {}

/** The query in the two forms in which it is compared: an embedding and terms. */
export interface QueryFeatures {
  /** Unit vector of D dimensions, or null when there is no embedder. */
  readonly embedding: Float32Array | null;
  /** Unit tf–idf vector of the query's tokens. */
  readonly terms: SparseVector;
  /** The items that were chosen of its user's context; absent: it names no user, or nothing was chosen. */
  readonly context?: ChosenContext | undefined;
}

/** The largest length of `ChosenContext.features`. */
export const CONTEXT_NUMBERS = 16;

/** The items that were chosen of a user's context for a query, as numbers. */
export interface ChosenContext {
  /** Number of the user, as learners know units. */
  readonly unit: number;
  /** When it was chosen, in ms since the epoch. */
  readonly at: number;
  /** Items of the user, the best first, by numbers of 0 or more that mean nothing without the user's key. */
  readonly items: readonly { readonly number: number }[];
  /** What is known of the choice as a whole, 0…1 each, at most `CONTEXT_NUMBERS`. */
  readonly features: ArrayLike<number>;
}

/** The n candidates of one request, column by column; every array has length n unless said. */
export interface Candidates {
  readonly slots: Int32Array;
  /** h: BM25 over its maximum in the catalog, 0…1. */
  readonly lexical: Float64Array;
  /** c: cosine, min–max over the catalog, 0…1. */
  readonly dense: Float64Array;
  /** g: the retrieval score, 0…1. */
  readonly base: Float64Array;
  /** e(q)·φ: the cosine itself, −1…1 (0 without an embedder). */
  readonly similarity: Float64Array;
  /** Candidates that stand for several slots; absent: none does. */
  readonly pools?: SlotPools;
  /** The scores of a reranker, with which h, c and g are mixed; absent: there was none. */
  readonly reranked?: RerankedColumns;
}

/**
 * Slots that are ranked as one: of a merged tool, which is served at the slot of its representative, what was learned of all members counts
 * together. Only reading goes by this: what is learned stays at the slot where it was learned.
 */
export interface SlotPools {
  /** Number of slots that are in any pool. */
  readonly size: number;
  /** Returns the slot that is ranked for this one: itself, unless it is in a pool. */
  representativeOf(slot: number): number;
  /** Returns the slots that are ranked at this one, itself among them; none: it is no representative. */
  membersOf(slot: number): readonly number[];
}

/** The columns that a reranker gives. */
export interface RerankedColumns {
  /** r: the reranker's score, min–max over the tools that it read, 0…1; 0 for others. */
  readonly score: Float64Array;
  /** h by words alone. */
  readonly lexical: Float64Array;
}

/** The outcomes of similar queries, from memory; empty for policies without one. */
export interface Recall {
  /** Slots with any remembered outcome near this query, and their statistics, column by column. */
  readonly slots: Int32Array;
  readonly positives: Float64Array;
  readonly trials: Float64Array;
  /** mx: similarity of the nearest case in which the tool did well. */
  readonly nearest: Float64Array;
  /** vote = positives / (trials + 1): what nominates a tool that retrieval did not find. */
  readonly votes: Float64Array;
  /** The nearest cases, best first: index into the memory and similarity. */
  readonly cases: readonly RecalledCase[];
  /** The scores of taught vectors for the query. */
  readonly taught: TaughtScores;
}

export type MemoryRecall = Omit<Recall, 'taught'>;

/** w·ψ(q) by row of the taught vectors; both arrays have the same length. */
export interface TaughtScores {
  /** −1 for a row that no tool has. */
  readonly slots: Int32Array;
  readonly values: Float64Array;
}

/** The contribution of one term to w·ψ(q). */
export interface TermShare {
  readonly term: number;
  readonly share: number;
}

export interface RecalledCase {
  readonly caseId: number;
  readonly similarity: number;
}

/** Scores of the n candidates, column by column. */
export interface Ranking {
  /** u: the score from which the slate is drawn, before exploration noise. */
  readonly score: Float64Array;
  /** θᵀx: the expected reward, without any bonus. Greedy choice uses this alone. */
  readonly mean: Float64Array;
  /** θ₀ᵀx: the score by retrieval and memory alone, before anything was learned. */
  readonly base: Float64Array;
  /** (θ − θ₀)ᵀx: the learned part, Δ. */
  readonly gain: Float64Array;
  /** √(xᵀA⁻¹x). */
  readonly uncertainty: Float64Array;
  /** The sum that was added for exploration, α·uncertainty included. */
  readonly bonus: Float64Array;
  /** n: weighted number of remembered outcomes of the tool near this query; 0 without a memory. */
  readonly trials: Float64Array;
  /** Features that have to be logged for learning, row-major n × extras.length. */
  readonly features: Float32Array;
}

/** Counts of one tool in one remembered case: P, the sum of rewards r, and N, the sum of 1 − r. */
export interface CaseCount {
  readonly slot: number;
  readonly positives: number;
  readonly negatives: number;
}

export interface RankingRequest {
  readonly query: QueryFeatures;
  readonly candidates: Candidates;
  readonly recall: Recall;
  /** Draws keyed by the decision id; Thompson sampling uses them, the others do not. */
  readonly random: Random;
}

/** The methods that read. */
export interface Ranker {
  readonly name: string;
  /**
   * Names of the values that are logged of each candidate, in the order of `Ranking.features`: the features of x beyond
   * [q; φ; sim; 1], and other values of the time of the decision that learning needs.
   */
  readonly extras: readonly string[];
  recall(query: QueryFeatures): Recall;
  /** Returns the counts of a recalled case by tool; empty when the case is gone. */
  caseCounts(caseId: number): readonly CaseCount[];
  /** Returns how much each word of a query raises or lowers the score of the taught vector of this tool; empty if it has none. */
  taughtTerms(query: QueryFeatures, slot: number): readonly TermShare[];
  /** Returns the features that `rank` would log of these candidates, row-major n × extras.length, as far as they do not need θ. */
  features(query: QueryFeatures, candidates: Candidates, recall: Recall): Float32Array;
  rank(request: RankingRequest): Ranking;
  /** Tells a frozen policy which queries are ranked next, so that it can compute what depends on the queries alone for all of them. */
  prepare(queries: readonly QueryFeatures[]): void;
}

/** One example for the learner: the query, the tool, and what was logged of both. */
export interface Example {
  readonly query: QueryFeatures;
  readonly slot: number;
  /** e(q)·φ, −1…1. */
  readonly similarity: number;
  /** The tool's row of `Ranking.features`. */
  readonly extras: Float32Array;
}

/** The outcome of one shown tool, as outcome memory keeps it. */
export interface CaseOutcome {
  readonly slot: number;
  /** 0…1. */
  readonly reward: number;
  /** Weight, in outcomes; 1 if absent. */
  readonly weight?: number;
}

/** The methods that learn. All are deterministic: the same calls in the same order give the same bits. */
export interface Learner {
  /** Learns an outcome: A += w·x·xᵀ, b += w·r·x; θ and A⁻¹ follow. r in 0…1, w > 0. @throws RangeError on NaN or ±∞. */
  learn(example: Example, reward: number, weight: number): void;
  /** Corrects a reward that was learned before: b += w·(to − from)·x. */
  correct(example: Example, from: number, to: number, weight: number): void;
  /** Counts the outcome of a call: calls += w, successes += w·reward. w > 0. */
  countCall(slot: number, reward: number, weight: number): void;
  /** Corrects the successes of a counted call by this much, weight included. */
  recountCall(slot: number, delta: number): void;
  /** Adds a closed decision to memory and returns the id of its case (−1 without a memory). */
  remember(query: QueryFeatures, outcomes: readonly CaseOutcome[], at: number, unit: number): number;
  /** Corrects the counts of one tool in one case by these amounts, for this unit; no count falls below zero. */
  amend(caseId: number, slot: number, positives: number, negatives: number, unit: number): void;

  /** Starts a new tool at this slot, where there is a new vector: without calls. */
  addTool(slot: number): void;
  /** Takes in that the vector at this slot changes; `similarity` is the cosine between the old and the new one. */
  changeTool(slot: number, similarity: number): void;
  /** Forgets everything about the tool at this slot (its tombstone expired). */
  forgetTool(slot: number): void;
  /** Forgets every case in which this unit (a hash) took part, and its habits; returns how many there were, habits counting as one. */
  forgetUnit(unit: number): number;

  /** Ends learning, so that `rank` can be quicker; its scores stay the same to about 1e-12. Learning may throw afterwards. */
  freeze(): void;
  /** Returns the canonical state as named arrays; `load` rebuilds derived values. */
  save(): LearnerState;
  /** Saves with pauses, in which nothing may be learned. */
  saveInSteps(): Generator<void, LearnerState>;
  sizeInBytes(): LearnerSize;
  /** Returns the ridges whose inverse loses accuracy with many updates. It is computed again in a thread from time to time. */
  ridges(): readonly Ridge[];
  /** Frees kernel memory; the policy cannot be used afterwards. */
  free(): void;
}

/** The state of a learner: `save` returns it, and `load` takes it. */
export interface LearnerState {
  readonly policy: string;
  readonly numbers: Readonly<Record<string, number>>;
  readonly arrays: Readonly<Record<string, Float64Array | Float32Array | Int32Array | Uint32Array>>;
}

/** Size of a learner: bytes of its matrices, of what it keeps per tool, and of its memory; numbers of cases and updates. */
export interface LearnerSize {
  readonly matrices: number;
  readonly perTool: number;
  readonly memory: number;
  readonly cases: number;
  readonly updates: number;
}
