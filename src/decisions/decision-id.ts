import { createHash, randomUUID } from 'node:crypto';

/**
 * Returns an id `<catalog>.<time><random>`, which names the catalog, hence the shard, of the decision. Time is 9 base-36 digits
 * of ms since the epoch, so ids sort by time; 78 random bits follow. With an idempotency key the id is derived from the key
 * alone, so that the same request finds its decision again.
 */
export function decisionIdFor(catalog: string, at: number, idempotencyKey?: string): string {
  if (idempotencyKey !== undefined) {
    const hash = createHash('sha256').update(`${catalog}/${idempotencyKey}`).digest('hex');
    return `${catalog}.k${hash.slice(0, 32)}`;
  }
  // The last 20 digits of a UUID are random but for two bits. Node generates UUIDs in advance, so they are quicker than random bytes.
  const random = randomUUID().replaceAll('-', '').slice(12);
  return `${catalog}.${at.toString(36).padStart(9, '0')}${random}`;
}

/** Returns when a decision was made, from its id, ms since the epoch. Null if the id is derived from a key, or is no decision id. */
export function madeAt(id: string): number | null {
  const time = /^[^.]+\.([0-9a-z]{9})[0-9a-f]{20}$/.exec(id)?.[1];
  return time === undefined ? null : Number.parseInt(time, 36);
}

/** A decision that is older than this has been written to Redis, or never will be; ms. */
const ON_ITS_WAY_MS = 600_000;

/** Returns whether a decision may be one that another router has not written to Redis yet. @param now ms since the epoch */
export function isYoung(id: string, now: number): boolean {
  const at = madeAt(id);
  return at !== null && Math.abs(now - at) < ON_ITS_WAY_MS;
}

/** Returns the catalog of a decision or reward id; null if it is none. */
export function catalogOf(id: string): string | null {
  const dot = id.indexOf('.');
  return dot > 0 ? id.slice(0, dot) : null;
}
