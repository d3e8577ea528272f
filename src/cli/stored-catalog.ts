import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { loadState } from '../snapshots/stored-state.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import { fold } from '../state/fold.ts';
import type { Stores } from '../stores/stores.ts';

const READ_BATCH = 512;

/** What the stores hold of one catalog. */
export interface StoredCatalog {
  /** What the learners take in the memory of a process that ranks: a sentence for each version. */
  readonly learners: readonly string[];
  /** Those whose newest sync failed have an error. */
  readonly sources: readonly { readonly name: string; readonly error?: string | null }[];
  readonly tools: readonly { readonly tool: ToolDefinition; readonly nameThere?: string }[];
}

/** Reads a catalog from the stores of a service that does not run. */
export async function readStoredCatalog(
  catalog: string,
  stores: Stores,
  kernels: Kernels,
  onError: (message: string) => void,
): Promise<StoredCatalog> {
  const ledger = await stores.ledgers.open(catalog);
  const snapshots = await stores.snapshots.open(catalog);
  const state = await loadState(catalog, snapshots, { kernels, derived: true }, (position) =>
    onError(`Snapshot ${position} of catalog "${catalog}" cannot be read: the one before is used.`),
  );
  try {
    for (;;) {
      const entries = await ledger.read(state.position, READ_BATCH);
      if (entries.length === 0)
        return {
          learners: sentences(catalog, state),
          sources: [...state.sources.all()],
          tools: [...state.tools.live()],
        };
      for (const entry of entries) fold(state, entry);
    }
  } finally {
    state.free();
    await ledger.close();
  }
}

function sentences(catalog: string, { tools, learners }: CatalogState): string[] {
  const known = [...tools.records()].length;
  return [...learners.all()].map(({ version, policy }) => {
    const { matrices, perTool, memory, cases } = policy.sizeInBytes();
    const ofTools = perTool + tools.vectors.sizeInBytes;
    const parts = [
      `matrices ${megabytes(matrices)}`,
      `tools: ${each(ofTools, known)}`,
      `cases: ${each(memory, cases)}`,
    ];
    return `${catalog}, ${version}: ${megabytes(matrices + ofTools + memory)} (${parts.join('; ')})`;
  });
}

function each(bytes: number, count: number): string {
  if (count === 0) return 'none';
  return `${count.toLocaleString('en')} of ${Math.ceil(bytes / count).toLocaleString('en')} bytes`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}
