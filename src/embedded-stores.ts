import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import { FileEvaluationStore } from './evaluation/file-evaluation-store.ts';
import { FileLedgers } from './ledger/file-ledgers.ts';
import { systemClock } from './queue/clock.ts';
import { FileJobQueue } from './queue/file-job-queue.ts';
import { FileDecisionLogs } from './routing/file-decision-logs.ts';
import { FileLeases } from './state/file-leases.ts';
import { FileSnapshotStores } from './state/file-snapshot-store.ts';
import { lockDataFolder } from './storage/data-folder.ts';
import { readDeployment, writeDeployment } from './storage/deployment-file.ts';
import type { TornTail } from './storage/segment-log.ts';
import { StoreClock } from './store-clock.ts';
import type { Stores } from './stores.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const EXPIRE_EVERY_MS = 10 * 60 * 1000;

/**
 * One machine, no Redis: everything lies in the data folder, which no other process may use meanwhile.
 * @throws DataFolderLockedError, StorageUnavailableError, LedgerCorruptError
 */
export async function openEmbeddedStores(
  settings: Pick<Settings, 'dataDir' | 'keepDecisionsDays' | 'maxPendingRewards'>,
  { trouble }: { trouble(message: string, error: unknown): void },
): Promise<Stores> {
  const { dataDir } = settings;
  const lock = await lockDataFolder(dataDir);
  const onLost = (): void =>
    trouble(`the data folder "${dataDir}" was taken by another process; stop one of them`, lock.lost.reason);
  lock.lost.addEventListener('abort', onLost);
  const clock = await StoreClock.start({
    keeper: 'this machine',
    ask: () => Date.now(),
    onSkew: (sentence) => trouble(sentence, null),
  });
  const { now, notice } = clock;
  const queue = await FileJobQueue.open(join(dataDir, 'jobs'), {
    maxJobs: settings.maxPendingRewards,
    clock: { ...systemClock, now },
  }).catch(async (error) => {
    clock.close();
    await lock.release();
    throw error;
  });
  const decisionLogs = new FileDecisionLogs(dataDir, {
    retainMs: settings.keepDecisionsDays * DAY_MS,
    now,
    notice,
  });
  const onTornTail = ({ file, offset, bytes }: TornTail): void =>
    trouble(`${bytes} bytes of an unfinished write were cut off ${file} at byte ${offset}`, null);
  const leases = new FileLeases(dataDir);
  const expiry = setInterval(
    () => decisionLogs.expire().catch((error) => trouble('expired decisions could not be deleted', error)),
    EXPIRE_EVERY_MS,
  );
  expiry.unref();
  return {
    mode: 'embedded',
    clock,
    lost: null,
    deployment: {
      id: () => readDeployment(dataDir),
      beginCopy: (id) => writeDeployment(dataDir, id),
      endCopy: async () => {},
    },
    ledgers: new FileLedgers(dataDir, { now, onTornTail }),
    snapshots: new FileSnapshotStores(dataDir),
    leases,
    decisionLogs,
    evaluations: new FileEvaluationStore(dataDir),
    queue,
    close: async () => {
      clearInterval(expiry);
      clock.close();
      await decisionLogs.close();
      await leases.close();
      lock.lost.removeEventListener('abort', onLost); // giving it up is no loss
      await lock.release();
    },
  };
}
