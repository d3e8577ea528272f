import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { SparseVector } from '../../bandit/sparse-vector.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { InstructionDefinition } from '../ledger/instruction-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { BestSlots, proposalsInTurns } from './best-slots.ts';
import { type Bm25Hits, Bm25Index } from './bm25.ts';
import { instructionText, lexicalText } from './document-text.ts';
import { DecomposedScores, PartScores } from './part-scores.ts';
import { FusedScores } from './retrieval-scores.ts';
import { type Shortlist, type ShortlistRequest, shortlist } from './shortlist.ts';
import { SlotSet } from './slot-set.ts';
import { gramsIn, tokenise } from './tokenise.ts';
import { ExactIndex } from './vectors/exact-index.ts';
import type { IndexReport, VectorIndex } from './vectors/vector-index.ts';

export type CreateVectorIndex = (kernels: Kernels, vectors: ToolVectors) => VectorIndex;

/** With an approximate vector index, at least so many of the best tools by words are scored. */
const OFFERED_BY_WORDS = 200;

/** A query, or a part of one. */
export interface SearchedText {
  /** e(q), or null when there is none: BM25 decides alone. */
  readonly embedding: Float32Array | null;
  /** Its terms, of `tokenise`. */
  readonly tokens: Uint32Array;
}

export interface ToolSearch extends ShortlistRequest, SearchedText {
  /** The parts of a query that asks for several things; their embeddings are null if the query's is. */
  readonly parts?: readonly SearchedText[];
}

export interface ToolSearchResult extends Shortlist {
  /** The largest raw scores in the catalog: how well the best tool fits. */
  readonly bestBm25: number;
  readonly bestSimilarity: number;
}

/**
 * Finds the texts of one table of a catalog by words and by vectors. It follows the table (as a `Follower`); vectors are read
 * from the table's `ToolVectors` and have to be stored there before `put` is called.
 */
export class TextIndex<Indexed extends { readonly slot: number }> {
  readonly #textOf: (record: Indexed) => string | null;
  readonly #kernels: Kernels;
  readonly #createVectorIndex: CreateVectorIndex;
  readonly #live = new SlotSet();
  readonly #words = new Bm25Index();
  #vectors: VectorIndex | null = null;
  #dimensions = 0;

  /** @param textOf what BM25 reads of a record; null: it must not be found. */
  constructor(
    kernels: Kernels,
    textOf: (record: Indexed) => string | null,
    createVectorIndex: CreateVectorIndex = (own, vectors) => new ExactIndex(own, vectors),
  ) {
    this.#kernels = kernels;
    this.#textOf = textOf;
    this.#createVectorIndex = createVectorIndex;
  }

  /** Number of records that can be found. */
  get size(): number {
    return this.#live.size;
  }

  put(record: Indexed): void {
    const { slot } = record;
    const text = this.#textOf(record);
    if (text === null) {
      this.remove(record);
      return;
    }
    this.#live.add(slot);
    this.#words.put(slot, tokenise(text));
    this.#vectors?.put(slot);
  }

  remove({ slot }: { readonly slot: number }): void {
    this.#live.delete(slot);
    this.#words.remove(slot);
    this.#vectors?.remove(slot);
  }

  /** Empties the index, and reads these vectors from now on. */
  reset(vectors: ToolVectors): void {
    for (const slot of this.#live.list().slice()) this.remove({ slot });
    this.replaceVectors(vectors);
  }

  /** Replaces the vectors of the same records; their words stay indexed. */
  replaceVectors(vectors: ToolVectors): void {
    this.#vectors?.free();
    this.#dimensions = vectors.dimensions;
    this.#vectors = vectors.dimensions > 0 ? this.#createVectorIndex(this.#kernels, vectors) : null;
    for (const slot of this.#live.list()) this.#vectors?.put(slot);
  }

  /** Returns the state of the vector index; null when there are no vectors. */
  report(): IndexReport | null {
    return this.#vectors?.report() ?? null;
  }

  /** Returns the terms of a query as outcome memory compares them; they depend on the current document frequencies. */
  queryTerms({ text, tokens }: { readonly text: string; readonly tokens: Uint32Array }): SparseVector {
    return this.#words.queryTerms(tokens, (words) => gramsIn(text, words));
  }

  /** @throws RangeError when the embedding has another length than the tools' vectors. */
  search(request: ToolSearch): ToolSearchResult {
    const parts = (request.parts ?? []).map((part) => this.#searchPart(part, request));
    const whole = this.#searchText(request, wanted(request), parts.length > 0);
    const chosen =
      parts.length === 0 ? this.#choose(whole, request) : this.#chooseFromParts(whole, parts, request);
    return { ...chosen, bestBm25: whole.bestBm25, bestSimilarity: whole.bestSimilarity };
  }

  #searchText({ embedding, tokens }: SearchedText, limit: number, all: boolean): FoundTools {
    if (embedding !== null && embedding.length !== this.#dimensions) {
      throw new RangeError(
        `The query has ${embedding.length} dimensions, the tools have ${this.#dimensions}.`,
      );
    }
    const words = this.#words.search(tokens);
    const vectors =
      embedding === null || this.#vectors === null ? null : this.#vectors.search(embedding, limit, all);
    const near = vectors?.slots ?? this.#live.list();
    // An approximate index returns the nearest tools by vector; the best by words have to be added.
    const isComplete = near.length === this.#live.size;
    const slots = isComplete ? near : unionOf([near, this.#bestByWords(words, limit)]);
    return {
      slots,
      scores: new FusedScores(words, vectors),
      capacity: words.scores.length,
      bestBm25: words.maximum,
      bestSimilarity: vectors === null || slots.length === 0 ? 0 : vectors.maximum,
    };
  }

  #bestByWords({ scores }: Bm25Hits, limit: number): Int32Array {
    const best = new BestSlots(Math.max(limit, OFFERED_BY_WORDS));
    for (const slot of this.#live.list()) if (scores[slot] > 0) best.offer(slot, scores[slot]);
    return best.list();
  }

  #searchPart(part: SearchedText, { limit, pin, recall, exclude }: ToolSearch): FoundPart {
    const { slots, scores, capacity } = this.#searchText(part, wanted({ limit, exclude }), true);
    const kept = new PartScores(part.tokens.length, capacity);
    // Candidates that only other parts found need scores for this part too.
    for (const wanted of [slots, Int32Array.from(pin ?? []), recall?.slots]) {
      if (wanted !== undefined) kept.keep(scores, wanted);
    }
    return { slots: slots.slice(), scores: kept };
  }

  #choose({ slots, scores }: FoundTools, request: ToolSearch): Shortlist {
    return shortlist(this.#live, scores.proposals(slots, request), scores, request);
  }

  /** Chooses the candidates so that every part of the query is represented. */
  #chooseFromParts(whole: FoundTools, parts: readonly FoundPart[], request: ToolSearch): Shortlist {
    const scores = new DecomposedScores(
      whole.scores,
      parts.map((part) => part.scores),
    );
    const isComplete = whole.slots.length === this.#live.size;
    const slots = isComplete ? whole.slots : unionOf([whole, ...parts].map((one) => one.slots));
    const retrieved = proposalsInTurns(slots, scores.basesOf(slots), request);
    return shortlist(this.#live, retrieved, scores, request);
  }

  /** Frees its memory. */
  free(): void {
    this.#vectors?.free();
    this.#vectors = null;
  }
}

/** Finds the tools of one catalog. */
export class ToolIndex extends TextIndex<{ readonly slot: number; readonly tool: ToolDefinition }> {
  constructor(kernels: Kernels, createVectorIndex?: CreateVectorIndex) {
    super(kernels, ({ tool }) => lexicalText(tool), createVectorIndex);
  }
}

/** Finds the instructions of one catalog that are approved. Those of kind `safety` are in every prompt, and never looked for. */
export class InstructionIndex extends TextIndex<{
  readonly slot: number;
  readonly instruction: InstructionDefinition;
}> {
  constructor(kernels: Kernels, createVectorIndex?: CreateVectorIndex) {
    const textOf = (instruction: InstructionDefinition): string | null =>
      instruction.status === 'approved' && instruction.kind !== 'safety'
        ? instructionText(instruction)
        : null;
    super(kernels, ({ instruction }) => textOf(instruction), createVectorIndex);
  }
}

/** The result of one search; valid until the next one. */
interface FoundTools {
  readonly slots: Int32Array;
  readonly scores: FusedScores;
  /** All slots lie below this. */
  readonly capacity: number;
  readonly bestBm25: number;
  readonly bestSimilarity: number;
}

/** The result for one part of the query, copied. */
interface FoundPart {
  readonly slots: Int32Array;
  readonly scores: PartScores;
}

/** Returns how many have to be found so that enough are left without the excluded ones. */
function wanted({ limit, exclude }: Pick<ToolSearch, 'limit' | 'exclude'>): number {
  return limit + (exclude?.size ?? 0);
}

function unionOf(found: readonly Int32Array[]): Int32Array {
  return Int32Array.from(new Set(found.flatMap((slots) => [...slots])));
}
