import type { Position } from '../ledger/entry.ts';
import type { PositionedEntry } from '../ledger/ledger.ts';
import { inSlices } from '../scheduling/slices.ts';
import { CatalogState } from '../state/catalog-state.ts';
import { fold } from '../state/fold.ts';
import type { LearnerContext } from '../state/learner-version.ts';
import { decodeSnapshotInSteps, encodeSnapshot } from '../state/snapshot-codec.ts';
import type { SnapshotTask } from './snapshot-schedule.ts';
import type { SnapshotStore } from './snapshot-store.ts';

/**
 * Returns the state of the newest readable snapshot, or an empty one. A snapshot that cannot be read is reported and the one
 * before it is used: the ledger still has the entries since then.
 */
export async function loadState(
  catalog: string,
  snapshots: SnapshotStore,
  context: LearnerContext,
  onUnreadable: (position: number, error: unknown) => void,
): Promise<CatalogState> {
  for (const position of await snapshots.list()) {
    const stored = await snapshots.get(position);
    if (stored === null) continue;
    try {
      return await inSlices(decodeSnapshotInSteps(stored.bytes, catalog, context));
    } catch (error) {
      onUnreadable(position, error);
    }
  }
  return new CatalogState(catalog, context);
}

const READ_BATCH = 512;

/** A snapshot that is made from the ledger, and not from a state that serves. */
export interface LedgerSnapshotTask extends SnapshotTask {
  readonly store: SnapshotStore;
  /** Of the last entry that is folded. */
  readonly upTo: Position;
  /** Returns entries after this position, at most so many. */
  read(after: Position, limit: number): Promise<readonly PositionedEntry[]>;
  readonly context: LearnerContext;
  onUnreadable(position: Position, error: unknown): void;
}

/**
 * Makes a snapshot apart from the state that serves: loads the newest snapshot, folds the ledger from there (canonical
 * state only), writes the result, and returns its position.
 */
export async function writeSnapshot(task: LedgerSnapshotTask): Promise<Position> {
  const { catalog, upTo, fence, keep, store } = task;
  const state = await loadState(catalog, store, { ...task.context, derived: false }, task.onUnreadable);
  try {
    const start = state.position;
    while (state.position < upTo) {
      const entries = await task.read(state.position, Math.min(READ_BATCH, upTo - state.position));
      if (entries.length === 0) break;
      for (const entry of entries) fold(state, entry);
    }
    const { position } = state;
    if (position > start) await store.put({ position, bytes: encodeSnapshot(state) }, fence, keep);
    return position;
  } finally {
    state.free();
  }
}
