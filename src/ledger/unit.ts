import { createHash } from 'node:crypto';

/**
 * A unit (user, unit or session) is never written down by the name that its caller gave it. Everything durable
 * (decisions, entries, totals of experiments) holds its key; learners hold the number, which is the key's beginning.
 * So that one request to forget a unit finds all of it, nobody else may derive either of them.
 */

/** 16 hex digits that stand for a unit without naming it. */
export function unitKey(unit: string): string {
  return createHash('sha256').update(unit).digest('hex').slice(0, 16);
}

/** The first 32 bits of a unit's key, as learners know it; 0 stands for no unit. */
export function unitNumber(key: string | undefined): number {
  if (key === undefined) return 0;
  return Buffer.from(key.slice(0, 8), 'hex').readUInt32LE(0) || 1;
}

/** How the keys of the units with this number begin. */
export function unitKeyPrefix(number: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes.toString('hex');
}
