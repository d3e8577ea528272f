import type { ContextStore } from '../context/context-store.ts';
import type { ContextModelStore } from '../context/training/context-model-store.ts';
import type { DueDecision } from '../decisions/decision-index.ts';
import type { DecisionLogs } from '../decisions/decision-log.ts';
import type { EvaluationStore } from '../evaluation/evaluation-store.ts';
import type { Ledgers } from '../ledger/ledger.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import type { SnapshotLocation } from '../snapshots/snapshot-makers.ts';
import type { Leases, SnapshotStores } from '../snapshots/snapshot-store.ts';
import type { StoreClock } from './store-clock.ts';

/** The ports of everything durable, with one set of adapters per mode. */
export interface Stores {
  /** Why nothing may be written any more, in one sentence; null while it may. */
  readonly lost: string | null;
  readonly deployment: DeploymentMark;
  readonly mode: 'embedded' | 'redis';
  /** The time for everything that is stored in them, or compared with it. */
  readonly clock: StoreClock;
  readonly ledgers: Ledgers;
  readonly snapshots: SnapshotStores;
  readonly leases: Leases;
  readonly decisionLogs: DecisionLogs;
  /**
   * Returns, once, the decisions of a catalog with a default reward that may not be settled yet. Absent over Redis, where jobs of
   * the queue remember them.
   */
  takeAwaitingDefault?(catalog: string): Promise<readonly DueDecision[]>;
  readonly evaluations: EvaluationStore;
  /** What users have, sealed. */
  readonly contexts: ContextStore;
  /** Models that were trained from what users have. */
  readonly contextModels: ContextModelStore;
  readonly queue: JobQueue;
  /** Returns what a thread needs to open ledgers and snapshots itself; absent without Redis, where no thread does. */
  location?(): SnapshotLocation;
  /** Aborts when another process has taken over the stores: nothing is acknowledged any more, and the process has to end. */
  readonly taken: AbortSignal;
  /** Tries whether the stores take writes now. @throws Error that says why not. */
  writable(): Promise<void>;
  /** Closes the stores and releases the data folder. It does not wait for running jobs: close the queue before. */
  close(): Promise<void>;
}

/** Tells one deployment from others, also after it was moved or restored. */
export interface DeploymentMark {
  id(): Promise<string>;
  /** Marks everything written from now on as a copy of that deployment. Other processes wait until `endCopy`. */
  beginCopy(id: string): Promise<void>;
  endCopy(): Promise<void>;
}

/** Who hears of what happens in the stores. */
export interface StoreListeners {
  onError(message: string, error: unknown): void;
  /** Nothing is wrong, but the operator should know. Absent: `onError` is told. */
  onNotice?(message: string): void;
}
