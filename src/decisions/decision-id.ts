import { createHash, randomUUID } from 'node:crypto';

/**
 * `<catalog>.<time><random>`: a decision id says which catalog, hence which shard, it belongs to. Time is 9
 * base-36 digits of ms since the epoch, so ids sort by time; 78 random bits follow. With an idempotency key the
 * id follows from the key alone, so that the same request finds its decision again.
 */
export function decisionIdFor(catalog: string, at: number, idempotencyKey?: string): string {
  if (idempotencyKey !== undefined) {
    const hash = createHash('sha256').update(`${catalog}/${idempotencyKey}`).digest('hex');
    return `${catalog}.k${hash.slice(0, 32)}`;
  }
  // The last 20 digits of a UUID are random but for two bits; Node draws them in stock, bytes it asks for each time.
  const random = randomUUID().replaceAll('-', '').slice(12);
  return `${catalog}.${at.toString(36).padStart(9, '0')}${random}`;
}

/** When a decision was made, as its id says it: ms since the epoch. Null where the id follows from a key, or is none. */
export function madeAt(id: string): number | null {
  const time = /^[^.]+\.([0-9a-z]{9})[0-9a-f]{20}$/.exec(id)?.[1];
  return time === undefined ? null : Number.parseInt(time, 36);
}

/** The catalog of a decision or reward id; null if it is none. */
export function catalogOf(id: string): string | null {
  const dot = id.indexOf('.');
  return dot > 0 ? id.slice(0, dot) : null;
}
