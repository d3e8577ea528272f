import type { JobEvent, StoredDeadJob, StoredJob } from './job-event.ts';
import { DueHeap, Fifo } from './job-order.ts';
import type { DeadJob } from './job-queue.ts';

/** A job that is delayed, ready or running. */
export interface LiveJob extends StoredJob {
  /** Jobs that are due at the same time run in this order. */
  readonly order: number;
}

/** The oldest dead jobs beyond this number are forgotten. */
const MAX_DEAD_JOBS = 10_000;
const CHECKPOINT_CHUNK = 500;

/**
 * The jobs of a queue, in memory. It has no clock, no disk and no handlers. A job is in one of these states:
 *
 * - *delayed*: its time has not come, or it failed and waits for its next attempt. `promote` makes it ready.
 * - *ready*: `take` returns it to run, first in, first out per name.
 * - *running*: taken; it stays live until an event says what became of it.
 * - *done*: forgotten.
 * - *dead*: given up after too many failures (`buried`), until it is `redriven`. The newest ten thousand are kept.
 *
 * Delayed, ready and running jobs are *live*: adding a job with the same id does nothing.
 */
export class JobBook {
  /** By id, until they are done or buried. */
  readonly #live = new Map<string, LiveJob>();
  readonly #ready = new Map<string, Fifo<LiveJob>>();
  readonly #delayed = new DueHeap<LiveJob>();
  readonly #dead = new Map<string, StoredDeadJob>();
  #nextOrder = 1;
  #bytes = 0;
  /** Jobs in `#live`, and those among them that are delayed and have not failed yet, by name. */
  readonly #counts = new Map<string, { live: number; delayed: number }>();

  /** Characters of the names, ids and payloads of all live jobs. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Jobs whose time has not come. Those that failed and wait for another attempt are not counted. */
  get delayed(): number {
    return this.#sum(this.#counts.keys(), ({ delayed }) => delayed);
  }

  /** Returns how many jobs are ready, run, or failed and wait for another attempt: of these names, or of all. */
  pending(names: Iterable<string> = this.#counts.keys()): number {
    return this.#sum(names, ({ live, delayed }) => live - delayed);
  }

  /** When the next delayed job is due, ms since the epoch. */
  get nextDue(): number | undefined {
    return this.#delayed.top?.runAt;
  }

  /** Returns the live jobs of this moment. */
  live(): readonly StoredJob[] {
    return [...this.#live.values()];
  }

  has(id: string): boolean {
    return this.#live.has(id);
  }

  isDead(id: string): boolean {
    return this.#dead.has(id);
  }

  get buried(): number {
    return this.#dead.size;
  }

  /** Returns the newest dead jobs but for `skip` of them, newest first. */
  dead(limit: number, skip = 0): DeadJob[] {
    return [...this.#dead.values()]
      .reverse()
      .slice(skip, skip + limit)
      .map(({ job, failedAt, error }) => ({
        job: { name: job.name, id: job.id, payload: JSON.parse(job.payload) },
        failedAt,
        attempts: job.attempts,
        error,
      }));
  }

  deadIds(): string[] {
    return [...this.#dead.keys()];
  }

  /** Makes the delayed jobs ready that are due. */
  promote(now: number): void {
    for (let top = this.#delayed.top; top !== undefined && top.runAt <= now; top = this.#delayed.top) {
      this.#delayed.take();
      if (top.attempts === 0) this.#countOf(top.name).delayed--;
      this.#waiting(top.name).add(top);
    }
  }

  /** Returns the next ready job of this name; it stays live until an event says what became of it. */
  take(name: string): LiveJob | undefined {
    return this.#ready.get(name)?.take();
  }

  apply(event: JobEvent): void {
    switch (event.event) {
      case 'checkpoint':
        this.#clear();
        break;
      case 'added':
        for (const job of event.jobs) this.#add(job);
        break;
      case 'done':
        this.#remove(event.id);
        break;
      case 'failed':
        this.#fail(event.id, event.runAt, event.attempts);
        break;
      case 'buried':
        this.#bury(event.id, event.failedAt, event.error);
        break;
      case 'redriven':
        for (const id of event.ids) this.#revive(id, event.runAt);
        break;
      case 'dead':
        for (const dead of event.jobs) this.#dead.set(dead.job.id, dead);
        break;
    }
  }

  /** Returns a new book with the same jobs, without the memory that replaying a journal left behind. */
  copy(): JobBook {
    const copy = new JobBook();
    for (const event of this.checkpoint()) copy.apply(event);
    return copy;
  }

  /** Yields the whole book as events. */
  *checkpoint(): Generator<JobEvent> {
    yield { event: 'checkpoint' };
    for (const jobs of chunks(this.#live.values())) {
      yield { event: 'added', jobs: jobs.map(({ order: _, ...job }) => job) };
    }
    for (const jobs of chunks(this.#dead.values())) yield { event: 'dead', jobs };
  }

  #add(job: StoredJob): void {
    if (this.#live.has(job.id)) return;
    const live = { ...job, order: this.#nextOrder++ };
    this.#live.set(job.id, live);
    this.#bytes += sizeOf(job);
    this.#delayed.add(live);
    const count = this.#countOf(job.name);
    count.live++;
    if (live.attempts === 0) count.delayed++;
  }

  #remove(id: string): LiveJob | undefined {
    const job = this.#live.get(id);
    if (job === undefined) return undefined;
    this.#live.delete(id);
    this.#bytes -= sizeOf(job);
    this.#countOf(job.name).live--;
    return job;
  }

  #fail(id: string, runAt: number, attempts: number): void {
    const job = this.#remove(id);
    if (job !== undefined) this.#add({ ...job, attempts, runAt });
  }

  #bury(id: string, failedAt: number, error: string): void {
    const job = this.#remove(id);
    if (job === undefined) return;
    const { order: _, ...stored } = job;
    this.#dead.delete(id);
    this.#dead.set(id, { job: { ...stored, attempts: job.attempts + 1 }, failedAt, error });
    for (const oldest of this.#dead.keys()) {
      if (this.#dead.size <= MAX_DEAD_JOBS) break;
      this.#dead.delete(oldest);
    }
  }

  #revive(id: string, runAt: number): void {
    const dead = this.#dead.get(id);
    if (dead === undefined || this.#live.has(id)) return;
    this.#dead.delete(id);
    this.#add({ ...dead.job, attempts: 0, runAt });
  }

  #countOf(name: string): { live: number; delayed: number } {
    let count = this.#counts.get(name);
    if (count === undefined) {
      count = { live: 0, delayed: 0 };
      this.#counts.set(name, count);
    }
    return count;
  }

  #sum(names: Iterable<string>, pick: (count: { live: number; delayed: number }) => number): number {
    let sum = 0;
    for (const name of names) sum += pick(this.#countOf(name));
    return sum;
  }

  #waiting(name: string): Fifo<LiveJob> {
    let fifo = this.#ready.get(name);
    if (fifo === undefined) {
      fifo = new Fifo();
      this.#ready.set(name, fifo);
    }
    return fifo;
  }

  #clear(): void {
    this.#live.clear();
    this.#ready.clear();
    this.#dead.clear();
    while (this.#delayed.take() !== undefined);
    this.#bytes = 0;
    this.#counts.clear();
  }
}

function sizeOf({ name, id, payload }: StoredJob): number {
  return name.length + id.length + payload.length;
}

function* chunks<T>(elements: Iterable<T>): Generator<T[]> {
  let chunk: T[] = [];
  for (const element of elements) {
    chunk.push(element);
    if (chunk.length < CHECKPOINT_CHUNK) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
