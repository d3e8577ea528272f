import { Worker } from 'node:worker_threads';
import type { Catalog } from '../src/catalog/catalog.ts';
import type { Catalogs } from '../src/catalog/catalogs.ts';
import type { Position } from '../src/ledger/entry.ts';
import { threadFile } from '../src/package-root.ts';
import { snapshotLease } from '../src/state/snapshot-store.ts';
import type { Stores } from '../src/stores.ts';

/** What a snapshot thread is told, and what it answers. */
export interface SnapshotThreadTask {
  readonly dataDir: string;
  readonly catalog: string;
  readonly upTo: Position;
  readonly fence: number;
  readonly keep: number;
}

export interface SnapshotThreadAnswer {
  readonly position: Position;
  readonly warnings: readonly string[];
}

/** A snapshot is due after this many entries: folding them again takes a second or two. */
const DUE_AFTER_ENTRIES = 2_000;
const LOOK_EVERY_MS = 5_000;
/** The newest, one to fall back on, and one more for luck. */
const KEEP = 3;

export interface SnapshotKeeperParts {
  readonly stores: Stores;
  readonly dataDir: string;
  trouble(message: string, error: unknown): void;
}

/** Sees to it that every catalog has a recent snapshot, and trims its ledger behind the oldest one that is kept. */
export class SnapshotKeeper {
  readonly #parts: SnapshotKeeperParts;
  readonly #catalogs: Catalogs;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(catalogs: Catalogs, parts: SnapshotKeeperParts) {
    this.#catalogs = catalogs;
    this.#parts = parts;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
    // At once, too: a process that keeps crashing must not fold the same entries at every start.
    this.#look();
  }

  /** Makes a snapshot of a catalog now, whether or not one is due. Answers its position, null if not allowed to. */
  async snapshot(catalog: Catalog): Promise<Position | null> {
    const { stores, dataDir, trouble } = this.#parts;
    const lease = await stores.leases.acquire(snapshotLease(catalog.name));
    if (lease === null) return null;
    try {
      const { warnings, position } = await runThread({
        dataDir,
        catalog: catalog.name,
        upTo: catalog.state.position,
        fence: lease.fence,
        keep: KEEP,
      });
      for (const warning of warnings) trouble(warning, null);
      const kept = await (await stores.snapshots.open(catalog.name)).list();
      // With one snapshot alone there is nothing to fall back on but the ledger from its beginning.
      const oldest = kept.at(-1);
      if (kept.length > 1 && oldest !== undefined) await catalog.ledger.trim(oldest);
      return position;
    } finally {
      await lease.release();
    }
  }

  /** Waits for the snapshot that is being made. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#looking;
  }

  #look(): void {
    this.#looking = this.#looking.then(async () => {
      for (const catalog of this.#catalogs.all()) {
        if (this.#closed) return;
        try {
          const [newest = 0] = await (await this.#parts.stores.snapshots.open(catalog.name)).list();
          if (catalog.state.position - newest >= DUE_AFTER_ENTRIES) await this.snapshot(catalog);
        } catch (error) {
          this.#parts.trouble(`no snapshot of catalog "${catalog.name}" could be made`, error);
        }
      }
    });
  }
}

function runThread(task: SnapshotThreadTask): Promise<SnapshotThreadAnswer> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(threadFile('snapshot-thread'), { workerData: task });
    let answer: SnapshotThreadAnswer | null = null;
    thread.once('message', (message: SnapshotThreadAnswer) => {
      answer = message;
    });
    thread.once('error', reject);
    thread.once('exit', (code) => {
      if (answer !== null) resolve(answer);
      else reject(new Error(`The snapshot thread ended with code ${code} and without an answer.`));
    });
  });
}
