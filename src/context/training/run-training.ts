import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { ContextRanker } from '../../../bandit/ranking/context-ranker.ts';
import { threadFile } from '../../../config/package-root.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Catalogs } from '../../catalog/catalogs.ts';
import { isStoreAway } from '../../errors/store-errors.ts';
import { type Job, JobElsewhereError, type JobQueue, UnrecoverableJobError } from '../../queue/job-queue.ts';
import { every } from '../../scheduling/every.ts';
import type { UserContexts } from '../user-contexts.ts';
import type { ContextModelStore, StoredTraining } from './context-model-store.ts';
import type { ContextModels } from './context-models.ts';
import type { ContextTraining, TrainingResult } from './context-training.ts';
import { type Gathered, gatherExamples } from './gather-examples.ts';
import { LEAST_EXAMPLES, LEAST_USERS, type TrainingExamples } from './train-ranker.ts';

export interface TrainingWorkerParts {
  readonly queue: JobQueue;
  readonly catalogs: Pick<Catalogs, 'find'>;
  readonly contexts: Pick<UserContexts, 'users' | 'examples'>;
  readonly store: ContextModelStore;
  readonly models: ContextModels;
  /** ms since the epoch. */
  now(): number;
  onError(message: string, error: unknown): void;
}

/** The task of the thread, which answers with `TrainingAnswer`. Models are encoded. */
export interface TrainingTask {
  readonly base: Uint8Array;
  readonly inUse: Uint8Array;
  readonly examples: TrainingExamples;
}

export type TrainingAnswer =
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'trained'; readonly result: TrainingResult; readonly model: Uint8Array };

/** How often progress is stored, and how soon a cancellation is seen. */
const SAVE_EVERY_MS = 1_000;
/** A training whose process died so often while it ran may be the cause. */
const MAX_INTERRUPTIONS = 3;
/** Of the progress, what reading takes. */
const READING = 0.3;

const TRAINING_JOB = 'context-training';
const trainingJob = z.object({ catalog: z.string(), id: z.string() });

/** Returns the job that runs a stored training. */
export function trainingJobOf({ catalog, id }: ContextTraining): Job {
  return { name: TRAINING_JOB, id: `${TRAINING_JOB}/${id}`, payload: { catalog, id } };
}

/** Thrown when the training was cancelled, or its catalog was deleted. */
class TrainingOverError extends Error {
  override readonly name = 'TrainingOverError';
}

/** Runs trainings as jobs of the queue, one at a time in each process that has catalogs. */
export function startTrainingWorker(parts: TrainingWorkerParts): void {
  const handler = async (job: Job, stop: AbortSignal): Promise<void> => {
    const { success, data } = trainingJob.safeParse(job.payload);
    if (!success) throw new UnrecoverableJobError(`job ${job.id} has a payload of another version`);
    const stored = await parts.store.training(data.catalog);
    if (stored === null || stored.training.id !== data.id || stored.training.endedAt !== null) return;
    const catalog = parts.catalogs.find(data.catalog);
    if (catalog === undefined) throw new JobElsewhereError(`catalog "${data.catalog}" is not open here`);
    await new TrainingRun(stored, catalog, parts, stop).run();
  };
  parts.queue.process(TRAINING_JOB, handler, { concurrency: 1 });
}

/** Runs one training: from its beginning, unless its model is in use already. It learns that it was cancelled when the store refuses to save its progress. */
class TrainingRun {
  readonly #catalog: Catalog;
  readonly #parts: TrainingWorkerParts;
  readonly #stop: AbortSignal;
  readonly #over = new AbortController();
  #stored: StoredTraining;
  #progress = 0;

  constructor(stored: StoredTraining, catalog: Catalog, parts: TrainingWorkerParts, stop: AbortSignal) {
    this.#stored = stored;
    this.#catalog = catalog;
    this.#parts = parts;
    this.#stop = stop;
  }

  /** Runs it to its end. @throws an error that makes the job run again: the queue closes, or a store is away */
  async run(): Promise<void> {
    const { catalog } = this.#stored.training;
    try {
      await this.#begin();
      const reports = every(SAVE_EVERY_MS, () => this.#save({ progress: this.#progress }), {
        onError: (error) => this.#over.abort(error),
      });
      let ended: Partial<ContextTraining>;
      try {
        ended = await this.#trained(AbortSignal.any([this.#stop, this.#over.signal, this.#catalog.closed]));
      } finally {
        await reports.close();
      }
      await this.#end(ended);
    } catch (thrown) {
      const error = this.#over.signal.aborted ? this.#over.signal.reason : thrown;
      if (error instanceof TrainingOverError || this.#catalog.closed.aborted) return;
      const runsAgain = this.#stop.aborted || isStoreAway(error);
      // While the store is away it stays as it is stored, and counts as interrupted.
      if (runsAgain) await this.#save({ status: 'queued', progress: 0 }).catch(() => {});
      if (runsAgain) throw this.#stop.aborted ? this.#stop.reason : error;
      this.#parts.onError(`training the model of context of catalog "${catalog}" failed`, error);
      await this.#end({ status: 'failed', reason: (error as Error).message });
    }
  }

  async #begin(): Promise<void> {
    if (this.#stored.training.status === 'running') {
      this.#stored = { ...this.#stored, interruptions: this.#stored.interruptions + 1 };
    }
    if (this.#stored.interruptions >= MAX_INTERRUPTIONS) {
      const reason = `It was interrupted ${MAX_INTERRUPTIONS} times before it was done: the process ended, or its store was away. Start it again.`;
      await this.#end({ status: 'failed', reason });
      throw new TrainingOverError();
    }
    await this.#save({ status: 'running', progress: 0 });
  }

  async #end(how: Partial<ContextTraining>): Promise<void> {
    const endedAt = new Date(this.#parts.now()).toISOString();
    await this.#save({ ...how, endedAt }).catch((error) => {
      if (!(error instanceof TrainingOverError)) throw error;
    });
  }

  /** @throws TrainingOverError */
  async #save(change: Partial<ContextTraining>, more: Partial<StoredTraining> = {}): Promise<void> {
    this.#stored = { ...this.#stored, ...more, training: { ...this.#stored.training, ...change } };
    if (this.#catalog.closed.aborted || !(await this.#parts.store.save(this.#stored))) {
      throw new TrainingOverError();
    }
  }

  async #trained(signal: AbortSignal): Promise<Partial<ContextTraining>> {
    const { contexts, models, store } = this.#parts;
    const { name } = this.#catalog;
    const { shipped } = models;
    const { model: own, training } = this.#stored;
    if (own !== undefined && training.result !== null && own === hashOf(await store.model(name))) {
      // It broke off before it could say so.
      await models.lookAt(name);
      return replacedBy(training.result);
    }
    if (this.#catalog.embedder?.fingerprint !== shipped.embedder) {
      const reason =
        'The catalog has another embedder than the model in the package, whose map is kept: here signals rank alone, and nothing can be trained.';
      return { status: 'refused', reason };
    }
    const gathered = await gatherExamples(contexts, name, shipped.embedder, signal, (share) => {
      this.#progress = READING * share;
    });
    const { damaged } = gathered;
    if (damaged.length > 0) {
      const message = `training in catalog "${name}" goes without ${damaged.length} users whose examples cannot be read; of the first one`;
      this.#parts.onError(message, damaged[0]);
    }
    const read = { examples: gathered.count, telling: gathered.telling, users: gathered.users };
    const lacking = lackingOf(gathered);
    if (lacking !== null) return { ...read, status: 'refused', reason: lacking };
    await models.lookAt(name);
    const [base, inUse] = [shipped.encode(), models.rankerOf(name).encode()];
    const task = { base, inUse, examples: gathered.examples };
    const { result, model } = await trainInThread(task, signal, (share) => {
      this.#progress = READING + (1 - READING) * share;
    });
    const isBetter = result.lower > 0;
    // Here it may have been cancelled, and then the model stays.
    await this.#save(
      { ...read, result, progress: this.#progress },
      isBetter ? { model: hashOf(model)! } : {},
    );
    if (!isBetter) return { status: 'done', progress: 1, reason: whyOf(result) };
    ContextRanker.decode(model);
    await store.putModel(name, model);
    await models.lookAt(name);
    return replacedBy(result);
  }
}

const replacedBy = (result: TrainingResult): Partial<ContextTraining> => ({
  ...{ status: 'done', replaced: true, progress: 1, reason: whyOf(result) },
});

function hashOf(model: Uint8Array | null): string | null {
  return model && createHash('sha256').update(model).digest('hex');
}

/** Why nothing can be trained; null: there is enough. */
function lackingOf({ telling, users }: Gathered): string | null {
  if (telling >= LEAST_EXAMPLES && users >= LEAST_USERS) return null;
  return `${telling} examples of ${users} users say which items were used, and ${LEAST_EXAMPLES} of ${LEAST_USERS} users are needed: report \`context\` with the ids of the items that were used.`;
}

function whyOf({ lower, upper, trees }: TrainingResult): string {
  const interval = `NDCG@5 differs by ${lower.toFixed(3)} … ${upper.toFixed(3)} with 95 % confidence`;
  if (lower > 0) return `The new model is surely better: ${interval}.`;
  if (trees === 0)
    return 'Nothing that was learned makes the model in the package better: the model in use stays.';
  return `The new model is not surely better, and the one in use stays: ${interval}.`;
}

/** @throws Error when the thread fails, or the reason of `signal` */
function trainInThread(
  task: TrainingTask,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<Extract<TrainingAnswer, { kind: 'trained' }>> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const { features, said } = task.examples;
    const thread = new Worker(threadFile('train-context-thread'), {
      workerData: task,
      transferList: [features.buffer as ArrayBuffer, said.buffer as ArrayBuffer],
      execArgv: [],
    });
    const end = (): void => void thread.terminate();
    signal.addEventListener('abort', end);
    let answer: Extract<TrainingAnswer, { kind: 'trained' }> | null = null;
    thread.on('message', (message: TrainingAnswer) => {
      if (message.kind === 'trained') answer = message;
      else onProgress(message.share);
    });
    thread.once('error', reject);
    thread.once('exit', (code) => {
      signal.removeEventListener('abort', end);
      if (answer !== null) resolve(answer);
      else if (signal.aborted) reject(signal.reason);
      else reject(new Error(`The thread that trains ended with code ${code} and without an answer.`));
    });
  });
}
