import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { SparseVector } from '../../bandit/sparse-vector.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { Bm25Index } from './bm25.ts';
import { lexicalText } from './document-text.ts';
import { ExactIndex } from './exact-index.ts';
import { FusedScores } from './fused-score.ts';
import { type Shortlist, type ShortlistRequest, shortlist } from './shortlist.ts';
import { SlotSet } from './slot-set.ts';
import { tokenise } from './tokenise.ts';
import type { VectorIndex } from './vector-index.ts';

export interface ToolSearch extends ShortlistRequest {
  /** e(q), or null when there is none: BM25 decides alone. */
  readonly embedding: Float32Array | null;
  /** The query's terms, of `tokenise`. */
  readonly tokens: Uint32Array;
}

export interface ToolSearchResult extends Shortlist {
  /** The largest raw scores in the catalog: how well anything at all fits. */
  readonly bestBm25: number;
  readonly bestSimilarity: number;
}

/**
 * Finds the tools of one catalog by words and by meaning. Follows the catalog's tool table (it is a
 * `ToolFollower`); vectors are read from the table's `ToolVectors` and have to be there before `put`.
 */
export class ToolIndex {
  readonly #kernels: Kernels;
  readonly #live = new SlotSet();
  readonly #words = new Bm25Index();
  #vectors: VectorIndex | null = null;
  #dimensions = 0;

  constructor(kernels: Kernels) {
    this.#kernels = kernels;
  }

  /** Number of tools that can be found. */
  get size(): number {
    return this.#live.size;
  }

  put({ slot, tool }: { readonly slot: number; readonly tool: ToolDefinition }): void {
    this.#live.add(slot);
    this.#words.put(slot, tokenise(lexicalText(tool)));
    this.#vectors?.put(slot);
  }

  remove({ slot }: { readonly slot: number }): void {
    this.#live.delete(slot);
    this.#words.remove(slot);
    this.#vectors?.remove(slot);
  }

  /** Starts anew, empty, over these vectors. */
  reset(vectors: ToolVectors): void {
    for (const slot of this.#live.list().slice()) this.remove({ slot });
    this.#vectors?.free();
    this.#dimensions = vectors.dimensions;
    this.#vectors = vectors.dimensions > 0 ? new ExactIndex(this.#kernels, vectors) : null;
  }

  /** The query as outcome memory compares it; depends on the document frequencies of now. */
  queryTerms(tokens: Uint32Array): SparseVector {
    return this.#words.queryTerms(tokens);
  }

  /** @throws RangeError when the embedding has another length than the tools' vectors. */
  search(request: ToolSearch): ToolSearchResult {
    const { embedding, tokens, limit } = request;
    if (embedding !== null && embedding.length !== this.#dimensions) {
      throw new RangeError(
        `The query has ${embedding.length} dimensions, the tools have ${this.#dimensions}.`,
      );
    }
    const words = this.#words.search(tokens);
    const vectors =
      embedding === null || this.#vectors === null ? null : this.#vectors.search(embedding, limit);
    const scores = new FusedScores(words, vectors);
    const found = vectors?.slots ?? this.#live.list();
    return {
      ...shortlist(this.#live, found, scores, request),
      bestBm25: words.maximum,
      bestSimilarity: vectors === null || found.length === 0 ? 0 : vectors.maximum,
    };
  }

  /** Gives its memory back. */
  free(): void {
    this.#vectors?.free();
    this.#vectors = null;
  }
}
