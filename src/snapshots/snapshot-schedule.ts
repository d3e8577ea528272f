import type { Position } from '../ledger/entry.ts';
import { lastBefore } from '../ledger/find-position.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { OpenLedgers } from '../ledger/open-ledgers.ts';
import { every, type Repeated } from '../scheduling/every.ts';
import { type Leases, type SnapshotStores, snapshotLease } from './snapshot-store.ts';

/** Writes a snapshot of what is known of a catalog, unless its newest one is as new. Entries that come meanwhile need not be in it. */
export type MakeSnapshot = (task: SnapshotTask) => Promise<MadeSnapshot>;

export interface MadeSnapshot {
  /** Of the newest snapshot that there is now. */
  readonly position: Position;
  /** Time that went into it, without that of starting a thread; ms. */
  readonly workedMs: number;
}

export interface SnapshotTask {
  readonly catalog: string;
  /** Of the lease under which it is written. */
  readonly fence: number;
  /** How many snapshots are kept. */
  readonly keep: number;
}

/** A snapshot is due after this many entries: folding them again takes about half a second of the next start. */
const DUE_AFTER_ENTRIES = 1_000;
/** The last one: folding so many in a process whose code is not compiled yet takes a tenth of a second. */
const DUE_AT_CLOSE_AFTER_ENTRIES = 200;
/** Folding so many again takes a minute, so a snapshot is made at once, and the ledger is trimmed even behind a single one. */
const TOO_MANY_TO_FOLD_AGAIN = 100_000;
const LOOK_EVERY_MS = 5_000;
/** After a start: not at once, it has more urgent things to do, but soon: it may be one of many in a row. */
const FIRST_LOOK_MS = 1_000;
/** Making snapshots takes one part in so many of the time, however large they are. */
const REST = 20;
/** The newest, and two to fall back on. */
const KEEP = 3;

export interface SnapshotScheduleParts {
  readonly stores: { readonly leases: Leases; readonly snapshots: SnapshotStores };
  readonly ledgers: OpenLedgers;
  /**
   * Entries younger than this (ms since the epoch) stay in the ledger even if no snapshot needs them: rewards as long as
   * the decisions they belong to, since exports and evaluations are made from both.
   */
  keepSince(): number;
  /** Whether `close` makes a last one where the next start would have much to fold. */
  readonly lastAtClose: boolean;
  readonly make: MakeSnapshot;
  onError(message: string, error: unknown): void;
}

/** Makes a snapshot of every catalog when one is due, and trims its ledger behind the oldest one that is kept. */
export class SnapshotSchedule {
  readonly #parts: SnapshotScheduleParts;
  readonly #looks: Repeated;
  /** When the next one may be made, by a steady clock in ms. */
  readonly #notBefore = new Map<string, number>();

  constructor(parts: SnapshotScheduleParts) {
    this.#parts = parts;
    this.#looks = every(
      LOOK_EVERY_MS,
      (signal) => this.#snapshotAll((name) => this.#dueAfter(name), signal),
      {
        firstMs: FIRST_LOOK_MS,
        onError: (error) => this.#report('the catalogs that need a snapshot are not known', error as Error),
      },
    );
  }

  /** Makes a snapshot of a catalog now, whether or not one is due, and returns its position; null while another process holds the lease. */
  async snapshot(catalog: string, ledger: Ledger): Promise<Position | null> {
    const { stores, make } = this.#parts;
    const lease = await stores.leases.acquire(snapshotLease(catalog));
    if (lease === null) return null;
    try {
      const { position, workedMs } = await make({ catalog, fence: lease.fence, keep: KEEP });
      this.#notBefore.set(catalog, performance.now() + REST * workedMs);
      const kept = await (await stores.snapshots.open(catalog)).list();
      // With one snapshot alone there is nothing to fall back on but the ledger from its beginning.
      const oldest = kept.at(-1);
      const isEnough = kept.length > 1 || position > TOO_MANY_TO_FOLD_AGAIN;
      if (isEnough && oldest !== undefined) await ledger.trim(await this.#trimmable(ledger, oldest));
      return position;
    } finally {
      await lease.release();
    }
  }

  /** The position up to which neither a snapshot nor an evaluation of kept decisions needs the ledger. */
  #trimmable(ledger: Ledger, oldest: Position): Promise<Position> {
    return lastBefore(ledger, this.#parts.keepSince(), oldest);
  }

  /** Resolves when no snapshot is being made. */
  idle(): Promise<void> {
    return this.#looks.idle();
  }

  /** Waits for the snapshot that is being made, and makes the last ones. Failures are reported. */
  async close(): Promise<void> {
    await this.#looks.close();
    if (this.#parts.lastAtClose) await this.#snapshotAll(() => DUE_AT_CLOSE_AFTER_ENTRIES);
  }

  /** @param dueAfter after how many entries a snapshot of a catalog is due */
  async #snapshotAll(dueAfter: (catalog: string) => number, signal?: AbortSignal): Promise<void> {
    for (const name of await this.#parts.ledgers.names()) {
      if (signal?.aborted) return;
      await this.#snapshotIfDue(name, dueAfter(name)).catch(async (error: Error) => {
        // Deleted meanwhile: then it needs none.
        if ((await this.#parts.ledgers.get(name).catch(() => null)) === null) return;
        this.#report(`no snapshot of catalog "${name}" could be made`, error);
      });
    }
  }

  #report(message: string, error: Error): void {
    // Another Redis was found at the address: that is reported once, where it is found out.
    const causes = [error, error.cause];
    const isLost = causes.some((one) => one instanceof Error && one.name === 'RedisLostError');
    if (!isLost) this.#parts.onError(message, error);
  }

  #dueAfter(catalog: string): number {
    // Where folding is what takes the time, resting would only make the next one take longer.
    const isResting = performance.now() < (this.#notBefore.get(catalog) ?? 0);
    return isResting ? TOO_MANY_TO_FOLD_AGAIN : DUE_AFTER_ENTRIES;
  }

  async #snapshotIfDue(catalog: string, dueAfter: number): Promise<void> {
    const { ledgers, stores } = this.#parts;
    const ledger = await ledgers.get(catalog);
    if (ledger === null) return;
    const newest = await stores.snapshots.newest(catalog);
    if ((await ledger.head()) - newest >= dueAfter) await this.snapshot(catalog, ledger);
  }
}
