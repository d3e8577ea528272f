import { parentPort, workerData } from 'node:worker_threads';
import { FileLedgerReader } from '../src/ledger/file-ledger-reader.ts';
import { ledgerFolder } from '../src/ledger/file-ledgers.ts';
import { loadKernels } from '../src/load-kernels.ts';
import { FileSnapshotStores } from '../src/state/file-snapshot-store.ts';
import type { SnapshotThreadAnswer, SnapshotThreadTask } from './snapshot-keeper.ts';
import { writeSnapshot } from './write-snapshot.ts';

/** Entry of the thread that makes one snapshot of one catalog of a data folder, and ends. */
const { dataDir, ...task } = workerData as SnapshotThreadTask;
const warnings: string[] = [];
const reader = new FileLedgerReader(ledgerFolder(dataDir, task.catalog));
const position = await writeSnapshot({
  ...task,
  store: await new FileSnapshotStores(dataDir).open(task.catalog),
  read: (after, upTo, limit) => reader.read(after, upTo, limit),
  context: { kernels: await loadKernels((reason) => warnings.push(reason)), derived: false },
  onUnreadable: (at, error) => warnings.push(`snapshot ${at} cannot be read: ${(error as Error).message}`),
});
const answer: SnapshotThreadAnswer = { position, warnings };
parentPort?.postMessage(answer);
