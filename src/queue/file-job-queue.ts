import { isStoreAway, StoreUnavailableError } from '../errors/store-errors.ts';
import type { SegmentLogOptions } from '../storage/segment-log.ts';
import type { JobBook, LiveJob } from './job-book.ts';
import type { JobEvent, StoredJob } from './job-event.ts';
import { JobJournal } from './job-journal.ts';
import {
  type DeadJob,
  type Job,
  type JobHandler,
  type JobQueue,
  MAX_ATTEMPTS,
  retryDelayMs,
  UnrecoverableJobError,
} from './job-queue.ts';

/** The clock of a queue; tests use one that they set. */
export interface Clock {
  /** ms since the epoch. */
  now(): number;
  /** Calls `action` once, `ms` from now. Returns a function that cancels it. */
  after(ms: number, action: () => void): () => void;
}

/** The machine's clock. Its timers do not keep a process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};

export interface FileJobQueueOptions extends SegmentLogOptions {
  readonly clock?: Clock;
  /** Jobs that may wait or run at a time, delayed ones not counted; default a million. */
  readonly maxJobs?: number;
}

interface Consumer {
  readonly handler: JobHandler;
  readonly concurrency: number;
  running: number;
}

const MAX_ERROR_CHARACTERS = 2_000;
/** Names, ids and payloads of all jobs together: they are kept in memory. */
const MAX_CHARACTERS = 128_000_000;
const LONGEST_TIMER_MS = 24 * 60 * 60 * 1000;

/**
 * A job queue in a folder. Jobs run in this process; those that a crash interrupted run again. The queue is in one of
 * these states:
 *
 * - *open*: takes jobs, and starts them when they are due and their consumer has a free slot.
 * - *draining*, from `close`: takes jobs still, starts none, and waits for the running ones until the grace period is over.
 * - *closed*: refuses jobs. Results of running jobs are not recorded any more, so they run again after the next start.
 *
 * A job is durable before `add` resolves. The result of a job is applied at once and written later: after a crash in
 * between the job runs once more.
 */
export class FileJobQueue implements JobQueue {
  readonly #journal: JobJournal;
  readonly #book: JobBook;
  readonly #clock: Clock;
  readonly #maxJobs: number;
  readonly #consumers = new Map<string, Consumer>();
  /** The writes in flight that make jobs durable, by job id. */
  readonly #adding = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  #running = 0;
  #state: 'open' | 'draining' | 'closed' = 'open';
  #onIdle = (): void => {};
  #timer = { due: Number.POSITIVE_INFINITY, cancel: (): void => {} };

  private constructor(journal: JobJournal, options: FileJobQueueOptions) {
    this.#journal = journal;
    this.#book = journal.book;
    this.#clock = options.clock ?? systemClock;
    this.#maxJobs = options.maxJobs ?? 1_000_000;
  }

  /** @throws StoreUnavailableError; StorageCorruptError, which names file and byte */
  static async open(folder: string, options: FileJobQueueOptions = {}): Promise<FileJobQueue> {
    return new FileJobQueue(await JobJournal.open(folder, options), options);
  }

  async add(jobs: readonly Job[]): Promise<void> {
    if (this.#state === 'closed') throw new StoreUnavailableError('The job queue is closed.');
    const underWay = jobs.map(({ id }) => this.#adding.get(id));
    const fresh = this.#freshJobs(jobs);
    this.#refuseOverflow(fresh);
    await Promise.all([this.#write(fresh), ...underWay]);
    this.#serve();
  }

  process(name: string, handler: JobHandler, { concurrency }: { concurrency: number }): void {
    if (this.#consumers.has(name)) throw new Error(`Jobs named "${name}" have a handler already.`);
    this.#consumers.set(name, { handler, concurrency, running: 0 });
    this.#serve();
  }

  async pending(names?: readonly string[]): Promise<number> {
    this.#book.promote(this.#clock.now());
    return this.#book.pending(names);
  }

  async delayed(): Promise<number> {
    this.#book.promote(this.#clock.now());
    return this.#book.delayed;
  }

  async *jobs(): AsyncIterable<Job> {
    for (const { name, id, payload, runAt } of this.#book.live()) {
      yield { name, id, payload: JSON.parse(payload), runAt };
    }
  }

  async buried(): Promise<number> {
    return this.#book.buried;
  }

  async deadJobs(limit: number, skip = 0): Promise<DeadJob[]> {
    return this.#book.dead(limit, skip);
  }

  async redrive(ids: readonly string[] = this.#book.deadIds()): Promise<number> {
    const possible = new Set(ids.filter((id) => this.#book.isDead(id) && !this.#book.has(id)));
    if (possible.size === 0) return 0;
    await this.#journal.write({ event: 'redriven', ids: [...possible], runAt: this.#clock.now() });
    this.#serve();
    return possible.size;
  }

  async close(graceMs: number): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'draining';
    this.#stop.abort();
    this.#timer.cancel();
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(graceMs, resolve);
        this.#onIdle = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#state = 'closed';
    await this.#journal.close();
  }

  #freshJobs(jobs: readonly Job[]): StoredJob[] {
    const fresh = new Map<string, StoredJob>();
    for (const { name, id, payload, runAt = this.#clock.now() } of jobs) {
      if (this.#book.has(id) || this.#adding.has(id) || fresh.has(id)) continue;
      fresh.set(id, { name, id, payload: JSON.stringify(payload ?? null), runAt, attempts: 0 });
    }
    return [...fresh.values()];
  }

  #refuseOverflow(jobs: readonly StoredJob[]): void {
    const waiting = this.#book.pending();
    const count = waiting + this.#adding.size + jobs.length;
    const characters = jobs.reduce((sum, job) => sum + job.payload.length + job.id.length, this.#book.bytes);
    if (jobs.length > 0 && (count > this.#maxJobs || characters > MAX_CHARACTERS)) {
      throw new StoreUnavailableError(`The job queue is full: ${waiting} jobs wait.`);
    }
  }

  async #write(jobs: readonly StoredJob[]): Promise<void> {
    if (jobs.length === 0) return;
    const written = this.#journal.write({ event: 'added', jobs });
    for (const { id } of jobs) this.#adding.set(id, written);
    try {
      await written;
    } finally {
      for (const { id } of jobs) this.#adding.delete(id);
    }
  }

  /** Starts the jobs that can be started, and sets the timer for the next one that becomes due. */
  #serve(): void {
    if (this.#state !== 'open') return;
    const now = this.#clock.now();
    this.#book.promote(now);
    for (const [name, consumer] of this.#consumers) {
      while (consumer.running < consumer.concurrency) {
        const job = this.#book.take(name);
        if (job === undefined) break;
        void this.#run(consumer, job);
      }
    }
    const due = this.#book.nextDue ?? Number.POSITIVE_INFINITY;
    if (due === this.#timer.due) return;
    this.#timer.cancel();
    const wait = Math.min(due - now, LONGEST_TIMER_MS);
    const cancel = due === Number.POSITIVE_INFINITY ? () => {} : this.#clock.after(wait, () => this.#wake());
    this.#timer = { due, cancel };
  }

  #wake(): void {
    this.#timer = { due: Number.POSITIVE_INFINITY, cancel: () => {} };
    this.#serve();
  }

  async #run(consumer: Consumer, job: LiveJob): Promise<void> {
    consumer.running++;
    this.#running++;
    const event = await this.#attempt(consumer, job);
    consumer.running--;
    this.#running--;
    if (this.#state === 'closed') return; // too late to be recorded: the job will run again
    if (event !== null) this.#journal.note(event);
    if (this.#running === 0) this.#onIdle();
    this.#serve();
  }

  /** Runs the handler. Returns what became of the job, null when it stopped because the queue closes. */
  async #attempt({ handler }: Consumer, { name, id, payload, attempts }: LiveJob): Promise<JobEvent | null> {
    const stop = this.#stop.signal;
    try {
      await handler({ name, id, payload: JSON.parse(payload) }, stop);
      return { event: 'done', id };
    } catch (error) {
      if (stop.aborted && error === stop.reason) return null;
      const now = this.#clock.now();
      const failed = attempts + 1;
      const hasTriesLeft = failed < MAX_ATTEMPTS || isStoreAway(error);
      if (hasTriesLeft && !(error instanceof UnrecoverableJobError)) {
        return { event: 'failed', id, runAt: now + retryDelayMs(failed), attempts: failed };
      }
      const message = error instanceof Error ? error.message : String(error);
      return { event: 'buried', id, failedAt: now, error: message.slice(0, MAX_ERROR_CHARACTERS) };
    }
  }
}
