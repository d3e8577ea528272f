import { parentPort, workerData } from 'node:worker_threads';
import { FileLedgerReader } from '../src/ledger/file-ledger.ts';
import { ledgerFolder } from '../src/ledger/file-ledgers.ts';
import { FileSnapshotStores } from '../src/snapshots/file-snapshot-store.ts';
import type {
  SnapshotLocation,
  SnapshotThreadAnswer,
  SnapshotThreadTask,
} from '../src/snapshots/snapshot-schedule.ts';
import { type SnapshotAccess, writeSnapshot } from '../src/snapshots/stored-state.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';

/** Entry of the thread that makes one snapshot of one catalog, and ends. */
const { location, ...task } = workerData as SnapshotThreadTask;
const warnings: string[] = [];
const { store, read, close } = await open(location, task.catalog);
const position = await writeSnapshot({
  ...task,
  store,
  read,
  context: { kernels: await loadKernels(), derived: false },
  onUnreadable: (at, error) => warnings.push(`snapshot ${at} cannot be read: ${(error as Error).message}`),
});
close();
const answer: SnapshotThreadAnswer = { position, warnings };
parentPort?.postMessage(answer);

async function open(location: SnapshotLocation, catalog: string): Promise<SnapshotAccess> {
  if ('dataDir' in location) {
    const reader = new FileLedgerReader(ledgerFolder(location.dataDir, catalog));
    return {
      store: await new FileSnapshotStores(location.dataDir).open(catalog),
      read: (after, upTo, limit) => reader.read(after, upTo, limit),
      close: () => {},
    };
  }
  // Its libraries are loaded where they are needed, and nowhere else.
  const { openRedisAccess } = await import('./redis-snapshot-access.ts');
  return openRedisAccess(location.redisUrl, location.epoch, catalog);
}
