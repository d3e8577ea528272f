import type { DecisionLogs } from '../decisions/decision-log.ts';
import type { EvaluationStore } from '../evaluation/evaluation-store.ts';
import type { Ledgers } from '../ledger/ledger.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import type { SnapshotLocation } from '../snapshots/snapshot-schedule.ts';
import type { Leases, SnapshotStores } from '../snapshots/snapshot-store.ts';
import type { StoreClock } from './store-clock.ts';

/** The ports behind which everything durable lies: one set of adapters per mode. */
export interface Stores {
  /** Why nothing may be written any more, in one sentence; null while it may. */
  readonly lost: string | null;
  readonly deployment: DeploymentMark;
  readonly mode: 'embedded' | 'redis';
  /** The time for everything that is kept in them, or compared with what is. */
  readonly clock: StoreClock;
  readonly ledgers: Ledgers;
  readonly snapshots: SnapshotStores;
  readonly leases: Leases;
  readonly decisionLogs: DecisionLogs;
  readonly evaluations: EvaluationStore;
  readonly queue: JobQueue;
  /** Where a thread finds ledgers and snapshots, to open them for itself. */
  location(): SnapshotLocation;
  /** Aborts when another process has taken over the stores: nothing is acknowledged any more, and the process has to end. */
  readonly taken: AbortSignal;
  /** Tries whether something could be written now. @throws Error that says why not. */
  writable(): Promise<void>;
  /** Closes what is open and releases the data folder. Running jobs get no time: if there are some, close the queue before. */
  close(): Promise<void>;
}

/** Tells one deployment from others, also after it was moved or restored. */
export interface DeploymentMark {
  id(): Promise<string>;
  /** What is written from now on is a copy of that deployment. Other processes wait until `endCopy`. */
  beginCopy(id: string): Promise<void>;
  endCopy(): Promise<void>;
}
