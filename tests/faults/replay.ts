import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { FileLedger } from '../../src/ledger/file-ledger.ts';
import { ledgerFolder } from '../../src/ledger/file-ledgers.ts';
import { FileLeases } from '../../src/snapshots/file-leases.ts';
import { FileSnapshotStores } from '../../src/snapshots/file-snapshot-store.ts';
import { snapshotLease } from '../../src/snapshots/snapshot-store.ts';
import { writeSnapshot } from '../../src/snapshots/stored-state.ts';
import { CatalogState } from '../../src/state/catalog-state.ts';
import { fold } from '../../src/state/fold.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { SegmentLog } from '../../src/storage/segment-log.ts';

/** What a data folder holds of one catalog, read while no process uses it. */
export class StoredCatalog {
  readonly #dataDir: string;
  readonly #context: { readonly kernels: Kernels; readonly derived: false };

  constructor(dataDir: string, kernels: Kernels) {
    this.#dataDir = dataDir;
    this.#context = { kernels, derived: false };
  }

  /** Position of the newest entry. */
  head(): Promise<number> {
    return this.#withLedger((ledger) => ledger.head());
  }

  /** Byte of the (only) ledger file at which an entry starts. */
  async offsetOf(position: number): Promise<number> {
    const log = await SegmentLog.open(ledgerFolder(this.#dataDir, 'default'));
    const [{ offset }] = await log.read(position - 1, 1).finally(() => log.close());
    return offset;
  }

  /** Makes a snapshot as the service does, of the state at a position. */
  async writeSnapshot(upTo: number): Promise<void> {
    const leases = new FileLeases(this.#dataDir);
    const lease = await leases.acquire(snapshotLease('default'));
    if (lease === null) throw new Error('somebody else writes snapshots here');
    const store = await new FileSnapshotStores(this.#dataDir).open('default');
    await this.#withLedger((ledger) =>
      writeSnapshot({
        catalog: 'default',
        upTo,
        fence: lease.fence,
        keep: 3,
        store,
        read: (after, limit) => ledger.read(after, limit),
        context: this.#context,
        onUnreadable: (_, error) => {
          throw error;
        },
      }),
    );
    await leases.close();
  }

  /** Position and bytes of every snapshot, newest first. */
  async snapshots(): Promise<{ position: number; bytes: Uint8Array }[]> {
    const store = await new FileSnapshotStores(this.#dataDir).open('default');
    const stored = await Promise.all((await store.list()).map((position) => store.get(position)));
    return stored.filter((snapshot) => snapshot !== null);
  }

  /** Folds the whole ledger; answers the canonical state after it and at each of these positions. */
  async replay(positions: readonly number[]): Promise<{ end: Uint8Array; at: Map<number, Uint8Array> }> {
    const state = new CatalogState('default', this.#context);
    const at = new Map<number, Uint8Array>();
    await this.#foldAfter(state, () => {
      if (positions.includes(state.position)) at.set(state.position, encodeSnapshot(state));
    });
    return { end: freed(state), at };
  }

  /** The canonical state after the whole ledger, starting from a snapshot. */
  async replayFrom(snapshot: Uint8Array): Promise<Uint8Array> {
    const state = decodeSnapshot(snapshot, 'default', this.#context);
    await this.#foldAfter(state);
    return freed(state);
  }

  async #foldAfter(state: CatalogState, folded: () => void = () => {}): Promise<void> {
    await this.#withLedger(async (ledger) => {
      for (;;) {
        const entries = await ledger.read(state.position, 500);
        if (entries.length === 0) return;
        for (const entry of entries) {
          fold(state, entry);
          folded();
        }
      }
    });
  }

  async #withLedger<T>(use: (ledger: FileLedger) => Promise<T>): Promise<T> {
    const ledger = await FileLedger.open(ledgerFolder(this.#dataDir, 'default'));
    try {
      return await use(ledger);
    } finally {
      await ledger.close();
    }
  }
}

function freed(state: CatalogState): Uint8Array {
  const bytes = encodeSnapshot(state);
  state.free();
  return bytes;
}
