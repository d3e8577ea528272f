import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { DecisionHead } from '../decisions/decision.ts';
import { settlementJobOf } from '../decisions/settlements.ts';
import type { Job, JobQueue } from '../queue/job-queue.ts';
import type { RewardSink, TakenReports } from './reward-intake.ts';
import { observationKey, REWARDS_JOB, type RewardsJob, TASK_END_JOB, type TaskEndJob } from './reward-job.ts';
import type { TaskSink } from './tasks.ts';

interface Batch {
  readonly taken: TakenReports[];
  readonly written: Promise<void>;
  write(): void;
}

/** Decisions in one job. A queue takes one job of a hundred fifteen times faster than a hundred jobs of one. */
const PER_JOB = 100;
/** How long the first reports of a batch wait for more. */
const BATCH_MS = 5;
/** Rewards that are kept at most; at a thousand a second a few thousand are accepted and not folded yet. */
const MOST_KEPT = 10_000;
const RETRY_MS = 1_000;
/** Reports that were accepted when a task ended are joined by then, as a rule; a later one is learned as a call of a closed decision. */
const END_AFTER_MS = 2_000;

/**
 * Takes rewards in over Redis: puts them into the queue, from where workers join them with their decisions, and keeps them from
 * their acceptance to their fold. A decision's reports pass through these states:
 *
 * - *collected*: in a batch, which is written 5 ms after it began, or when it holds a hundred decisions;
 * - *kept*: written to the queue, and kept in memory in case the queue loses them;
 * - *forgotten*: folded by this process (`folded`), or their catalog is closed, or ten thousand newer ones are kept.
 *
 * A batch that the queue refuses is forgotten at once, and every caller that added to it gets the error. A store that lost
 * its last moments, or was restored from a backup, gets what is kept a second time (`sendAgain`); the fold applies each
 * reward once.
 */
export class AcceptedRewards implements RewardSink<DecisionHead>, TaskSink {
  readonly #queue: Pick<JobQueue, 'add'>;
  /** By the key of the ledger entry that they become. */
  readonly #kept = new Map<string, TakenReports>();
  /** Signals of catalogs that have a listener already. */
  readonly #watched = new WeakSet<AbortSignal>();
  readonly #closing = new AbortController();
  #batch: Batch | null = null;

  constructor(queue: Pick<JobQueue, 'add'>) {
    this.#queue = queue;
  }

  /**
   * Adds reports to the current batch; all of one call are written together. Resolves when they are durable.
   * @throws StoreUnavailableError when none of them was accepted; OutcomeUnknownError
   */
  send(taken: readonly TakenReports[]): Promise<void> {
    this.#batch ??= this.#beginBatch();
    const batch = this.#batch;
    batch.taken.push(...taken);
    if (batch.taken.length >= PER_JOB) batch.write();
    return batch.written;
  }

  async end({ name }: Catalog, decisionIds: readonly string[], at: number): Promise<void> {
    const jobs: Job[] = [];
    for (let from = 0; from < decisionIds.length; from += PER_JOB) {
      const payload: TaskEndJob = { catalog: name, decisionIds: decisionIds.slice(from, from + PER_JOB), at };
      const id = `task-end-${randomBytes(9).toString('hex')}`;
      jobs.push({ name: TASK_END_JOB, id, payload, runAt: at + END_AFTER_MS });
    }
    await this.#queue.add(jobs);
  }

  /** Call when this process has folded the entry with this key. */
  folded(key: string): void {
    this.#kept.delete(key);
  }

  /** Adds everything that is kept for a catalog to the queue once more. Resolves when it is durable there. */
  async sendAgain(catalog: string): Promise<void> {
    const { signal } = this.#closing;
    const lost = [...this.#kept].filter(([, one]) => one.catalog.name === catalog);
    while (lost.length > 0 && !signal.aborted) {
      const taken = lost.splice(0, PER_JOB).filter(([key, one]) => this.#kept.get(key) === one);
      if (taken.length === 0) continue;
      try {
        await this.#queue.add(jobsOf(taken.map(([, one]) => one)));
      } catch {
        lost.unshift(...taken);
        await wait(RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  close(): void {
    this.#closing.abort();
  }

  #beginBatch(): Batch {
    const taken: TakenReports[] = [];
    let write = (): void => {};
    const written = new Promise<void>((resolve) => {
      write = () => {
        clearTimeout(timer);
        this.#batch = null;
        resolve(this.#write(taken));
      };
    });
    const timer = setTimeout(write, BATCH_MS);
    return { taken, written, write };
  }

  async #write(taken: readonly TakenReports[]): Promise<void> {
    for (const one of taken) this.#keep(one);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) break;
      this.folded(oldest);
    }
    try {
      await this.#queue.add(jobsOf(taken));
    } catch (error) {
      for (const { reported } of taken) this.folded(observationKey(reported));
      throw error;
    }
  }

  #keep(taken: TakenReports): void {
    const { closed } = taken.catalog;
    if (closed.aborted) return;
    this.#kept.set(observationKey(taken.reported), taken);
    if (this.#watched.has(closed)) return;
    this.#watched.add(closed);
    closed.addEventListener('abort', () => {
      for (const [key, { catalog }] of this.#kept) {
        if (catalog.closed === closed) this.#kept.delete(key);
      }
    });
  }
}

/**
 * Returns as few jobs as carry all of these: per catalog one for every hundred decisions, and the settlements. Settlements are
 * first: they do no harm by themselves, should the queue take them and not the rewards.
 */
function jobsOf(taken: readonly TakenReports[]): Job[] {
  const byCatalog = new Map<string, RewardsJob['decisions']>();
  for (const { catalog, reported } of taken) {
    const decisions = byCatalog.get(catalog.name) ?? [];
    byCatalog.set(catalog.name, decisions);
    decisions.push(reported);
  }
  const open = taken.filter(({ reported }) => !reported.closes);
  const jobs = open.map(({ decision }) => settlementJobOf(decision));
  for (const [catalog, all] of byCatalog) {
    for (let from = 0; from < all.length; from += PER_JOB) {
      const payload: RewardsJob = { catalog, decisions: all.slice(from, from + PER_JOB) };
      jobs.push({ name: REWARDS_JOB, id: `rewards-${randomBytes(9).toString('hex')}`, payload });
    }
  }
  return jobs;
}
