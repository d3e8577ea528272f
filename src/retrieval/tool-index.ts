import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { SparseVector } from '../../bandit/sparse-vector.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { InstructionDefinition } from '../ledger/instruction-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { BestSlots, inTurns, type ProposalRequest } from './best-slots.ts';
import { type Bm25Hits, Bm25Index } from './bm25.ts';
import { instructionText, lexicalText } from './document-text.ts';
import { DecomposedScores, PartScores, UsedScores } from './part-scores.ts';
import { LISTED, type RetrievalMemo, type Retrieved } from './retrieval-memo.ts';
import { FusedScores, type RetrievalScores, type ToolScores } from './retrieval-scores.ts';
import { ScoreColumns } from './score-columns.ts';
import type { FoundPart, FoundText, SearchedText, SearchedTexts } from './searched-texts.ts';
import { type Shortlist, type ShortlistRequest, shortlist } from './shortlist.ts';
import { SlotSet } from './slot-set.ts';
import { gramsIn, tokenise } from './tokenise.ts';
import { ExactIndex } from './vectors/exact-index.ts';
import type { IndexReport, VectorIndex } from './vectors/vector-index.ts';

/** @param onChange has to be called when searches may give something else, for another reason than `put` and `remove`. */
export type CreateVectorIndex = (kernels: Kernels, vectors: ToolVectors, onChange: () => void) => VectorIndex;

/** With an approximate vector index, at least so many of the best tools by words are scored. */
const OFFERED_BY_WORDS = 200;
/** With more exclusions an approximate index is asked for more tools than otherwise. */
const MOST_EXCLUDED = OFFERED_BY_WORDS - LISTED;

export interface ToolSearch extends ShortlistRequest, SearchedText {
  /** The parts of a query that asks for several things; their embeddings are null if the query's is. */
  readonly parts?: readonly SearchedText[];
  /** By slot, how far uses alone speak for a tool, 0…1; absent: nothing is known of uses. */
  readonly used?: ReadonlyMap<number, number>;
  /** What is known of this query and these parts from earlier searches; it is read, and added to. */
  readonly memo?: RetrievalMemo | undefined;
  /** What was found for texts of this request in an earlier search of the same turn; it is read, and added to. */
  readonly searched?: SearchedTexts | undefined;
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
class TextIndex<Indexed extends { readonly slot: number }> {
  readonly #textOf: (record: Indexed) => string | null;
  readonly #kernels: Kernels;
  readonly #createVectorIndex: CreateVectorIndex;
  readonly #live = new SlotSet();
  readonly #words = new Bm25Index();
  readonly #columns = new ScoreColumns();
  #vectors: VectorIndex | null = null;
  #dimensions = 0;
  #contents: object | null = null;

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

  /** Stands for what can be found now, and how: it is another object as soon as a search may give something else. */
  get contents(): object {
    this.#contents ??= {};
    return this.#contents;
  }

  put(record: Indexed): void {
    const { slot } = record;
    const text = this.#textOf(record);
    if (text === null) {
      this.remove(record);
      return;
    }
    this.#contents = null;
    this.#live.add(slot);
    this.#words.put(slot, tokenise(text));
    this.#vectors?.put(slot);
  }

  remove({ slot }: { readonly slot: number }): void {
    this.#contents = null;
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
    this.#contents = null;
    this.#vectors?.free();
    this.#dimensions = vectors.dimensions;
    const changed = (): void => {
      this.#contents = null;
    };
    this.#vectors = vectors.dimensions > 0 ? this.#createVectorIndex(this.#kernels, vectors, changed) : null;
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
    const memo = canBeKept(request) ? request.memo : undefined;
    const searchedFor = memo === undefined ? request : { ...request, limit: LISTED, exclude: NOTHING };
    let searched: FoundTools | null = null;
    const found = (): FoundTools => {
      searched ??= this.#retrieve(searchedFor);
      return searched;
    };
    const { contents } = this;
    if (memo !== undefined && memo.at(contents) === null && found().isRepeatable) {
      memo.begin(contents, keptOf(found()));
    }
    const known = memo?.at(contents) ?? null;
    const { bestBm25, bestSimilarity } = known ?? found();
    const kept = known === null ? null : memo!.proposals(request);
    const proposed = kept ?? inTurns(found().lists(request), request.limit);
    const of = (slot: number): ToolScores => memo!.of(slot) ?? memo!.keep(slot, found().scores.of(slot));
    const scores = known === null ? found().scores : { of };
    return { ...shortlist(this.#live, proposed, scores, request), bestBm25, bestSimilarity };
  }

  /** Searches for the whole query and for its parts. */
  #retrieve(request: ToolSearch): FoundTools {
    const { used = NOTHING_USED } = request;
    const parts = (request.parts ?? []).map((part): FoundPart => this.#searchPart(part, request));
    const whole = this.#searchWhole(request);
    if (used.size > 0) {
      parts.push({ slots: this.#liveOf(used.keys()), scores: new UsedScores(used, whole.capacity) });
    }
    const { slots: near, scores, bestBm25, bestSimilarity } = whole;
    const best = { bestBm25, bestSimilarity };
    if (parts.length === 0) {
      return { ...best, scores, isRepeatable: true, lists: (asked) => [scores.proposals(near, asked)] };
    }
    const isComplete = near.length === this.#live.size;
    const slots = isComplete ? near : unionOf([whole, ...parts].map((one) => one.slots));
    const all = new DecomposedScores(
      scores,
      parts.map((part) => part.scores),
    );
    return {
      ...best,
      scores: all,
      isRepeatable: isComplete && parts.every((part) => part.slots.length === this.#live.size),
      lists: (asked) => all.lists(slots, asked),
    };
  }

  #searchWhole(request: ToolSearch): FoundText {
    const searched = request.searched?.among(this.contents);
    const known = searched?.whole(request);
    if (known != null) return known;
    const found = this.#searchText(request, enoughFor(request));
    if (found.slots.length === this.#live.size) searched?.keepWhole(request, found);
    return found;
  }

  #searchText({ embedding, tokens }: SearchedText, limit: number): FoundText {
    if (embedding !== null && embedding.length !== this.#dimensions) {
      throw new RangeError(
        `The query has ${embedding.length} dimensions, the tools have ${this.#dimensions}.`,
      );
    }
    const words = this.#words.search(tokens);
    const vectors =
      embedding === null || this.#vectors === null ? null : this.#vectors.search(embedding, limit);
    const near = vectors?.slots ?? this.#live.list();
    // An approximate index returns the nearest tools by vector; the best by words have to be added.
    const isComplete = near.length === this.#live.size;
    const slots = isComplete ? near : unionOf([near, this.#bestByWords(words, limit)]);
    return {
      slots,
      scores: new FusedScores(words, vectors, this.#columns),
      capacity: words.scores.length,
      bestBm25: words.maximum,
      bestSimilarity: vectors === null || slots.length === 0 ? 0 : vectors.maximum,
    };
  }

  #liveOf(slots: Iterable<number>): Int32Array {
    return Int32Array.from(slots).filter((slot) => this.#live.has(slot));
  }

  #bestByWords({ scores }: Bm25Hits, limit: number): Int32Array {
    const best = new BestSlots(Math.max(limit, OFFERED_BY_WORDS));
    for (const slot of this.#live.list()) if (scores[slot] > 0) best.offer(slot, scores[slot]);
    return best.list();
  }

  #searchPart(part: SearchedText, { limit, pin, recall, exclude, ...request }: ToolSearch): FoundPart {
    const searched = request.searched?.among(this.contents);
    const known = searched?.part(part);
    if (known != null) return known;
    const { slots, scores } = this.#searchText(part, enoughFor({ limit, exclude }));
    const isComplete = slots.length === this.#live.size;
    // Candidates that only other parts found need scores for this part too.
    const others = isComplete ? [] : [Int32Array.from(pin ?? []), recall?.slots ?? new Int32Array(0)];
    const kept = new PartScores(part.tokens.length, scores.copyOf(slots, ...others));
    // All slots stay where they are until a tool changes.
    const found = { slots: isComplete ? slots : slots.slice(), scores: kept };
    if (isComplete) searched?.keepPart(part, found);
    return found;
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

/** The result of searching for a query and its parts; valid until the next search. */
interface FoundTools extends Omit<Retrieved, 'lists'> {
  readonly scores: RetrievalScores;
  /** Whether it depends on nothing but query, parts and index. Else memory and pins say which tools are scored for each part. */
  readonly isRepeatable: boolean;
  /** The best slots of the whole query, or of all and of each part, best first. */
  lists(asked: ProposalRequest): Int32Array[];
}

const NOTHING: ReadonlySet<number> = new Set();
const NOTHING_USED: ReadonlyMap<number, number> = new Map();

function canBeKept({ limit, exclude = NOTHING }: ShortlistRequest): boolean {
  return limit <= LISTED && exclude.size <= MOST_EXCLUDED;
}

/** What is kept of a search: copies. */
function keptOf({ lists, bestBm25, bestSimilarity }: FoundTools): Retrieved {
  return { lists: lists({ limit: LISTED }).map((list) => list.slice()), bestBm25, bestSimilarity };
}

/** Returns how many have to be found so that enough are left without the excluded ones. */
function enoughFor({ limit, exclude }: Pick<ToolSearch, 'limit' | 'exclude'>): number {
  return limit + (exclude?.size ?? 0);
}

function unionOf(found: readonly Int32Array[]): Int32Array {
  return Int32Array.from(new Set(found.flatMap((slots) => [...slots])));
}
