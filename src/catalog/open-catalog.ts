import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Ledger, Ledgers, PositionedEntry } from '../ledger/ledger.ts';
import { type CreateVectorIndex, InstructionIndex, ToolIndex } from '../retrieval/tool-index.ts';
import type { SnapshotStores } from '../snapshots/snapshot-store.ts';
import { loadState } from '../snapshots/stored-state.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { FoldResult } from '../state/fold-result.ts';
import { Replica } from '../state/replica.ts';
import type { Catalog } from './catalog.ts';
import { CatalogEmbedder } from './catalog-embedder.ts';
import type { Embedders } from './embedders.ts';

export interface OpenCatalogParts {
  readonly ledgers: Ledgers;
  readonly snapshots: SnapshotStores;
  readonly kernels: Kernels;
  readonly embedders: Embedders;
  /** How vectors are searched. */
  readonly createVectorIndex: CreateVectorIndex;
  /** ms since the epoch; `notice` is called with times that are found in the store. */
  readonly clock: { readonly now: () => number; readonly notice: (time: number) => void };
  /** ms of a clock that never jumps. */
  steadyNow(): number;
  onFold(catalog: string, folded: PositionedEntry, outcome: FoldResult): void;
  /** The store has lost entries that were folded, or has no more those that were not: a snapshot was loaded. */
  onReload(catalog: string): void;
  /** Nothing is wrong, but the operator should know. */
  onNotice(message: string): void;
  /** Something is wrong that the process goes on in spite of. */
  onError(message: string, error: unknown): void;
}

/** Opens a catalog: newest snapshot, tail of the ledger, index over the live tools, vectors of our embedder. */
export async function openCatalog(
  name: string,
  create: boolean,
  parts: OpenCatalogParts,
): Promise<Catalog & { close(because?: Error): Promise<void> }> {
  const ledger = await (create ? parts.ledgers.open(name) : parts.ledgers.openExisting(name));
  try {
    return await follow(name, ledger, parts);
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

async function follow(
  name: string,
  ledger: Ledger,
  parts: OpenCatalogParts,
): Promise<Catalog & { close(because?: Error): Promise<void> }> {
  const { clock } = parts;
  const load = async (): Promise<CatalogState> => {
    const state = await newestState(name, ledger, parts);
    clock.notice(state.clock);
    return state;
  };
  const index = new ToolIndex(parts.kernels, parts.createVectorIndex);
  const instructionIndex = new InstructionIndex(parts.kernels, parts.createVectorIndex);
  let embedding: CatalogEmbedder | null = null;
  const replica = new Replica(await load(), ledger, {
    now: parts.steadyNow,
    reload: load,
    onFold: (folded, outcome) => {
      clock.notice(folded.entry.at);
      parts.onFold(name, folded, outcome);
      if (outcome.kind === 'embedder') embedding?.follow();
    },
    onReload: (fresh, old) => {
      parts.onNotice(
        `catalog "${name}" was too far behind its ledger at ${old.position}; it goes on from snapshot ${fresh.position}`,
      );
      old.tools.unfollow(index);
      fresh.tools.follow(index);
      old.instructions.unfollow(instructionIndex);
      fresh.instructions.follow(instructionIndex);
      embedding?.follow();
      parts.onReload(name);
    },
  });
  const closing = new AbortController();
  const own = new CatalogEmbedder({ name, replica, now: clock.now, ...parts });
  const close = async (because?: Error): Promise<void> => {
    closing.abort();
    own.close();
    await replica.close(because);
    index.free();
    instructionIndex.free();
    replica.state.free();
  };
  try {
    replica.state.tools.follow(index);
    replica.state.instructions.follow(instructionIndex);
    await replica.catchUp();
    // From now on and not when it has started: another process may move the catalog while our model is being opened.
    embedding = own;
    replica.follow((error) => parts.onError(`catalog "${name}" stopped following its ledger`, error));
    await own.start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    name,
    ledger,
    replica,
    index,
    instructionIndex,
    get state() {
      return replica.state;
    },
    closed: closing.signal,
    now: clock.now,
    get embedder() {
      return own.embedder;
    },
    get embedderDown() {
      return own.isDown;
    },
    bindEmbedder: (model) => own.bind(model),
    bindVersion: (version, learnedWith) => own.bindVersion(version, learnedWith),
    embedDocuments: (texts, signal) => own.embedDocuments(texts, signal),
    close: async (because) => {
      await close(because);
      await ledger.close();
    },
  };
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
    parts.onError(`snapshot ${position} of catalog "${name}" cannot be read; taking the one before`, error),
  );
}
