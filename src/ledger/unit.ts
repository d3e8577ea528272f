import { createHash } from 'node:crypto';

/**
 * A unit (user, unit or session) is never stored under the name that its caller gave it. Decisions, entries and totals of
 * experiments hold its key; learners hold its number, which is the beginning of the key. Keys and numbers are derived in
 * this file alone, so that a request to forget a unit finds everything that is kept about it.
 */

/** Returns 16 hex digits that stand for a unit without naming it. */
export function unitKey(unit: string): string {
  return createHash('sha256').update(unit).digest('hex').slice(0, 16);
}

/** Parts of a task's name: its id as the caller gave it, and its user or unit, if the request named one. */
export interface TaskName {
  readonly task: string;
  /** `userId`, else `unitId`. */
  readonly owner?: string | undefined;
}

/** Returns 16 hex digits that stand for a task id, and 16 more for its owner if there is one. Nothing keeps the names themselves. */
export function taskKey({ task, owner }: TaskName): string {
  return unitKey(`task/${task}`) + (owner === undefined ? '' : unitKey(owner));
}

/** Returns the key of a task id alone, whoever owns it. */
export function taskIdKey(key: string): string {
  return key.slice(0, 16);
}

/** Parts of the name of a thread: what is served in it stays where it is. */
export interface ThreadName {
  readonly sessionId?: string | undefined;
  /** Counts where there is no session. */
  readonly task?: string | undefined;
  readonly owner?: string | undefined;
  /** Definitions in another format are other bytes. */
  readonly format: string;
}

/** Returns 16 hex digits that stand for a thread. */
export function threadKey({ sessionId, task, owner, format }: ThreadName): string {
  const conversation = sessionId === undefined ? { task } : { sessionId };
  return unitKey(`thread/${JSON.stringify([conversation, owner ?? null, format])}`);
}

/**
 * Returns the first 32 bits of a unit's key, which is all that learners know of it. 0 stands for no unit, so that a key that
 * begins with eight zeros has number 1.
 */
export function unitNumber(key: string | undefined): number {
  if (key === undefined) return 0;
  return Buffer.from(key.slice(0, 8), 'hex').readUInt32LE(0) || 1;
}

/** Returns the beginnings of the keys of all units with this number. */
export function unitKeyPrefixes(number: number): readonly string[] {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  const prefix = bytes.toString('hex');
  return number === 1 ? [prefix, '00000000'] : [prefix];
}
