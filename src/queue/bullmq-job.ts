import { JOBS_PREFIX } from '../redis/keys.ts';
import { membersByScore } from '../redis/members-by-score.ts';
import type { RedisClient } from '../redis/redis-connection.ts';
import { Script } from '../redis/script.ts';

/** The data of a job in BullMQ. */
export interface JobData {
  readonly payload: unknown;
  /** How often it failed, stores that were away not counted. */
  readonly failures: number;
  /** When it was asked for, if that was later than it was added; ms since the epoch by the clock of the store. */
  readonly runAt?: number;
  /** The same time by the clock of Redis. It does not run before, whatever the clock of the worker says. */
  readonly dueAt?: number;
}

/** Times of the store, ms since the epoch. */
export interface QueueClock {
  readonly now: () => number;
  /** The clock of Redis, without what the store is ahead of it. */
  referenceNow(): number;
}

/** Returns the id of a job in BullMQ, which takes neither colons nor numbers. */
export function bullmqId(id: string): string {
  return `j-${encodeURIComponent(id)}`;
}

/** Returns the id that `bullmqId` was given. */
export function ownId(bullmqId: string): string {
  return decodeURIComponent(bullmqId.slice(2));
}

/** Returns the key of the set of jobs that failed and wait for their next attempt. */
export function failedBeforeKey(name: string): string {
  return `${JOBS_PREFIX}:${name}:failed-before`;
}

/** Returns the key under which BullMQ keeps a job. */
export function jobKey(name: string, id: string): string {
  return `${JOBS_PREFIX}:${name}:${bullmqId(id)}`;
}

/** KEYS waiting, active, failed before. Answers the ids in all of them, as of one moment. */
const NOT_DELAYED = new Script(`
local ids = redis.call('LRANGE', KEYS[1], 0, -1)
for _, id in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do ids[#ids + 1] = id end
for _, id in ipairs(redis.call('SMEMBERS', KEYS[3])) do ids[#ids + 1] = id end
return ids
`);

/**
 * Yields the ids in BullMQ of all jobs of one name. Delayed ones come first, in batches, because there may be many; a job that
 * becomes due or is tried again meanwhile is found among the others afterwards. None is missed.
 */
export async function* idsOfJobs(client: RedisClient, name: string): AsyncGenerator<string> {
  const queue = `${JOBS_PREFIX}:${name}`;
  const seen = new Set<string>();
  for await (const page of membersByScore(client, `${queue}:delayed`)) {
    for (const { member } of page) {
      if (seen.has(member)) continue;
      seen.add(member);
      yield member;
    }
  }
  const others = await NOT_DELAYED.run(
    client,
    [`${queue}:wait`, `${queue}:active`, failedBeforeKey(name)],
    [],
  );
  for (const id of others as string[]) {
    if (seen.has(id)) continue;
    seen.add(id);
    yield id;
  }
}
