import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import type { DecisionLogs } from '../decisions/decision-log.ts';
import type { ExperimentDraft } from '../experiments/experiment-draft.ts';
import { Problem } from '../problem.ts';
import { applyEvaluation } from './apply-evaluation.ts';
import type { Candidate, Evaluation } from './evaluation.ts';
import { candidatesOf, type EvaluationDraft } from './evaluation-draft.ts';
import { countsOf, outcomeOf } from './evaluation-outcome.ts';
import { type EvaluationStore, newestFirst, type StoredEvaluation } from './evaluation-store.ts';
import { Replay } from './replay.ts';
import { replayLedger, spanOf } from './replay-ledger.ts';

export interface EvaluationParts {
  readonly catalogs: Pick<Catalogs, 'get' | 'holding'>;
  readonly decisionLogs: DecisionLogs;
  readonly store: EvaluationStore;
  readonly kernels: Kernels;
  now(): number;
  /** ms of a clock that never jumps. */
  steadyNow(): number;
  onError(message: string, error: unknown): void;
}

/** One that this process works on. */
interface Job {
  view: Evaluation;
  /** When this is closed nothing of it is stored any more: it may be deleted, and there a new one of its name. */
  readonly of: Catalog;
  readonly alpha: number;
  readonly stop: AbortController;
}

/** Works so long at a time, then leaves the event loop to requests for as long. */
const SLICE_MS = 4;
const PAUSE_MS = 4;
const SAVE_EVERY_MS = 2_000;
/** Not heard of for so long, a process is taken for gone. Clocks of routers may differ by less. */
const ALIVE_MS = 30_000;
const INTERRUPTED = 'The process that worked on it ended before it was done. Start it again.';

/**
 * Evaluations as jobs in the background, one after the other in each process. What they found and how far they are is
 * stored: it is there after a restart, and for other processes. A job ends with its process, and says so.
 */
export class Evaluations {
  readonly #parts: EvaluationParts;
  /** Those that have not ended. */
  readonly #jobs = new Map<string, Job>();
  #running: Promise<void> = Promise.resolve();
  #savedAt = 0;

  constructor(parts: EvaluationParts) {
    this.#parts = parts;
  }

  create(catalog: string, draft: EvaluationDraft): Promise<Evaluation> {
    return this.#parts.catalogs.holding(catalog, async (open) => {
      const candidates = candidatesOf(draft, open);
      const view: Evaluation = {
        id: randomUUID(),
        catalog,
        status: 'queued',
        createdAt: new Date(this.#parts.now()).toISOString(),
        endedAt: null,
        progress: 0,
        candidates,
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
      const job = { view, of: open, alpha: draft.alpha ?? 0.05, stop: new AbortController() };
      this.#jobs.set(view.id, job);
      try {
        await this.#save(job);
      } catch (error) {
        this.#jobs.delete(view.id);
        throw error;
      }
      this.#running = this.#running.then(() => this.#run(job));
      return view;
    });
  }

  /** Newest first. */
  list(catalog: string): Promise<Evaluation[]> {
    return this.#parts.catalogs.holding(catalog, async () => {
      const stored = await this.#parts.store.list(catalog);
      return Promise.all(newestFirst(stored).map((one) => this.#now(one)));
    });
  }

  /** @throws Problem evaluation-not-found */
  get(catalog: string, id: string): Promise<Evaluation> {
    return this.#parts.catalogs.holding(catalog, async () => {
      const stored = await this.#parts.store.get(catalog, id);
      if (stored !== null) return this.#now(stored);
      throw new Problem(
        'evaluation-not-found',
        `Catalog "${catalog}" has no evaluation "${id}".`,
        'The newest hundred evaluations of a catalog are kept.',
      );
    });
  }

  /** Stops it where it is, in whichever process. @throws Problem evaluation-conflict when it has ended. */
  cancel(catalog: string, id: string): Promise<Evaluation> {
    return this.#parts.catalogs.holding(catalog, async () => {
      const view = await this.get(catalog, id);
      const job = this.#jobs.get(id);
      job?.stop.abort();
      const cancelled = this.#ended(job?.view ?? view, { status: 'cancelled' });
      const wasOpen =
        view.endedAt === null && (await this.#parts.store.save({ evaluation: cancelled, aliveUntil: 0 }));
      if (wasOpen) {
        this.#jobs.delete(id);
        return cancelled;
      }
      const { status } = await this.get(catalog, id);
      throw new Problem(
        'evaluation-conflict',
        `Evaluation "${id}" has ended (${status}).`,
        'Only evaluations that are queued or running can be cancelled.',
      );
    });
  }

  /** The policy to start an experiment with. @throws Problem evaluation-conflict when there is none. */
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

  /** The draft with the winner of an evaluation where it names no policy. @throws as above; Problem validation-failed */
  async apply(catalog: string, id: string, draft: ExperimentDraft): Promise<ExperimentDraft> {
    return applyEvaluation(draft, await this.winnerOf(catalog, id));
  }

  /** What is under way ends as interrupted. */
  async close(): Promise<void> {
    for (const job of this.#jobs.values()) job.stop.abort();
    await this.#running;
    for (const job of [...this.#jobs.values()]) {
      await this.#end(job, { status: 'failed', reason: INTERRUPTED });
    }
  }

  /** As it is now: newer here than in the store, or interrupted if nobody works on it. */
  async #now({ evaluation, aliveUntil }: StoredEvaluation): Promise<Evaluation> {
    const { store, now } = this.#parts;
    const job = this.#jobs.get(evaluation.id);
    if (job !== undefined) return job.view;
    if (evaluation.endedAt !== null || (store.shared && now() <= aliveUntil)) return evaluation;
    const interrupted = this.#ended(evaluation, { status: 'failed', reason: INTERRUPTED });
    if (await store.save({ evaluation: interrupted, aliveUntil: 0 })) return interrupted;
    return (await store.get(evaluation.catalog, evaluation.id))?.evaluation ?? interrupted;
  }

  #ended(view: Evaluation, how: Partial<Evaluation>): Evaluation {
    return { ...view, ...how, endedAt: new Date(this.#parts.now()).toISOString() };
  }

  async #end(job: Job, how: Partial<Evaluation>): Promise<void> {
    if (!this.#jobs.has(job.view.id)) return;
    const { store, onError } = this.#parts;
    job.view = this.#ended(job.view, how);
    try {
      if (!job.of.closed.aborted) await store.save({ evaluation: job.view, aliveUntil: 0 });
    } catch (error) {
      onError(`evaluation ${job.view.id} could not be stored`, error);
    }
    this.#jobs.delete(job.view.id);
  }

  /** Somebody else ended it: then it is stopped here. */
  async #save(job: Job): Promise<void> {
    const { store, now } = this.#parts;
    const isOpen = !job.of.closed.aborted;
    if (isOpen && (await store.save({ evaluation: job.view, aliveUntil: now() + ALIVE_MS }))) return;
    job.stop.abort();
    this.#jobs.delete(job.view.id);
  }

  /** Says of all jobs of this process that it still works on them. */
  async #saveAll(): Promise<void> {
    const { steadyNow, onError } = this.#parts;
    this.#savedAt = steadyNow();
    for (const job of [...this.#jobs.values()]) {
      await this.#save(job).catch((error) => onError(`evaluation ${job.view.id} could not be stored`, error));
    }
  }

  async #run(job: Job): Promise<void> {
    if (job.stop.signal.aborted) return;
    job.view = { ...job.view, status: 'running' };
    await this.#saveAll();
    try {
      await this.#replay(job);
    } catch (error) {
      if (!(error instanceof Problem)) this.#parts.onError(`evaluation ${job.view.id} failed`, error);
      await this.#end(job, { status: 'failed', reason: (error as Error).message });
    }
  }

  async #replay(job: Job): Promise<void> {
    const { catalogs, decisionLogs, kernels, steadyNow } = this.#parts;
    const { candidates, learnShare } = job.view;
    const catalog = catalogs.get(job.view.catalog);
    const { ledger, replica } = catalog;
    const log = await decisionLogs.open(catalog.name);
    const span = await spanOf(ledger);
    const learnUntil =
      learnShare === 1 ? undefined : span.start + Math.floor(learnShare * (span.end - span.start));
    const settings = { alpha: job.alpha, learnUntil };
    const context = { kernels, derived: true };
    const replay = await replica.whole((state) => new Replay(state, candidates, context, settings));
    let sliceStart = steadyNow();
    const rest = async (progress: number): Promise<boolean> => {
      job.view = { ...job.view, progress, ...countsOf(replay) };
      if (steadyNow() - this.#savedAt > SAVE_EVERY_MS) await this.#saveAll();
      await wait(PAUSE_MS);
      sliceStart = steadyNow();
      return !job.stop.signal.aborted;
    };
    try {
      await replayLedger(replay, { ledger, log }, span, (done) =>
        steadyNow() - sliceStart < SLICE_MS ? true : rest(done),
      );
      if (!job.stop.signal.aborted) await this.#end(job, outcomeOf(replay));
    } finally {
      replay.free();
    }
  }
}
