import { join } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { FileContextStore } from '../context/file-context-store.ts';
import { FileContextModelStore } from '../context/training/file-context-model-store.ts';
import { FileDecisionLogs } from '../decisions/file-decision-logs.ts';
import { FileEvaluationStore } from '../evaluation/file-evaluation-store.ts';
import { FileLedgers } from '../ledger/file-ledgers.ts';
import { FileJobQueue, systemClock } from '../queue/file-job-queue.ts';
import { every } from '../scheduling/every.ts';
import { FileLeases } from '../snapshots/file-leases.ts';
import { FileSnapshotStores } from '../snapshots/file-snapshot-store.ts';
import { checkWritable, lockDataFolder, readDeployment, writeDeployment } from '../storage/data-folder.ts';
import type { TornTail } from '../storage/segment-log.ts';
import { Closers } from './closers.ts';
import { StoreClock } from './store-clock.ts';
import type { StoreListeners, Stores } from './stores.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const EXPIRE_EVERY_MS = 10 * 60 * 1000;

/**
 * Opens the stores of one machine without Redis: everything is in the data folder, which no other process may use meanwhile.
 * @throws DataFolderLockedError, StoreUnavailableError, LedgerCorruptError
 */
export async function openEmbeddedStores(
  settings: Pick<Settings, 'dataDir' | 'keepDecisionsDays'>,
  listeners: StoreListeners,
): Promise<Stores> {
  const closers = new Closers(listeners.onError);
  return closers.during(() => open(settings, listeners, closers));
}

async function open(
  { dataDir, keepDecisionsDays }: Pick<Settings, 'dataDir' | 'keepDecisionsDays'>,
  { onError, onNotice = (message) => onError(message, null) }: StoreListeners,
  closers: Closers,
): Promise<Stores> {
  const lock = await lockDataFolder(dataDir, onNotice);
  closers.add(() => lock.release());
  const clock = await StoreClock.start({
    reference: 'this machine',
    ask: () => Date.now(),
    onSkew: (sentence) => onError(sentence, null),
  });
  closers.add(() => clock.close());
  const { now, notice } = clock;
  const logs = {
    lock,
    onTornTail: ({ file, offset, bytes }: TornTail): void =>
      onNotice(`${bytes} bytes of an unfinished write were cut off ${file} at byte ${offset}`),
  };
  const leases = new FileLeases(dataDir);
  closers.add(() => leases.close());
  const decisionLogs = new FileDecisionLogs(dataDir, {
    ...logs,
    retainMs: keepDecisionsDays * DAY_MS,
    now,
    notice,
    onError,
  });
  closers.add(() => decisionLogs.close());
  const snapshots = new FileSnapshotStores(dataDir);
  const expiry = every(EXPIRE_EVERY_MS, () => decisionLogs.expire(), {
    onError: (error) => onError('expired decisions could not be deleted', error),
  });
  closers.add(() => expiry.close());
  const queue = await FileJobQueue.open(join(dataDir, 'jobs'), { ...logs, clock: { ...systemClock, now } });
  closers.add(() => queue.close(0));
  return {
    mode: 'embedded',
    clock,
    get lost() {
      return lock.lost.aborted ? lock.lost.reason.message : null;
    },
    deployment: {
      id: () => readDeployment(dataDir),
      beginCopy: (id) => writeDeployment(dataDir, id),
      endCopy: async () => {},
    },
    ledgers: new FileLedgers(dataDir, {
      ...logs,
      knownUpTo: (catalog) => snapshots.newest(catalog),
    }),
    snapshots,
    leases,
    decisionLogs,
    takeAwaitingDefault: async (catalog) => (await decisionLogs.open(catalog)).takeAwaitingDefault(),
    evaluations: new FileEvaluationStore(dataDir),
    contexts: new FileContextStore(dataDir),
    contextModels: new FileContextModelStore(dataDir),
    queue,
    taken: lock.lost,
    writable: () => checkWritable(dataDir, lock),
    close: closers.close,
  };
}
