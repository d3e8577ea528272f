import type { Position } from '../ledger/entry.ts';

export interface StoredSnapshot {
  readonly position: Position;
  readonly bytes: Uint8Array;
}

/**
 * Keeps the newest snapshots of one catalog. The bytes are opaque here and contain their checksum.
 * Contract: tests/contracts/snapshot-store.contract.ts.
 */
export interface SnapshotStore {
  /**
   * Stores a snapshot, atomically: readers see the old list or the new one. Keeps the newest `keep`.
   * @param fence token of the lease under which it is written.
   * @throws StaleFenceError when a newer lease has been given out since; nothing was written then.
   */
  put(snapshot: StoredSnapshot, fence: number, keep: number): Promise<void>;
  /** Returns the positions of the stored snapshots, newest first. */
  list(): Promise<Position[]>;
  /** Returns the snapshot at this position; null when there is none. */
  get(position: Position): Promise<StoredSnapshot | null>;
  /**
   * Removes snapshots of later positions from the list, and returns how many. It is needed when a damaged end of the ledger was
   * cut off: the next entries get positions that those snapshots already cover.
   */
  discardAfter(position: Position): Promise<number>;
  close(): Promise<void>;
}

export interface Lease {
  /** Grows with every grant; a store refuses writes under an older one. */
  readonly fence: number;
  /** Aborted as soon as the lease can no longer be assumed to be held. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** Gives out leases, at most one per name at a time. Contract: tests/contracts/lease.contract.ts. */
export interface Leases {
  /** Returns the lease, or null while another holder has it. It is renewed by itself until released or lost. */
  acquire(name: string): Promise<Lease | null>;
  close(): Promise<void>;
}

/** Name of the lease under which snapshots of a catalog are written; stores know it by this name. */
export function snapshotLease(catalog: string): string {
  return `snapshots-${catalog}`;
}

export class StaleFenceError extends Error {
  override readonly name = 'StaleFenceError';
}

/** The snapshot stores of one deployment, one per catalog. */
export interface SnapshotStores {
  /** Returns the store of a catalog, which is created when there is none. */
  open(catalog: string): Promise<SnapshotStore>;
  /** Returns the position of the newest snapshot of a catalog, readable or not; 0 when there is none. Creates nothing. */
  newest(catalog: string): Promise<Position>;
  /** Deletes the snapshots of a catalog for good. */
  remove(catalog: string): Promise<void>;
}
