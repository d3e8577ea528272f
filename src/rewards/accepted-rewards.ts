import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { Job, JobQueue } from '../queue/job-queue.ts';
import { observationKey, REWARDS_JOB, type RewardsJob } from './reward-job.ts';

type Decision = RewardsJob['decisions'][number];

/** Reports of one decision that are to be taken, and the job that closes it if they do not. */
export interface TakenReports {
  readonly catalog: Pick<Catalog, 'name' | 'closed'>;
  readonly decision: Decision;
  readonly settlement: Job | null;
}

/** Accepted and not folded yet: a few thousand where a thousand a second are accepted. */
const MOST_KEPT = 10_000;
/** Decisions in one job. */
const AT_ONCE = 100;
const RETRY_MS = 1_000;

/**
 * Rewards on their way: durable in the queue, and remembered here until this process has folded them or their catalog
 * is closed. A store that lost its last moments, or was restored from a backup, has lost them from the queue as well, and
 * gets them again.
 */
export class AcceptedRewards {
  readonly #queue: Pick<JobQueue, 'add'>;
  /** By the key of the entry that they become. */
  readonly #waiting = new Map<string, TakenReports>();
  /** Those whose catalogs tell when they are closed. */
  readonly #watched = new WeakSet<AbortSignal>();
  readonly #closing = new AbortController();

  constructor(queue: Pick<JobQueue, 'add'>) {
    this.#queue = queue;
  }

  /**
   * Resolves when they are durable, all of them.
   * @throws StoreUnavailableError when nothing of them was accepted; OutcomeUnknownError
   */
  async send(taken: readonly TakenReports[]): Promise<void> {
    for (const one of taken) this.#remember(one);
    while (this.#waiting.size > MOST_KEPT) this.folded(this.#waiting.keys().next().value!);
    const settlements = taken.map(({ settlement }) => settlement).filter((job) => job !== null);
    try {
      // First what does no harm by itself, should the queue take one and not the other.
      await this.#queue.add([...settlements, ...jobsOf(taken)]);
    } catch (error) {
      for (const { decision } of taken) this.folded(observationKey(decision));
      throw error;
    }
  }

  /** The entry of this key has been folded here. */
  folded(key: string): void {
    this.#waiting.delete(key);
  }

  /** Puts what a catalog still waits for into the queue again; the fold takes it once. Resolves when it is there. */
  async sendAgain(catalog: string): Promise<void> {
    const { signal } = this.#closing;
    const lost = [...this.#waiting].filter(([, one]) => one.catalog.name === catalog);
    while (lost.length > 0 && !signal.aborted) {
      const taken = lost.splice(0, AT_ONCE).filter(([key, one]) => this.#waiting.get(key) === one);
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

  #remember(taken: TakenReports): void {
    const { closed } = taken.catalog;
    if (closed.aborted) return;
    this.#waiting.set(observationKey(taken.decision), taken);
    if (this.#watched.has(closed)) return;
    this.#watched.add(closed);
    closed.addEventListener('abort', () => {
      for (const [key, { catalog }] of this.#waiting) {
        if (catalog.closed === closed) this.#waiting.delete(key);
      }
    });
  }
}

/** As few as there can be. */
function jobsOf(taken: readonly TakenReports[]): Job[] {
  const byCatalog = new Map<string, Decision[]>();
  for (const { catalog, decision } of taken) {
    const decisions = byCatalog.get(catalog.name) ?? [];
    byCatalog.set(catalog.name, decisions);
    decisions.push(decision);
  }
  const jobs: Job[] = [];
  for (const [catalog, all] of byCatalog) {
    for (let from = 0; from < all.length; from += AT_ONCE) {
      const payload: RewardsJob = { catalog, decisions: all.slice(from, from + AT_ONCE) };
      jobs.push({ name: REWARDS_JOB, id: `rewards-${randomBytes(9).toString('hex')}`, payload });
    }
  }
  return jobs;
}
