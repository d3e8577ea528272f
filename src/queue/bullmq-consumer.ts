import { type Job as BullmqJob, DelayedError, WaitingError, Worker } from 'bullmq';
import { isStoreAway } from '../errors/store-errors.ts';
import { JOBS_PREFIX } from '../redis/keys.ts';
import type { RedisClient } from '../redis/redis-connection.ts';
import type { RedisEpoch } from '../redis/redis-epoch.ts';
import { type JobData, ownId, type QueueClock } from './bullmq-job.ts';
import type { JobCounts } from './job-counts.ts';
import { type Job, type JobHandler, MAX_ATTEMPTS, UnrecoverableJobError } from './job-queue.ts';
import type { RedisDeadJobs } from './redis-dead-jobs.ts';

export interface BullmqConsumerParts {
  /** A connection that waits for Redis without a limit. */
  readonly connection: RedisClient;
  readonly epoch: RedisEpoch;
  readonly concurrency: number;
  readonly dead: RedisDeadJobs;
  readonly counts: JobCounts;
  readonly clock: QueueClock;
  readonly retryDelayMs: (failures: number) => number;
  readonly lockMs: number;
  readonly onError: (message: string, error: unknown) => void;
}

const MAX_ERROR_CHARACTERS = 2_000;
/** Largest difference of the clocks of processes that counts as right. */
const MOST_EARLY_MS = 500;
/** Pause after Redis or BullMQ itself failed. */
const TRY_AGAIN_MS = 1_000;
/** Timeout of the last writes when no job runs any more: while Redis is away they do not end. */
const LAST_WRITES_MS = 2_000;

/**
 * Takes jobs of one name from Redis. The consumer is in one of these states:
 *
 * - *taking*: up to `concurrency` jobs run at a time.
 * - *paused*: Redis is not the one that the process knows, so its jobs are of another deployment. Nothing is taken;
 *   running jobs go on. `resume` makes it take jobs again.
 * - *closing*: nothing more is taken, and `stop` of the running jobs is aborted. Jobs that still run after the grace period
 *   go back into the queue.
 *
 * A job that was taken ends in one of these ways:
 *
 * - too early, because this machine's clock is ahead: it is delayed again, and nothing is counted;
 * - *done*: BullMQ deletes it;
 * - *given up*, because the consumer closes: it waits again, and nothing is counted;
 * - *failed because a store is away*: it waits for a retry; the failure does not count;
 * - *failed*: it waits for a retry, or is buried after ten failures, or at once for an UnrecoverableJobError. A worker that
 *   died with the job, or lost its lock on it, counts as a failure.
 */
export class BullmqConsumer {
  readonly #name: string;
  readonly #handler: JobHandler;
  readonly #parts: BullmqConsumerParts;
  readonly #worker: Worker<JobData>;
  readonly #givenUp: Promise<'given up'>;
  #giveUp = (): void => {};
  readonly #stop = new AbortController();
  #running = 0;

  constructor(name: string, handler: JobHandler, parts: BullmqConsumerParts) {
    this.#name = name;
    this.#handler = handler;
    this.#parts = parts;
    this.#givenUp = new Promise((resolve) => {
      this.#giveUp = () => resolve('given up');
    });
    this.#worker = new Worker<JobData>(name, (job, token) => this.#run(job, token), {
      connection: parts.connection,
      prefix: JOBS_PREFIX,
      concurrency: parts.concurrency,
      lockDuration: parts.lockMs,
      stalledInterval: parts.lockMs / 2,
      // A job that kills its workers is buried here, so that users see it.
      maxStalledCount: 2 ** 31 - 1,
      runRetryDelay: TRY_AGAIN_MS,
    });
    this.#worker.on('error', (error) => {
      // BullMQ tries again; /readyz of the routers reports that Redis is away.
      if (!('syscall' in error)) parts.onError(`the worker for ${name} jobs failed`, error);
    });
  }

  /** Takes no more jobs until `resume`. */
  pause(): void {
    void this.#worker.pause(true).catch(() => {});
  }

  resume(): void {
    this.#worker.resume();
  }

  /** Waits for the running jobs, at most `graceMs`; then they go back into the queue. */
  async close(graceMs: number): Promise<void> {
    this.#stop.abort();
    const grace = setTimeout(this.#giveUp, graceMs);
    const closed = this.#worker.close();
    await within(LAST_WRITES_MS, closed);
    if (this.#running > 0) await within(graceMs, closed);
    clearTimeout(grace);
  }

  async #run(job: BullmqJob<JobData>, token = ''): Promise<void> {
    await this.#refuseEarly(job, token);
    if (job.attemptsStarted > 1) await this.#parts.counts.runsAgain(this.#name, String(job.id));
    this.#running++;
    const ended = await Promise.race([this.#attempt(job), this.#givenUp]);
    this.#running--;
    if (ended === 'done') return;
    if (ended === 'given up') {
      await job.moveToWait(token);
      throw new WaitingError();
    }
    await this.#failed(job, token, ended.error);
  }

  /** Delays a job again that was taken before it is due, by a worker whose clock is ahead. */
  async #refuseEarly(job: BullmqJob<JobData>, token: string): Promise<void> {
    const early = (job.data.dueAt ?? 0) - this.#parts.clock.referenceNow();
    if (early <= MOST_EARLY_MS) return;
    await job.moveToDelayed(Date.now() + early, token);
    throw new DelayedError();
  }

  async #attempt(job: BullmqJob<JobData>): Promise<'done' | 'given up' | { readonly error: unknown }> {
    const stop = this.#stop.signal;
    try {
      await this.#parts.epoch.verify();
      if (failuresOf(job) >= MAX_ATTEMPTS) {
        throw new UnrecoverableJobError(`its workers stopped or were held up in it ${MAX_ATTEMPTS} times`);
      }
      await this.#handler(jobOf(job), stop);
      return 'done';
    } catch (error) {
      return stop.aborted && error === stop.reason ? 'given up' : { error };
    }
  }

  async #failed(job: BullmqJob<JobData>, token: string, error: unknown): Promise<void> {
    const { counts, dead, retryDelayMs } = this.#parts;
    const isNoFault = isStoreAway(error);
    const failures = failuresOf(job) + (isNoFault ? 0 : 1);
    if (error instanceof UnrecoverableJobError || failures >= MAX_ATTEMPTS) {
      const text = (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_CHARACTERS);
      await dead.bury({
        job: jobOf(job),
        failedAt: this.#parts.clock.now(),
        attempts: failures,
        error: text,
      });
      return;
    }
    await counts.failedBefore(this.#name, String(job.id));
    if (!isNoFault) await job.updateData({ ...job.data, failures: job.data.failures + 1 });
    await job.moveToDelayed(Date.now() + retryDelayMs(Math.max(1, failures)), token);
    throw new DelayedError();
  }
}

/** Returns how often a job has failed. A worker that died with it or lost it counts as a failure: the job may be the cause. */
function failuresOf(job: BullmqJob<JobData>): number {
  return job.data.failures + job.stalledCounter;
}

function jobOf({ name, id, data: { payload } }: BullmqJob<JobData>): Job {
  return { name, id: ownId(String(id)), payload };
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const elapsed = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, elapsed]);
  clearTimeout(timer);
}
