import type { Evaluation } from './evaluation.ts';

/** An evaluation as it is kept. */
export interface StoredEvaluation {
  readonly evaluation: Evaluation;
  /** While it is under way: until when the process that works on it is taken to live; ms since the epoch. */
  readonly aliveUntil: number;
}

/** Evaluations of all catalogs. Contract: tests/contracts/evaluation-store.contract.ts. */
export interface EvaluationStore {
  /** Whether several processes work with it: then one that is under way may be another's. */
  readonly shared: boolean;
  /**
   * Durable when it resolves. What has ended does not change any more: answers false then, and nothing is written.
   * Of those that have ended the newest of a catalog are kept.
   */
  save(stored: StoredEvaluation): Promise<boolean>;
  /** Null when unknown, whatever the id looks like. */
  get(catalog: string, id: string): Promise<StoredEvaluation | null>;
  /** Newest first. */
  list(catalog: string): Promise<readonly StoredEvaluation[]>;
  /** Forgets those of a catalog. */
  remove(catalog: string): Promise<void>;
}

/** Evaluations that are kept of each catalog. */
export const KEPT_EVALUATIONS = 100;

export function newestFirst(stored: readonly StoredEvaluation[]): StoredEvaluation[] {
  return [...stored].sort((a, b) => (a.evaluation.createdAt < b.evaluation.createdAt ? 1 : -1));
}
