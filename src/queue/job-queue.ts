/** One unit of background work. `payload` is JSON. */
export interface Job {
  /** Which handler takes it. */
  readonly name: string;
  /** While a job with this id waits or runs, adding it again does nothing. */
  readonly id: string;
  readonly payload: unknown;
  /** Not before this time, ms since the epoch; at once if absent. */
  readonly runAt?: number;
}

export interface DeadJob {
  readonly job: Job;
  readonly failedAt: number;
  readonly attempts: number;
  readonly error: string;
}

/**
 * Runs one job.
 * @param stop Aborts when the queue closes. A long job stops then and throws `stop.reason`: it has not failed, goes back
 * into the queue as it was, and runs again from its beginning, here after a restart or in another process.
 */
export type JobHandler = (job: Job, stop: AbortSignal) => Promise<void>;

/** Throw this from a handler to bury the job at once, without further tries. */
export class UnrecoverableJobError extends Error {
  override readonly name = 'UnrecoverableJobError';
}

/** Throw this from a handler that cannot do a job in this process: it is tried again after a second, here or elsewhere. */
export class JobElsewhereError extends Error {
  override readonly name = 'JobElsewhereError';
  readonly retryAfterSeconds = 1;
}

/**
 * Work that may wait, fail and be tried again, at least once: a handler can get a job twice and has to be idempotent.
 * Retries wait 1 s · 2^(n−1), at most a minute. After ten failures a job is buried (a dead letter). A failure because a
 * store is away (the error has `retryAfterSeconds`) does not count: the job is tried until the store is back. Contract: tests/contracts/job-queue.contract.ts.
 */
export interface JobQueue {
  /** Durable when it resolves. @throws StoreUnavailableError when over the length limit or out of disk. */
  add(jobs: readonly Job[]): Promise<void>;
  /** Starts taking jobs of this name, so many at a time whatever other names there are. One call per name. */
  process(name: string, handler: JobHandler, options: { concurrency: number }): void;
  /** Jobs that wait, run, or failed and will be tried again: of these names, or of all. */
  pending(names?: readonly string[]): Promise<number>;
  /** Jobs whose time has not come. */
  delayed(): Promise<number>;
  /**
   * Jobs that wait, run or are delayed, in no order; those that are done meanwhile may be among them, those that are
   * added meanwhile need not be.
   */
  jobs(): AsyncIterable<Job>;
  /** How many are buried. */
  buried(): Promise<number>;
  /** Buried jobs, newest first, after the newest `skip` of them. */
  deadJobs(limit: number, skip?: number): Promise<DeadJob[]>;
  /** Puts buried jobs back into the queue; all of them if no ids are given. Answers how many. */
  redrive(ids?: readonly string[]): Promise<number>;
  /** Stops taking jobs, aborts `stop`, waits for the running ones (at most `graceMs`), closes the store. */
  close(graceMs: number): Promise<void>;
}

/** A job is buried after this many failed attempts. */
export const MAX_ATTEMPTS = 10;

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;

/** Returns how long a job waits after its n-th failed attempt, n = 1, 2, …: 1 s · 2^(n−1), at most a minute; ms. */
export function retryDelayMs(failedAttempts: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failedAttempts - 1));
}
