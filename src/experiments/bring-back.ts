import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { encodeLearner } from '../../bandit/learner-codec.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { Problem } from '../errors/problem.ts';
import { inSlices } from '../scheduling/slices.ts';
import type { SnapshotStore } from '../snapshots/snapshot-store.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import { fold } from '../state/fold.ts';
import { decodeSnapshotInSteps } from '../state/snapshot-codec.ts';

/** Attempts: a reward that arrives between the last one that was folded and the entry makes it start over. */
const MAX_ATTEMPTS = 100;
const READ_BATCH = 16;

/**
 * Restores a version that is not kept any more from a snapshot, with everything that was observed since: a separate replica
 * folds the ledger from there, and the learner is appended to the ledger as an entry.
 * @throws Problem version-not-found, or unavailable while rewards come in faster than they can be folded.
 */
export async function bringBack(
  catalog: Catalog,
  snapshots: SnapshotStore,
  { position, version }: { readonly position: number; readonly version: string },
  kernels: Kernels,
): Promise<void> {
  const stored = await snapshots.get(position);
  if (stored === null) throw lost(version, 'its snapshot was deleted meanwhile');
  const context = { kernels, derived: false };
  const state = await inSlices(decodeSnapshotInSteps(stored.bytes, catalog.name, context));
  try {
    state.learners.acquire(version);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      await foldAll(state, catalog);
      const learner = state.learners.get(version);
      if (learner?.embedder.fingerprint !== state.fingerprint)
        throw lost(version, 'the catalog has another embedding model since');
      const outcome = await catalog.replica.submit({
        kind: 'version',
        key: `version/${randomUUID()}`,
        at: catalog.now(),
        version,
        learner: {
          settings: learner.settings,
          bytes: Buffer.from(encodeLearner(learner.policy.save(), crc32)).toString('base64'),
          asOf: state.position,
        },
      });
      if (outcome.kind !== 'version-stale') return;
    }
  } finally {
    state.free();
  }
  throw new Problem(
    'unavailable',
    'Rewards come in faster than this version can be brought up to date.',
    'Try again when there is less traffic.',
    { retryAfterSeconds: 30 },
  );
}

async function foldAll(state: CatalogState, { ledger }: Catalog): Promise<void> {
  for (;;) {
    const entries = await ledger.read(state.position, READ_BATCH);
    if (entries.length === 0) return;
    for (const entry of entries) fold(state, entry);
    await nextTurn();
  }
}

function lost(version: string, why: string): Problem {
  return new Problem(
    'version-not-found',
    `Version "${version}" cannot be brought back: ${why}.`,
    'GET …/snapshots lists those that are kept.',
  );
}
