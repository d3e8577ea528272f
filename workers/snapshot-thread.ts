import { parentPort, workerData } from 'node:worker_threads';
import type { Position } from '../src/ledger/entry.ts';
import { FileLedgerReader } from '../src/ledger/file-ledger-reader.ts';
import { ledgerFolder } from '../src/ledger/file-ledgers.ts';
import type { PositionedEntry } from '../src/ledger/ledger.ts';
import { RedisLedgers } from '../src/ledger/redis-ledgers.ts';
import { loadKernels } from '../src/load-kernels.ts';
import { RedisConnections } from '../src/redis/redis-connection.ts';
import { FileSnapshotStores } from '../src/state/file-snapshot-store.ts';
import { RedisSnapshotStores } from '../src/state/redis-snapshot-store.ts';
import type { SnapshotStore } from '../src/state/snapshot-store.ts';
import type { SnapshotPlace, SnapshotThreadAnswer, SnapshotThreadTask } from './snapshot-keeper.ts';
import { writeSnapshot } from './write-snapshot.ts';

interface OpenPlace {
  readonly store: SnapshotStore;
  read(after: Position, upTo: Position, limit: number): Promise<readonly PositionedEntry[]>;
  close(): void;
}

/** Entry of the thread that makes one snapshot of one catalog, and ends. */
const { place, ...task } = workerData as SnapshotThreadTask;
const warnings: string[] = [];
const { store, read, close } = await open(place, task.catalog);
const position = await writeSnapshot({
  ...task,
  store,
  read,
  context: { kernels: await loadKernels((reason) => warnings.push(reason)), derived: false },
  onUnreadable: (at, error) => warnings.push(`snapshot ${at} cannot be read: ${(error as Error).message}`),
});
close();
const answer: SnapshotThreadAnswer = { position, warnings };
parentPort?.postMessage(answer);

async function open(where: SnapshotPlace, catalog: string): Promise<OpenPlace> {
  if ('dataDir' in where) {
    const reader = new FileLedgerReader(ledgerFolder(where.dataDir, catalog));
    return {
      store: await new FileSnapshotStores(where.dataDir).open(catalog),
      read: (after, upTo, limit) => reader.read(after, upTo, limit),
      close: () => {},
    };
  }
  const connections = await RedisConnections.open(where.redisUrl);
  const ledger = await new RedisLedgers(connections).open(catalog);
  return {
    store: await new RedisSnapshotStores(connections).open(catalog),
    read: (after, upTo, limit) => ledger.read(after, Math.min(limit, upTo - after)),
    close: () => connections.close(),
  };
}
