import { Worker } from 'node:worker_threads';
import { threadFile } from '../../config/package-root.ts';
import type { Replica } from '../state/replica.ts';
import type { MadeSnapshot, MakeSnapshot, SnapshotTask } from './snapshot-schedule.ts';
import type { SnapshotStores } from './snapshot-store.ts';

/**
 * Makes snapshots of the states that serve. They are encoded a few milliseconds at a time, and folding waits meanwhile, so
 * that the snapshot is that of one position.
 * @param replicaOf null for a catalog that is not open here
 */
export function snapshotsOfReplicas(
  stores: SnapshotStores,
  replicaOf: (catalog: string) => Pick<Replica, 'snapshot'> | null,
): MakeSnapshot {
  return async ({ catalog, fence, keep }) => {
    const begun = performance.now();
    const store = await stores.open(catalog);
    const [newest = 0] = await store.list();
    const snapshot = await replicaOf(catalog)?.snapshot();
    const isNewer = snapshot !== undefined && snapshot.position > newest;
    if (isNewer) await store.put(snapshot, fence, keep);
    return { position: isNewer ? snapshot.position : newest, workedMs: performance.now() - begun };
  };
}

/** Where a snapshot thread finds ledger and snapshots: it opens them for itself. */
export interface SnapshotLocation {
  readonly redisUrl: string;
  readonly epoch: string;
}

/** What a snapshot thread gets, and what it sends back. */
export interface SnapshotThreadTask extends SnapshotTask {
  readonly location: SnapshotLocation;
}

export interface SnapshotThreadAnswer extends MadeSnapshot {
  readonly warnings: readonly string[];
}

/**
 * Makes snapshots for a process that holds no states: a thread loads the newest snapshot, folds what came after it, writes
 * the result, and ends.
 * @param location as it is when a snapshot is begun
 */
export function snapshotsInThreads(
  location: () => SnapshotLocation,
  onWarning: (message: string) => void,
): MakeSnapshot {
  return async (task) => {
    const { warnings, ...made } = await runThread({ ...task, location: location() });
    for (const warning of warnings) onWarning(warning);
    return made;
  };
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
