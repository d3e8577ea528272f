import type { OffPolicyReport } from '../../bandit/off-policy/off-policy-estimate.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';

/** An off-policy evaluation: what policies that never ran would have earned on decisions that were made. */
export interface Evaluation {
  readonly id: string;
  readonly catalog: string;
  readonly status: EvaluationStatus;
  readonly createdAt: string;
  readonly endedAt: string | null;
  /** 0…1. */
  readonly progress: number;
  readonly candidates: readonly Candidate[];
  /** Share of the log from which the candidates learn, 0…1; below 1 they are judged by the rest alone. */
  readonly learnShare: number;
  /** Decisions that were evaluated on, and why others were not. */
  readonly decisions: number;
  readonly skipped: SkippedDecisions;
  /** Candidates and baselines; empty until it is done. */
  readonly results: readonly EvaluationResult[];
  /**
   * The candidate with the largest doubly robust estimate of those that are surely better than what ran; null: there is none,
   * or it is the policy of the catalog already.
   */
  readonly winner: string | null;
  /** Why there is no estimate or no winner, or what went wrong. */
  readonly reason: string | null;
}

export type EvaluationStatus = 'queued' | 'running' | 'done' | 'refused' | 'cancelled' | 'failed';

export interface Candidate {
  readonly name: string;
  readonly policy: PolicySettings;
}

export interface SkippedDecisions {
  /** Served without drawing (`explore: false`, ucb, greedy): they have no propensities. */
  unexplored: number;
  /** Retrieval found nothing, the embedder was away, or the kill switch was on. */
  fallback: number;
  otherEmbedder: number;
  /** A tool among the candidates of the decision has been forgotten. */
  toolGone: number;
  /** The decision has expired. */
  decisionGone: number;
  /** Made before the candidates stopped to learn (`learnShare`). */
  forLearning: number;
}

export interface EvaluationResult extends OffPolicyReport {
  readonly name: string;
  readonly kind: 'candidate' | 'baseline';
  /** Null for baselines. */
  readonly policy: PolicySettings | null;
}
