import type { Random } from './random.ts';
import type { Ridge } from './ridge/ridge.ts';
import type { SparseVector } from './sparse-vector.ts';

/**
 * What every policy is: a way to score candidates, and a way to learn from what became of them. Numbers in,
 * numbers out. Tools are known here by their **slot**, the row of the tool in `ToolVectors`; names live outside.
 *
 * Choosing never mutates anything that is canonical; only the learning half does, and only the fold calls it.
 */
export interface Policy extends Ranker, Learner {}

/** The query, in the two forms in which it is compared with anything. */
export interface QueryFeatures {
  /** Unit vector of D dimensions, or null when there is no embedder. */
  readonly embedding: Float32Array | null;
  /** Unit tf–idf vector of the query's tokens. */
  readonly terms: SparseVector;
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
}

/** What outcome memory has to say about a query; empty for policies without one. */
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
  /** What taught vectors say about the query. */
  readonly taught: TaughtScores;
}

export type MemoryRecall = Omit<Recall, 'taught'>;

/** w·ψ(q) by row of the taught vectors; both arrays have the same length. */
export interface TaughtScores {
  /** −1 for a row that no tool has. */
  readonly slots: Int32Array;
  readonly values: Float64Array;
}

/** What one term adds to w·ψ(q). */
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
  /** u: what is drawn from, before any exploration noise. */
  readonly score: Float64Array;
  /** θᵀx: the expected reward, without any bonus. Greedy choice uses this alone. */
  readonly mean: Float64Array;
  /** θ₀ᵀx: what retrieval and memory alone would say (the score before anything was learned). */
  readonly base: Float64Array;
  /** (θ − θ₀)ᵀx: the learned part, Δ. */
  readonly gain: Float64Array;
  /** √(xᵀA⁻¹x). */
  readonly uncertainty: Float64Array;
  /** What was added for exploration, α·uncertainty included. */
  readonly bonus: Float64Array;
  /** n: weighted number of remembered outcomes of the tool near this query; 0 without a memory. */
  readonly trials: Float64Array;
  /** What has to be logged for learning, row-major n × extras.length. */
  readonly features: Float32Array;
}

/** What one remembered case knows about one tool: P and N, the sum of rewards and of what they lacked to 1. */
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

/** The reading half. */
export interface Ranker {
  readonly name: string;
  /**
   * Names of what is logged of each candidate, in the order of `Ranking.features`: the features of x beyond
   * [q; φ; sim; 1], and what else learning needs to know of the time of the decision.
   */
  readonly extras: readonly string[];
  recall(query: QueryFeatures): Recall;
  /** What a recalled case knows, tool by tool; empty when it is gone. */
  caseCounts(caseId: number): readonly CaseCount[];
  /** How far the words of a query speak for this tool, or against it, by what it was taught; empty: nothing was. */
  taughtTerms(query: QueryFeatures, slot: number): readonly TermShare[];
  /** What `rank` would log of these candidates, row-major n × extras.length, as far as it is known without θ. */
  features(query: QueryFeatures, candidates: Candidates, recall: Recall): Float32Array;
  rank(request: RankingRequest): Ranking;
  /** A hint to a frozen policy: these queries are ranked next, and what concerns them alone can be computed together. */
  prepare(queries: readonly QueryFeatures[]): void;
}

/** One tool of one decision as the learner sees it: the query, the tool, and what was logged of both. */
export interface Example {
  readonly query: QueryFeatures;
  readonly slot: number;
  /** e(q)·φ, −1…1. */
  readonly similarity: number;
  /** The tool's row of `Ranking.features`. */
  readonly extras: Float32Array;
}

/** What became of one shown tool, as outcome memory keeps it. */
export interface CaseOutcome {
  readonly slot: number;
  /** 0…1. */
  readonly reward: number;
  /** It counts as so many outcomes; 1 if absent. */
  readonly weight?: number;
}

/** The writing half. All methods are deterministic: same calls in the same order, same bits. */
export interface Learner {
  /** A += w·x·xᵀ, b += w·r·x; θ and A⁻¹ follow. r in 0…1, w > 0. @throws RangeError on NaN or ±∞. */
  learn(example: Example, reward: number, weight: number): void;
  /** b += w·(to − from)·x: a reward that was learned before turns out to be another one. */
  correct(example: Example, from: number, to: number, weight: number): void;
  /** A call had this outcome: calls += w, successes += w·reward. w > 0. */
  countCall(slot: number, reward: number, weight: number): void;
  /** The successes of a counted call changed by this much, weight included. */
  recountCall(slot: number, delta: number): void;
  /** Writes a closed decision into memory and answers the case it went to (−1 without a memory). */
  remember(query: QueryFeatures, outcomes: readonly CaseOutcome[], at: number, unit: number): number;
  /** Takes earlier counts of one tool in one case back, or adds to them, for this unit; never below zero. */
  amend(caseId: number, slot: number, positives: number, negatives: number, unit: number): void;

  /** A tool took this slot: it starts with no calls, and the vectors at this slot are new. */
  addTool(slot: number): void;
  /** The vector at this slot changed; `similarity` is the cosine between the old and the new one. */
  changeTool(slot: number, similarity: number): void;
  /** Forgets everything about the tool at this slot (its tombstone expired). */
  forgetTool(slot: number): void;
  /** Forgets every case in which this unit (a hash) took part; answers how many. */
  forgetUnit(unit: number): number;

  /** It will learn no more: `rank` may prepare for that, and answers the same to about 1e-12. Learning may throw. */
  freeze(): void;
  /** The canonical state, and only that, as named arrays; derived values are rebuilt by the reader. */
  save(): LearnerState;
  sizeInBytes(): LearnerSize;
  /** The ridges whose inverse wears with many updates; somebody with a thread renews them now and then. */
  ridges(): readonly Ridge[];
  /** Gives kernel memory back; the policy cannot be used afterwards. */
  free(): void;
}

export interface LearnerState {
  readonly policy: string;
  readonly numbers: Readonly<Record<string, number>>;
  readonly arrays: Readonly<Record<string, Float64Array | Float32Array | Int32Array | Uint32Array>>;
}

export interface LearnerSize {
  readonly matrices: number;
  readonly perTool: number;
  readonly memory: number;
  readonly cases: number;
  readonly updates: number;
}
