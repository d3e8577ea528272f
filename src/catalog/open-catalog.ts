import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Ledger, Ledgers, PositionedEntry } from '../ledger/ledger.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { Embedder } from '../retrieval/embedder.ts';
import { ToolIndex } from '../retrieval/tool-index.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import { loadState } from '../state/load-state.ts';
import type { FoldOutcome } from '../state/outcome.ts';
import { Replica } from '../state/replica.ts';
import type { SnapshotStores } from '../state/snapshot-store.ts';
import { bindEmbedder } from './bind-embedder.ts';
import type { Catalog } from './catalog.ts';
import type { DocumentEmbeddings } from './document-embeddings.ts';

export interface OpenCatalogParts {
  readonly ledgers: Ledgers;
  readonly snapshots: SnapshotStores;
  readonly kernels: Kernels;
  /** Null: BM25 alone. */
  readonly embedder: Embedder | null;
  readonly embeddings: DocumentEmbeddings;
  /** ms since the epoch. */
  now(): number;
  /** ms of a clock that never jumps. */
  steadyNow(): number;
  onFold(catalog: string, folded: PositionedEntry, outcome: FoldOutcome): void;
  /** Nothing is wrong, but whoever runs this will want to know. */
  onNotice(message: string): void;
  /** Something is wrong that the process goes on in spite of. */
  onTrouble(message: string, error: unknown): void;
}

/** Opens a catalog: newest snapshot, tail of the ledger, index over the live tools, vectors of our embedder. */
export async function openCatalog(
  name: string,
  parts: OpenCatalogParts,
): Promise<Catalog & { close(): Promise<void> }> {
  const ledger = await parts.ledgers.open(name);
  const load = (): Promise<CatalogState> => newestState(name, ledger, parts);
  const index = new ToolIndex(parts.kernels);
  const replica = new Replica(await load(), ledger, {
    now: parts.steadyNow,
    reload: load,
    onFold: (folded, outcome) => parts.onFold(name, folded, outcome),
    onReload: (fresh, old) => {
      parts.onNotice(
        `catalog "${name}" was too far behind its ledger at ${old.position}; it goes on from snapshot ${fresh.position}`,
      );
      old.tools.unfollow(index);
      fresh.tools.follow(index);
    },
  });
  replica.state.tools.follow(index);
  await replica.catchUp();
  replica.follow((error) => parts.onTrouble(`catalog "${name}" stopped following its ledger`, error));

  const catalog = {
    name,
    ledger,
    replica,
    index,
    get state() {
      return replica.state;
    },
    now: parts.now,
    embedTools: (tools: readonly { tool: ToolDefinition; hash: string }[]) => parts.embeddings.of(tools),
    close: async () => {
      await replica.close();
      await ledger.close();
      index.free();
      replica.state.free();
    },
  };
  const startsAnew = await bindEmbedder(catalog, parts.embedder);
  if (startsAnew) {
    parts.onNotice(`catalog "${name}" was learned with another embedding model: learning starts anew`);
  }
  return catalog;
}

/** What the newest readable snapshot holds. */
async function newestState(name: string, ledger: Ledger, parts: OpenCatalogParts): Promise<CatalogState> {
  const snapshots = await parts.snapshots.open(name);
  const discarded = await snapshots.discardAfter(await ledger.head());
  if (discarded > 0) {
    parts.onNotice(
      `${discarded} snapshots of catalog "${name}" know more than its ledger; they were put aside`,
    );
  }
  const context = { kernels: parts.kernels, derived: true };
  return loadState(name, snapshots, context, (position, error) =>
    parts.onTrouble(`snapshot ${position} of catalog "${name}" cannot be read; taking the one before`, error),
  );
}
