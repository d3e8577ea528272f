import { randomUUID } from 'node:crypto';
import type { Catalogs } from '../catalog/catalogs.ts';
import { Problem } from '../errors/problem.ts';
import type { ExperimentDraft } from '../experiments/experiment-draft.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import type { Candidate, Evaluation } from './evaluation.ts';
import { candidatesOf, type EvaluationDraft } from './evaluation-draft.ts';
import { EVALUATION_FORMAT, type EvaluationStore, newestFirst } from './evaluation-store.ts';
import { evaluationJobOf } from './run-evaluation.ts';

export interface EvaluationParts {
  readonly catalogs: Pick<Catalogs, 'holding'>;
  readonly store: EvaluationStore;
  readonly queue: JobQueue;
  /** ms since the epoch. */
  now(): number;
}

/**
 * Creates, lists and cancels evaluations. Each is stored when it is created and run by a job of the queue
 * (`run-evaluation.ts`), in this process or another one, which keeps its progress and results in the store.
 */
export class Evaluations {
  readonly #parts: EvaluationParts;

  constructor(parts: EvaluationParts) {
    this.#parts = parts;
  }

  /** Stores an evaluation and enqueues its job. @throws Problem validation-failed or unknown-policy; StoreUnavailableError */
  create(catalog: string, draft: EvaluationDraft): Promise<Evaluation> {
    return this.#parts.catalogs.holding(catalog, async (open) => {
      const evaluation: Evaluation = {
        id: randomUUID(),
        catalog,
        status: 'queued',
        createdAt: this.#time(),
        endedAt: null,
        progress: 0,
        candidates: candidatesOf(draft, open),
        learnShare: draft.learnShare ?? 1,
        decisions: 0,
        skipped: {
          unexplored: 0,
          fallback: 0,
          otherEmbedder: 0,
          toolGone: 0,
          decisionGone: 0,
          forLearning: 0,
        },
        results: [],
        winner: null,
        reason: null,
      };
      // In this order: the job reads what is stored.
      await this.#save(evaluation, draft.alpha);
      await this.#enqueue(evaluation);
      return evaluation;
    });
  }

  /** Returns the evaluations of a catalog, newest first. */
  list(catalog: string): Promise<Evaluation[]> {
    return this.#parts.catalogs.holding(catalog, async () => {
      const stored = await this.#parts.store.list(catalog);
      return newestFirst(stored).map(({ evaluation }) => evaluation);
    });
  }

  /** @throws Problem evaluation-not-found */
  get(catalog: string, id: string): Promise<Evaluation> {
    return this.#parts.catalogs.holding(catalog, async () => {
      const stored = await this.#parts.store.get(catalog, id);
      if (stored !== null) return stored.evaluation;
      throw new Problem(
        'evaluation-not-found',
        `Catalog "${catalog}" has no evaluation "${id}".`,
        'The newest hundred evaluations of a catalog are kept.',
      );
    });
  }

  /** Cancels an evaluation; the process that runs it stops within a second. @throws Problem evaluation-conflict when it has ended */
  cancel(catalog: string, id: string): Promise<Evaluation> {
    return this.#parts.catalogs.holding(catalog, async () => {
      const cancelled = {
        ...(await this.get(catalog, id)),
        status: 'cancelled',
        endedAt: this.#time(),
      } as const;
      if (await this.#save(cancelled)) return cancelled;
      const { status } = await this.get(catalog, id);
      throw new Problem(
        'evaluation-conflict',
        `Evaluation "${id}" has ended (${status}).`,
        'Only evaluations that are queued or running can be cancelled.',
      );
    });
  }

  /** Returns the winner, with which an experiment can start. @throws Problem evaluation-conflict when there is none. */
  async winnerOf(catalog: string, id: string): Promise<Candidate> {
    const view = await this.get(catalog, id);
    const winner = view.candidates.find(({ name }) => name === view.winner);
    if (winner !== undefined) return winner;
    throw new Problem(
      'evaluation-conflict',
      `Evaluation "${id}" has no winner: it is ${view.status}${view.reason === null ? '' : ` (${view.reason})`}.`,
      'Wait until it is done, or name a policy yourself.',
    );
  }

  /**
   * Returns the draft with the winner of an evaluation in every challenger that names no policy.
   * @throws Problem evaluation-conflict, validation-failed
   */
  async apply(catalog: string, id: string, draft: ExperimentDraft): Promise<ExperimentDraft> {
    const winner = await this.winnerOf(catalog, id);
    const against = draft.against ?? draft.variants.find(({ mode }) => mode !== 'shadow')?.name;
    const isMeant = ({ name, policy }: ExperimentDraft['variants'][number]): boolean =>
      policy === undefined && name !== against;
    if (!draft.variants.some(isMeant)) {
      const message =
        'Every challenger has a policy already: there is no variant for the winner of the evaluation.';
      throw new Problem('validation-failed', message, 'Leave the policy of one variant out.', {
        violations: [{ path: 'applyFromEvaluation', message }],
      });
    }
    const variants = draft.variants.map((variant) =>
      isMeant(variant) ? { ...variant, policy: winner.policy } : variant,
    );
    return { ...draft, variants };
  }

  /** Enqueues the job. If that fails, or it is not known whether it did, the evaluation ends: without a job it would wait for ever. */
  async #enqueue(evaluation: Evaluation): Promise<void> {
    try {
      await this.#parts.queue.add([evaluationJobOf(evaluation)]);
    } catch (error) {
      const reason = `No job could be enqueued for it: ${(error as Error).message}`;
      await this.#save({ ...evaluation, status: 'failed', endedAt: this.#time(), reason }).catch(() => {});
      throw error;
    }
  }

  /** Stores an evaluation; returns false, and writes nothing, when it has ended. */
  #save(evaluation: Evaluation, alpha = 0.05): Promise<boolean> {
    const { store } = this.#parts;
    return store.save({ version: EVALUATION_FORMAT, evaluation, alpha, interruptions: 0 });
  }

  #time(): string {
    return new Date(this.#parts.now()).toISOString();
  }
}
