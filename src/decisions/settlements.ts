import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { isStoreAway, StoreUnavailableError } from '../errors/store-errors.ts';
import type { Job, JobQueue } from '../queue/job-queue.ts';
import { type DecisionHead, rewardDeadline } from './decision.ts';

export const SETTLEMENT_JOB = 'settlement';

/** Written here, parsed again by the worker that closes the decision. */
export const settlementJob = z.object({
  catalog: z.string(),
  decisionId: z.string(),
  /** When it was due; ms since the epoch. A decision that is due later is another one of the same id, which has its own job. */
  deadline: z.number(),
});

export type SettlementJob = z.infer<typeof settlementJob>;

/** What has to be known of a decision to close it at its deadline. */
export type SettledDecision = Omit<DecisionHead, 'shown'>;

/** Closes decisions at their deadline: with what was reported until then, or with their default reward. */
export interface Settlements {
  /** Call it before a decision or a report is written that has to be settled. @throws StoreUnavailableError when too many wait already */
  assertRoom(): void;
  /** Sees to it that a decision is settled. @throws StoreUnavailableError */
  settle(decision: SettledDecision): Promise<void>;
  close(): Promise<void>;
}

/** The job that closes a decision at its deadline. */
export function settlementJobOf(decision: SettledDecision): Job {
  const deadline = rewardDeadline(decision);
  const payload: SettlementJob = { catalog: decision.catalog, decisionId: decision.id, deadline };
  return { name: SETTLEMENT_JOB, id: `settlement-${decision.id}-${deadline}`, payload, runAt: deadline };
}

/** Settlements that are kept here while the queue is away; with more of them routing answers 503. */
const MOST_WAITING = 10_000;
const BATCH = 100;
const RETRY_MS = 500;

/**
 * Closes decisions over Redis: adds jobs that workers take at the deadline. Routing goes on while the queue is away: its settlements wait in
 * memory, and are lost only if the process ends before the queue is back.
 */
export class QueuedSettlements implements Settlements {
  readonly #queue: Pick<JobQueue, 'add'>;
  /** The oldest first. Added to at the end; only `#send` takes away. */
  readonly #waiting: Job[] = [];
  readonly #closing = new AbortController();
  #sending: Promise<void> | null = null;

  constructor(queue: Pick<JobQueue, 'add'>) {
    this.#queue = queue;
  }

  assertRoom(): void {
    if (this.#waiting.length < MOST_WAITING) return;
    throw new StoreUnavailableError('The job queue is away, and too many settlements wait for it.');
  }

  async settle(decision: SettledDecision): Promise<void> {
    const job = settlementJobOf(decision);
    try {
      await this.#queue.add([job]);
    } catch (error) {
      if (!isStoreAway(error) || this.#waiting.length >= MOST_WAITING) throw error;
      this.#waiting.push(job);
      this.#sending ??= this.#send();
    }
  }

  /** Tries once more; what the queue refuses then is lost. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#sending;
  }

  async #send(): Promise<void> {
    const { signal } = this.#closing;
    let size = 1;
    while (this.#waiting.length > 0) {
      // After a failure one alone: there may be room for that.
      const some = this.#waiting.slice(0, size);
      const isLast = signal.aborted;
      try {
        await this.#queue.add(some);
        this.#waiting.splice(0, some.length);
        size = BATCH;
      } catch {
        if (isLast) break;
        size = 1;
        await delay(RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
    this.#sending = null;
  }
}
