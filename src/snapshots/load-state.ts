import { inSlices } from '../slices.ts';
import { CatalogState } from '../state/catalog-state.ts';
import type { LearnerContext } from '../state/policy-loader.ts';
import { decodeSnapshotInSteps } from '../state/snapshot-codec.ts';
import type { SnapshotStore } from './snapshot-store.ts';

/**
 * The newest state that a snapshot gives, or an empty one. A snapshot that cannot be read is reported and the one
 * before it is taken: the ledger still holds what came since.
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
