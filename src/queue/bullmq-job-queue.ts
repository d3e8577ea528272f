import { type JobsOptions, Queue } from 'bullmq';
import { OutcomeUnknownError, StoreUnavailableError } from '../errors/store-errors.ts';
import { JOBS_PREFIX } from '../redis/keys.ts';
import type { RedisClient, RedisConnections } from '../redis/redis-connection.ts';
import { answered, available, isRefusal, mayHaveRun } from '../redis/redis-failures.ts';
import { BullmqConsumer } from './bullmq-consumer.ts';
import { bullmqId, idsOfJobs, type JobData, jobKey, ownId, type QueueClock } from './bullmq-job.ts';
import { JobCounts } from './job-counts.ts';
import { type DeadJob, type Job, type JobHandler, type JobQueue, retryDelayMs } from './job-queue.ts';
import { RedisDeadJobs } from './redis-dead-jobs.ts';

export interface BullmqJobQueueOptions {
  /** Jobs that may wait or run at a time, delayed ones not counted; default a million. */
  readonly maxJobs?: number;
  /** The time of `runAt`, and that of Redis; default: that of the machine. */
  readonly clock?: QueueClock;
  /** ms that a job waits after its n-th failure. */
  readonly retryDelayMs?: (failures: number) => number;
  /** A job whose worker did not renew its lock for so long is given to another worker. */
  readonly lockMs?: number;
  /** Is called when Redis or a worker failed and no caller gets the error. */
  readonly onError?: (message: string, error: unknown) => void;
}

/** The subject of messages. */
const WHAT = 'The job queue';
const MOST_JOBS = 1_000_000;
/** The jobs of a process that was killed are given to others after at most this time. */
const LOCK_MS = 10_000;
/** BullMQ writes an event for every job; Bandolier does not read them. */
const EVENTS_KEPT = 100;
/**
 * Bandolier counts failures itself. BullMQ sees one only when Redis goes away in the middle of a job, and then has to try
 * again without limit.
 */
const ALWAYS_AGAIN: JobsOptions = { attempts: 2 ** 31 - 1, backoff: { type: 'fixed', delay: 1000 } };

/**
 * A job queue in Redis for any number of processes: one BullMQ queue per name of jobs, all on one shard. A job that
 * is done leaves nothing behind.
 */
export class BullmqJobQueue implements JobQueue {
  readonly #connections: RedisConnections;
  readonly #commands: RedisClient;
  readonly #options: Required<BullmqJobQueueOptions>;
  readonly #queues = new Map<string, Queue<JobData>>();
  readonly #consumers = new Map<string, BullmqConsumer>();
  readonly #counts: JobCounts;
  readonly #dead: RedisDeadJobs;
  #isClosed = false;
  #workerConnection: RedisClient | null = null;

  constructor(connections: RedisConnections, options: BullmqJobQueueOptions = {}) {
    this.#connections = connections;
    this.#commands = connections.commands;
    this.#options = {
      maxJobs: MOST_JOBS,
      retryDelayMs,
      clock: { now: () => Date.now(), referenceNow: () => Date.now() },
      lockMs: LOCK_MS,
      onError: () => {},
      ...options,
    };
    this.#counts = new JobCounts(this.#commands, this.#options.maxJobs);
    connections.epoch.listen({
      onLost: () => this.#pause(),
      onFound: () => this.#resume(),
      onRestored: () => this.#counts.forget(),
    });
    this.#dead = new RedisDeadJobs(this.#commands);
  }

  async add(jobs: readonly Job[]): Promise<void> {
    if (this.#isClosed) throw new StoreUnavailableError('The job queue is closed.');
    if (jobs.length === 0) return;
    const { epoch } = this.#connections;
    await available(WHAT, async () => {
      if (epoch.isDoubtful) await epoch.verify();
      const names = [...new Set(jobs.map(({ name }) => name))];
      await this.#counts.know(names);
      await this.#counts.reserve(jobs);
      for (const name of names) await this.#addAlike(jobs.filter((job) => job.name === name));
      // A job that an emptied Redis has taken is not durable.
      await epoch.verify().catch((error: Error) => {
        throw new OutcomeUnknownError(error.message, { cause: error });
      });
    });
  }

  process(name: string, handler: JobHandler, { concurrency }: { concurrency: number }): void {
    if (this.#consumers.has(name)) throw new Error(`Jobs named "${name}" have a handler already.`);
    this.#workerConnection ??= this.#connections.anotherToDuplicate({ maxRetriesPerRequest: null });
    const { retryDelayMs, clock, lockMs, onError } = this.#options;
    const consumer = new BullmqConsumer(name, handler, {
      connection: this.#workerConnection,
      epoch: this.#connections.epoch,
      concurrency,
      dead: this.#dead,
      counts: this.#counts,
      retryDelayMs,
      clock,
      lockMs,
      onError,
    });
    this.#consumers.set(name, consumer);
  }

  async pending(names: readonly string[] = []): Promise<number> {
    return (await available(WHAT, () => this.#counts.read(names))).pending;
  }

  async delayed(): Promise<number> {
    return (await available(WHAT, () => this.#counts.read())).delayed;
  }

  async *jobs(): AsyncIterable<Job> {
    for (const name of await available(WHAT, () => this.#counts.names())) {
      for await (const id of idsOfJobs(this.#commands, name)) {
        const job = await available(WHAT, () => this.#queue(name).getJob(id));
        if (job === undefined) continue; // done meanwhile
        const { timestamp, data } = job;
        yield { name, id: ownId(id), payload: data.payload, runAt: data.runAt ?? timestamp };
      }
    }
  }

  buried(): Promise<number> {
    return available(WHAT, () => this.#dead.count());
  }

  deadJobs(limit: number, skip = 0): Promise<DeadJob[]> {
    return available(WHAT, () => this.#dead.newest(limit, skip));
  }

  redrive(ids?: readonly string[]): Promise<number> {
    return available(WHAT, async () => {
      let redriven = 0;
      for (const id of ids ?? (await this.#dead.ids())) {
        const found = await this.#dead.get(id);
        if (found === null || (await this.#isLive(found.dead.job))) continue;
        await this.#addAlike([found.dead.job]);
        await this.#dead.remove(id, found.burial);
        redriven++;
      }
      return redriven;
    });
  }

  async close(graceMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all([...this.#consumers.values()].map((consumer) => consumer.close(graceMs)));
    this.#workerConnection?.disconnect();
    for (const queue of this.#queues.values()) await queue.close().catch(() => {});
  }

  /** Adds jobs of one name. A job that waits or runs already is not changed. */
  async #addAlike(jobs: readonly Job[]): Promise<void> {
    const now = this.#options.clock.now();
    // BullMQ compares this with the clocks of workers, so it is in Redis's time.
    const timestamp = Math.floor(this.#options.clock.referenceNow());
    const inOrder = jobs.toSorted((a, b) => (a.runAt ?? now) - (b.runAt ?? now));
    const bulk = inOrder.map(({ name, id, payload, runAt = now }) => ({
      name,
      data: {
        payload: payload ?? null,
        failures: 0,
        ...(runAt > now && { runAt, dueAt: timestamp + runAt - now }),
      },
      opts: {
        jobId: bullmqId(id),
        timestamp,
        ...(runAt > now && { delay: runAt - now }),
      },
    }));
    const queue = this.#queue(jobs[0].name);
    const [{ name, data, opts }] = bulk;
    if (bulk.length === 1) await answered(() => queue.add(name, data, opts));
    // It is no transaction: Redis may run out of memory in the middle.
    else
      await answered(
        () => queue.addBulk(bulk),
        (error) => isRefusal(error) || mayHaveRun(error),
      );
  }

  #pause(): void {
    for (const consumer of this.#consumers.values()) consumer.pause();
  }

  #resume(): void {
    for (const consumer of this.#consumers.values()) consumer.resume();
  }

  async #isLive({ name, id }: Job): Promise<boolean> {
    return (await this.#commands.exists(jobKey(name, id))) === 1;
  }

  #queue(name: string): Queue<JobData> {
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const queue = new Queue<JobData>(name, {
      connection: this.#commands,
      prefix: JOBS_PREFIX,
      // Otherwise `add` waits for as long as Redis is away.
      skipWaitingForReady: true,
      skipVersionCheck: true,
      streams: { events: { maxLen: EVENTS_KEPT } },
      defaultJobOptions: { ...ALWAYS_AGAIN, removeOnComplete: true, stackTraceLimit: 1 },
    });
    queue.on('error', () => {}); // the caller gets the error
    this.#queues.set(name, queue);
    return queue;
  }
}
