import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { JobQueue } from '../queue/job-queue.ts';
import { observationKey, REWARDS_JOB, type RewardsJob } from './reward-job.ts';

type Decision = RewardsJob['decisions'][number];

/** Accepted and not folded yet: a few thousand where a thousand a second are accepted. */
const MOST_KEPT = 10_000;
const AT_ONCE = 100;
const RETRY_MS = 1_000;

/**
 * Rewards on their way: durable in the queue, and remembered here until this process has folded them. A store that lost
 * its last moments, or was restored from a backup, has lost them from the queue as well, and gets them again.
 */
export class AcceptedRewards {
  readonly #queue: Pick<JobQueue, 'add'>;
  /** By the key of the entry that they become. */
  readonly #waiting = new Map<string, { readonly catalog: string; readonly decision: Decision }>();
  readonly #closing = new AbortController();

  constructor(queue: Pick<JobQueue, 'add'>) {
    this.#queue = queue;
  }

  /** Resolves when they are durable. @throws QueueUnavailableError, OutcomeUnknownError */
  async send(catalog: string, decisions: readonly Decision[]): Promise<void> {
    for (const decision of decisions) this.#waiting.set(observationKey(decision), { catalog, decision });
    while (this.#waiting.size > MOST_KEPT) this.folded(this.#waiting.keys().next().value!);
    try {
      await this.#add(catalog, decisions);
    } catch (error) {
      for (const decision of decisions) this.folded(observationKey(decision));
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
    const decisions = [...this.#waiting.values()]
      .filter((one) => one.catalog === catalog)
      .map(({ decision }) => decision);
    for (let from = 0; from < decisions.length && !signal.aborted; ) {
      try {
        await this.#add(catalog, decisions.slice(from, from + AT_ONCE));
        from += AT_ONCE;
      } catch {
        await wait(RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  close(): void {
    this.#closing.abort();
  }

  #add(catalog: string, decisions: readonly Decision[]): Promise<void> {
    const id = `rewards-${randomBytes(9).toString('hex')}`;
    return this.#queue.add([{ name: REWARDS_JOB, id, payload: { catalog, decisions } }]);
  }
}
