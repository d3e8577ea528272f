import { setTimeout as wait } from 'node:timers/promises';
import { Problem } from '../errors/problem.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import { every, type Repeated } from '../scheduling/every.ts';
import type { Leases } from '../snapshots/snapshot-store.ts';
import { BeingErasedError, type ContextStore, type UserPlace } from './context-store.ts';
import type { UserContexts } from './user-contexts.ts';

export interface ExpiredItemsParts {
  readonly catalogs: { all(): readonly { readonly name: string }[]; find(name: string): unknown };
  readonly store: ContextStore;
  readonly leases: Leases;
  readonly contexts: Pick<UserContexts, 'removeExpired'>;
  /** ms since the epoch. */
  now(): number;
  onError(message: string, error: unknown): void;
  /** Between one batch and the next. */
  readonly pause?: (signal: AbortSignal) => Promise<void>;
}

const LOOK_EVERY_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;
/** With a pause of a second between them this is a million users a day. */
const USERS_AT_ONCE = 10;
const PAUSE_MS = 1_000;
const VERSION = 1;

/** Of one catalog, in the store. Times are ms since the epoch. */
interface Round {
  readonly version: number;
  readonly began: number;
  /** When the round before began: what was over by then is deleted. */
  readonly by: number;
  /** Where it goes on; null: it has ended. */
  readonly cursor: string | null;
}

/**
 * Deletes items from the store whose time is over, of users nobody asks for as well: ten users a second, one process at a time, going
 * on where the last one stopped. A round goes through all users of a catalog and begins a day or more after the one before. It
 * deletes what was over when the round *before* began, so that a clock which was ahead for less than a day deletes nothing that is not
 * over; one that is behind deletes later.
 */
export class ExpiredItems {
  readonly #parts: ExpiredItemsParts;
  readonly #sweeps: Repeated;

  constructor(parts: ExpiredItemsParts) {
    this.#parts = parts;
    this.#sweeps = every(LOOK_EVERY_MS, (signal) => this.#sweepAll(signal), {
      onError: (error) => this.#report(error),
    });
  }

  /** Goes through the catalogs whose round is due now. Resolves when they are done, or another process is at it. */
  sweep(): Promise<void> {
    return this.#sweeps.now();
  }

  close(): Promise<void> {
    return this.#sweeps.close();
  }

  async #sweepAll(signal: AbortSignal): Promise<void> {
    for (const { name } of this.#parts.catalogs.all()) {
      if (signal.aborted) return;
      // Looked at before the lease is taken: most of the time nothing is due.
      if ((await this.#roundOf(name)) === null) continue;
      const lease = await this.#parts.leases.acquire(`context-sweep-${name}`);
      if (lease === null) continue;
      try {
        await this.#sweep(name, AbortSignal.any([signal, lease.lost]));
      } finally {
        await lease.release();
      }
    }
  }

  async #sweep(catalog: string, signal: AbortSignal): Promise<void> {
    const { store, catalogs, pause = pauseOf } = this.#parts;
    let round = await this.#roundOf(catalog);
    await store.removeUnfinished(catalog);
    for (let at = round?.cursor ?? null; round !== null && !signal.aborted; ) {
      const { users, next } = await store.someUsers(catalog, at, USERS_AT_ONCE);
      // Most catalogs have no users with items: of these nothing is to be remembered.
      if (at === null && next === null && users.length === 0) return;
      for (const user of users) await this.#sweepUser({ catalog, user }, round.by);
      // Deleted meanwhile: nothing of it is to be written again.
      if (catalogs.find(catalog) === undefined) return;
      at = next;
      round = { ...round, cursor: next };
      await store.writeSweep(catalog, Buffer.from(JSON.stringify(round)));
      if (next === null) return;
      await pause(signal);
    }
  }

  async #sweepUser(place: UserPlace, by: number): Promise<void> {
    try {
      await this.#parts.contexts.removeExpired(place, by);
    } catch (error) {
      // Its own failure holds up no other user; a store that is away, or a secret that is not set, does.
      if (error instanceof BeingErasedError) return;
      if (isStoreAway(error) || error instanceof Problem) throw error;
      this.#report(error);
    }
  }

  #report(error: unknown): void {
    if (!isStoreAway(error)) this.#parts.onError('items whose time is over could not be deleted', error);
  }

  /** The round that is under way, or begins now; null: none is due. */
  async #roundOf(catalog: string): Promise<Round | null> {
    const last = parsed(await this.#parts.store.readSweep(catalog));
    const now = this.#parts.now();
    if (last !== null && last.cursor !== null && last.began <= now) return last;
    if (last !== null && now >= last.began && now < last.began + DAY_MS) return null;
    // Without an earlier round, or with one that began in a future that has not come, nothing is known to be over for long.
    return {
      version: VERSION,
      began: now,
      by: last === null || last.began > now ? 0 : last.began,
      cursor: null,
    };
  }
}

/** Null: there was none, or it is of another version: the next round deletes nothing and the one after it does. */
function parsed(progress: Buffer | null): Round | null {
  try {
    const round = JSON.parse(progress?.toString() ?? 'null');
    return round?.version === VERSION ? round : null;
  } catch {
    return null;
  }
}

async function pauseOf(signal: AbortSignal): Promise<void> {
  await wait(PAUSE_MS, undefined, { signal, ref: false }).catch(() => {});
}
