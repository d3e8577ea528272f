import { JOBS_PREFIX } from '../redis/keys.ts';

/** What is kept of a job in BullMQ. */
export interface JobData {
  readonly payload: unknown;
  /** How often it failed by its own fault. */
  readonly failures: number;
  /** Not before this time of the store, whatever the clock of the worker says; ms since the epoch. */
  readonly dueAt?: number;
}

/** Times of the store, ms since the epoch. */
export interface QueueClock {
  readonly now: () => number;
  /** As Redis says it, without what the store is ahead of it. */
  keeperNow(): number;
}

/** The id of a job in BullMQ, which takes neither colons nor numbers. */
export function bullmqId(id: string): string {
  return `j-${encodeURIComponent(id)}`;
}

/** And back. */
export function ownId(bullmqId: string): string {
  return decodeURIComponent(bullmqId.slice(2));
}

/** Where BullMQ keeps a job. */
export function jobKey(name: string, id: string): string {
  return `${JOBS_PREFIX}:${name}:${bullmqId(id)}`;
}
