import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import type { DecisionLogs } from '../decisions/decision-log.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import { type Job, JobElsewhereError, type JobQueue, UnrecoverableJobError } from '../queue/job-queue.ts';
import { isSamePolicy } from '../state/policy-settings.ts';
import type { Evaluation, EvaluationResult } from './evaluation.ts';
import type { EvaluationStore, StoredEvaluation } from './evaluation-store.ts';
import { Replay } from './replay.ts';
import { replayLedger, spanOf } from './replay-ledger.ts';

export interface EvaluationWorkerParts {
  readonly queue: JobQueue;
  readonly catalogs: Pick<Catalogs, 'find'>;
  readonly decisionLogs: DecisionLogs;
  readonly store: EvaluationStore;
  readonly kernels: Kernels;
  /** ms since the epoch. */
  now(): number;
  /** ms of a clock that never jumps. */
  steadyNow(): number;
  onError(message: string, error: unknown): void;
}

/** Works so long at a time, then pauses for as long, so that requests are answered. */
const SLICE_MS = 4;
const PAUSE_MS = 4;
/** How often progress is stored, and how soon a cancellation is seen. */
const SAVE_EVERY_MS = 1_000;
/** An evaluation whose process died so often while it ran may be the cause. */
const MAX_INTERRUPTIONS = 3;

const EVALUATION_JOB = 'evaluation';
const evaluationJob = z.object({ catalog: z.string(), id: z.string() });

/** Returns the job that runs a stored evaluation. */
export function evaluationJobOf({ catalog, id }: Evaluation): Job {
  return { name: EVALUATION_JOB, id, payload: { catalog, id } };
}

/** Runs evaluations as jobs of the queue, one at a time in each process that has replicas. */
export function startEvaluationWorker(parts: EvaluationWorkerParts): void {
  const handler = async (job: Job, stop: AbortSignal): Promise<void> => {
    const { success, data } = evaluationJob.safeParse(job.payload);
    if (!success) throw new UnrecoverableJobError(`job ${job.id} has a payload of another version`);
    const stored = await parts.store.get(data.catalog, data.id);
    if (stored === null || stored.evaluation.endedAt !== null) return;
    const catalog = parts.catalogs.find(data.catalog);
    if (catalog === undefined) throw new JobElsewhereError(`catalog "${data.catalog}" is not open here`);
    await new EvaluationRun(stored, catalog, parts, stop).run();
  };
  parts.queue.process(EVALUATION_JOB, handler, { concurrency: 1 });
}

/** Thrown when the evaluation was cancelled or ended by another process, or its catalog was deleted: the run stops. */
class EvaluationOverError extends Error {
  override readonly name = 'EvaluationOverError';
}

/**
 * Runs one evaluation, always from its beginning, and stores its progress. A run learns that it was cancelled when the store
 * refuses to save progress, because the evaluation has ended.
 */
class EvaluationRun {
  readonly #catalog: Catalog;
  readonly #parts: EvaluationWorkerParts;
  readonly #stop: AbortSignal;
  #stored: StoredEvaluation;
  #savedAt = 0;

  constructor(stored: StoredEvaluation, catalog: Catalog, parts: EvaluationWorkerParts, stop: AbortSignal) {
    this.#stored = stored;
    this.#catalog = catalog;
    this.#parts = parts;
    this.#stop = stop;
  }

  /** Runs it to its end. @throws an error that makes the job run again: the queue closes, or a store is away */
  async run(): Promise<void> {
    const { evaluation } = this.#stored;
    try {
      await this.#begin();
      await this.#end(await this.#replayed());
    } catch (error) {
      if (error instanceof EvaluationOverError) return;
      const runsAgain = error === this.#stop.reason || isStoreAway(error);
      // While the store is away the evaluation stays as it is stored, and counts as interrupted.
      if (runsAgain) await this.#save({ status: 'queued', progress: 0 }).catch(() => {});
      if (runsAgain) throw error;
      this.#parts.onError(`evaluation ${evaluation.id} failed`, error);
      await this.#end({ status: 'failed', reason: (error as Error).message });
    }
  }

  async #begin(): Promise<void> {
    const { evaluation, interruptions } = this.#stored;
    if (evaluation.status === 'running') {
      this.#stored = { ...this.#stored, interruptions: interruptions + 1 };
    }
    if (this.#stored.interruptions >= MAX_INTERRUPTIONS) {
      const reason = `It was interrupted ${MAX_INTERRUPTIONS} times before it was done: the process ended, or its store was away. Start it again; if it fails again, with fewer candidates.`;
      await this.#end({ status: 'failed', reason });
      throw new EvaluationOverError();
    }
    await this.#save({ status: 'running', progress: 0 });
  }

  async #end(how: Partial<Evaluation>): Promise<void> {
    const endedAt = new Date(this.#parts.now()).toISOString();
    await this.#save({ ...how, endedAt }).catch((error) => {
      if (!(error instanceof EvaluationOverError)) throw error;
    });
  }

  /** @throws EvaluationOverError */
  async #save(change: Partial<Evaluation>): Promise<void> {
    const { store, steadyNow } = this.#parts;
    this.#savedAt = steadyNow();
    this.#stored = { ...this.#stored, evaluation: { ...this.#stored.evaluation, ...change } };
    if (this.#catalog.closed.aborted || !(await store.save(this.#stored))) throw new EvaluationOverError();
  }

  async #replayed(): Promise<Partial<Evaluation>> {
    const { decisionLogs, kernels, steadyNow } = this.#parts;
    const { ledger, replica, name } = this.#catalog;
    const { evaluation, alpha } = this.#stored;
    const { candidates, learnShare } = evaluation;
    const log = await decisionLogs.find(name);
    const span = await spanOf(ledger);
    const learnUntil =
      learnShare === 1 ? undefined : span.start + Math.floor(learnShare * (span.end - span.start));
    const context = { kernels, derived: true };
    const replay = await replica.readConsistent(
      (state) => new Replay(state, candidates, context, { alpha, learnUntil }),
    );
    let sliceStart = steadyNow();
    const rest = async (progress: number): Promise<void> => {
      await wait(PAUSE_MS);
      this.#stop.throwIfAborted();
      if (steadyNow() - this.#savedAt > SAVE_EVERY_MS) await this.#save({ progress, ...countsOf(replay) });
      sliceStart = steadyNow();
    };
    try {
      await replayLedger(replay, { ledger, log }, span, (progress) =>
        steadyNow() - sliceStart < SLICE_MS ? null : rest(progress),
      );
      return resultOf(replay, this.#catalog.state.settings.policy);
    } finally {
      replay.free();
    }
  }
}

function countsOf(replay: Replay): Pick<Evaluation, 'decisions' | 'skipped'> {
  return { decisions: replay.decisions, skipped: { ...replay.skipped } };
}

/** Returns the results of a replay, with the winner. @param active the policy of the catalog */
function resultOf(replay: Replay, active: PolicySettings): Partial<Evaluation> {
  const results = replay.results();
  const counts = { ...countsOf(replay), progress: 1 };
  if (replay.decisions === 0) return { status: 'refused', reason: whyNothing(replay), ...counts };
  const candidates = results.filter(({ kind }) => kind === 'candidate');
  const judged = candidates.filter(({ refusal }) => refusal === null);
  if (judged.length > 0) return { status: 'done', results, ...winnerOf(judged, active), ...counts };
  return { status: 'refused', results, reason: candidates[0].refusal, ...counts };
}

/** Returns the best of the candidates that are surely better than what ran, or why there is none. */
export function winnerOf(
  judged: readonly Pick<EvaluationResult, 'name' | 'policy' | 'estimates' | 'difference'>[],
  active: PolicySettings,
): Pick<Evaluation, 'winner' | 'reason'> {
  const value = ({ estimates }: (typeof judged)[number]) =>
    estimates.find(({ estimator }) => estimator === 'dr')?.value ?? Number.NEGATIVE_INFINITY;
  const [best] = judged
    .filter(({ difference }) => difference !== null && difference.lower > 0)
    .sort((a, b) => value(b) - value(a));
  if (best === undefined) return { winner: null, reason: 'No candidate is surely better than what ran.' };
  if (best.policy === null || !isSamePolicy(best.policy, active)) return { winner: best.name, reason: null };
  return { winner: null, reason: `"${best.name}" did best, and it is the policy of the catalog already.` };
}

const REASONS: readonly [keyof Replay['skipped'], string][] = [
  ['otherEmbedder', 'were logged with another embedding model, and what it learned cannot be compared'],
  ['unexplored', 'were served without drawing, so they have no propensities: log with exploration'],
  ['fallback', 'were fallbacks'],
  ['toolGone', 'had candidates that are forgotten by now'],
  ['decisionGone', 'have expired'],
  ['forLearning', 'were for learning alone: lower `learnShare`, or wait for more'],
];

function whyNothing({ skipped }: Replay): string {
  const parts = REASONS.filter(([kind]) => skipped[kind] > 0).map(([kind, why]) => `${skipped[kind]} ${why}`);
  if (parts.length === 0) return 'No decision with a reward has been logged.';
  return `Of the decisions with rewards, ${parts.join('; ')}.`;
}
