import type { JobQueue } from '../queue/job-queue.ts';
import type { Decision } from './decision.ts';
import { settlementJobOf } from './settlement-job.ts';

/** Settlements that are kept here while the queue is away; more of them and routing answers 503. */
const MOST_WAITING = 10_000;
const RETRY_MS = 500;

/**
 * Jobs that close decisions at their deadline. Routing goes on while the queue is away: its settlements wait here,
 * and are lost only if the process ends before the queue is back.
 */
export class Settlements {
  readonly #queue: Pick<JobQueue, 'add'>;
  #waiting: { readonly decision: Decision; readonly defaultReward: number | null }[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(queue: Pick<JobQueue, 'add'>) {
    this.#queue = queue;
  }

  /** @throws QueueUnavailableError when too many wait already */
  async settle(decision: Decision, defaultReward: number | null): Promise<void> {
    try {
      await this.#queue.add([settlementJobOf(decision, defaultReward)]);
    } catch (error) {
      if (!isStoreAway(error) || this.#waiting.length >= MOST_WAITING) throw error;
      this.#waiting.push({ decision, defaultReward });
      this.#timer ??= setTimeout(() => void this.#tryAgain(), RETRY_MS);
    }
  }

  /** Tries once more. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#addWaiting().catch(() => {});
  }

  async #tryAgain(): Promise<void> {
    this.#timer = null;
    try {
      await this.#addWaiting();
    } catch {
      this.#timer ??= setTimeout(() => void this.#tryAgain(), RETRY_MS);
    }
  }

  async #addWaiting(): Promise<void> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    await this.#queue.add(
      waiting.map(({ decision, defaultReward }) => settlementJobOf(decision, defaultReward)),
    );
    this.#waiting = this.#waiting.slice(waiting.length);
  }
}

function isStoreAway(error: unknown): boolean {
  return error instanceof Error && 'retryAfterSeconds' in error;
}
