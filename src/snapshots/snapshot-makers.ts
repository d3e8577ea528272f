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
 * Makes snapshots for a process that holds no states, in a thread: that loads the newest snapshot, folds what came after it,
 * and writes the result. The thread is kept for the next one: in a new thread, whose code is not compiled yet, folding takes three
 * to six times as long.
 */
export class SnapshotThread {
  readonly #location: () => SnapshotLocation;
  readonly #onWarning: (message: string) => void;
  /** The thread that waits for the next task; null: there is none, or it is at work. */
  #idle: Worker | null = null;

  /** @param location as it is when a snapshot is begun */
  constructor(location: () => SnapshotLocation, onWarning: (message: string) => void) {
    this.#location = location;
    this.#onWarning = onWarning;
  }

  readonly make: MakeSnapshot = async (task) => {
    const thread = this.#idle ?? new Worker(threadFile('snapshot-thread'));
    this.#idle = null;
    // A thread in which a snapshot failed has ended.
    const { warnings, ...made } = await answerOf(thread, { ...task, location: this.#location() });
    if (this.#idle === null) this.#keep(thread);
    else void thread.terminate();
    for (const warning of warnings) this.#onWarning(warning);
    return made;
  };

  /** Call when no snapshot is being made. */
  async close(): Promise<void> {
    await this.#idle?.terminate();
  }

  #keep(thread: Worker): void {
    this.#idle = thread;
    const forget = (): void => {
      if (this.#idle === thread) this.#idle = null;
    };
    thread.once('error', forget).once('exit', forget);
  }
}

function answerOf(thread: Worker, task: SnapshotThreadTask): Promise<SnapshotThreadAnswer> {
  thread.removeAllListeners();
  return new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', (code) => {
      reject(new Error(`The snapshot thread ended with code ${code} and without an answer.`));
    });
    thread.postMessage(task);
  });
}
