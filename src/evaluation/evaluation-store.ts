import type { Evaluation } from './evaluation.ts';

export const EVALUATION_FORMAT = 3;

/** An evaluation as it is kept. */
export interface StoredEvaluation {
  readonly version: typeof EVALUATION_FORMAT;
  readonly evaluation: Evaluation;
  /** Probability that an interval misses the true value. */
  readonly alpha: number;
  /** How often its process died while it was running. */
  readonly interruptions: number;
}

/** Keeps the evaluations of all catalogs. Contract: tests/contracts/evaluation-store.contract.ts. */
export interface EvaluationStore {
  /**
   * Stores an evaluation; durable when it resolves. Returns false, and writes nothing, when the stored one has ended. Of those
   * that have ended the newest hundred of a catalog are kept.
   */
  save(stored: StoredEvaluation): Promise<boolean>;
  /** Returns an evaluation; null when there is none with this id, also for an id that is malformed. */
  get(catalog: string, id: string): Promise<StoredEvaluation | null>;
  /** Returns the evaluations of a catalog, newest first. */
  list(catalog: string): Promise<readonly StoredEvaluation[]>;
  /** Deletes the evaluations of a catalog. */
  remove(catalog: string): Promise<void>;
}

/** Evaluations that are kept of each catalog. */
export const KEPT_EVALUATIONS = 100;

/** Parses a stored evaluation. @throws Error when another version of Bandolier has written it. */
export function parseEvaluation(text: string): StoredEvaluation {
  const stored: StoredEvaluation = JSON.parse(text);
  if (stored.version === EVALUATION_FORMAT) return stored;
  throw new Error(
    `An evaluation is stored in format ${stored.version ?? 1}, and this version of Bandolier reads format ${EVALUATION_FORMAT}: use the version that wrote it, or delete the evaluation.`,
  );
}

export function newestFirst(stored: readonly StoredEvaluation[]): StoredEvaluation[] {
  return [...stored].sort((a, b) => (a.evaluation.createdAt < b.evaluation.createdAt ? 1 : -1));
}
