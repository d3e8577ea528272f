import type { BoundEmbedder } from '../ledger/entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Embedder } from '../models/embedder.ts';
import type { InstructionIndex, ToolIndex } from '../retrieval/tool-index.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { EmbedderResult } from '../state/fold-result.ts';
import type { Replica } from '../state/replica.ts';

/** One open catalog: its ledger, the replica that folds it, and the indexes that follow the replica's tools and instructions. */
export interface Catalog {
  readonly name: string;
  readonly ledger: Ledger;
  readonly replica: Replica;
  readonly index: ToolIndex;
  /** Of the approved instructions that are chosen for a query. */
  readonly instructionIndex: InstructionIndex;
  /** The state to read from; only the replica writes it. After an `await` it may be another object. */
  readonly state: CatalogState;
  /** Aborted when the catalog is closed: what is kept for it elsewhere has to be released then. */
  readonly closed: AbortSignal;
  /** ms since the epoch. */
  now(): number;
  /** The embedder that made the vectors of this catalog; null: it has none, or cannot be asked now. */
  readonly embedder: Embedder | null;
  /** An embedder is wanted, but words have to decide alone for now. */
  readonly embedderDown: boolean;
  /** Moves the catalog to the embedder of this name. @throws UnusableModelError @throws EmbedderUnavailableError */
  bindEmbedder(model: string): Promise<void>;
  /** Back to the embedder that a version of the policy was learned with, and to that version. @throws as above */
  bindVersion(version: string, learnedWith: BoundEmbedder): Promise<EmbedderResult>;
  /**
   * Vectors of the texts of tools or instructions, from the cache or the embedder; null for each where there is no embedder.
   * @throws EmbedderUnavailableError
   */
  embedDocuments(texts: readonly string[], signal?: AbortSignal): Promise<readonly (Float32Array | null)[]>;
}
