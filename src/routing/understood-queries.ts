import type { Catalog } from '../catalog/catalog.ts';
import type { SlateMethod } from '../ledger/catalog-settings.ts';
import { SharedResults } from '../models/cache/shared-results.ts';
import type { ConversationQuery } from '../queries/conversation.ts';
import { memoBytes, RetrievalMemo } from '../retrieval/retrieval-memo.ts';
import { termOf } from '../retrieval/tokenise.ts';
import {
  type QueryModels,
  type Understanding,
  type UnderstoodQuery,
  understandQuery,
  waitsForModels,
} from './understand-query.ts';

/** Memory of all queries that are kept: some 2,000 with one need and 256 dimensions. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Objects, headers of arrays, and entries of maps. */
const OVERHEAD = 2_000;
const BYTES_PER_SCORE = 200;

/** Signatures that are recognised as asked for before: 2 ** 14 of them, 64 KB. */
const RECOGNISED = 2 ** 14;

/** How many queries of a catalog were known, and how many were not. */
export interface Lookups {
  hits: number;
  misses: number;
}

/**
 * Keeps what was understood of the latest queries: parts, embeddings, words, the reranker's scores, and what retrieval says of
 * the tools. The same task in a catalog with the same tools, models and settings is understood once, also when it is asked for
 * twice at once. Nothing that outcomes change is kept, and no slate: pins, exclusions, recall, ranking and the draw come after.
 *
 * Where understanding takes microseconds, a query is kept from the second time on: those that never come back cost nothing.
 */
export class UnderstoodQueries {
  readonly #models: QueryModels;
  readonly #queries: SharedResults<UnderstoodQuery>;
  readonly #lookups = new Map<string, Lookups>();
  readonly #recognised = new Uint32Array(RECOGNISED);
  /** Numbers of what could be found in catalogs: no two have the same. */
  readonly #contents = new WeakMap<object, number>();
  #numbers = 0;

  /** @param maxBytes about what is kept at most; 0: nothing. */
  constructor(models: QueryModels, maxBytes = MAX_BYTES) {
    this.#models = models;
    this.#queries = new SharedResults(maxBytes, bytesOf);
  }

  /** About how much memory the queries take that are kept. */
  get bytes(): number {
    return this.#queries.weight;
  }

  /** By the name of the catalog, since the process started. */
  get lookups(): ReadonlyMap<string, Readonly<Lookups>> {
    return this.#lookups;
  }

  /** Returns what `understandQuery` does. @throws the reason of `signal` */
  async understand(
    asked: ConversationQuery,
    catalog: Catalog,
    { slate, instructions, signal }: Understanding,
  ): Promise<UnderstoodQuery> {
    signal?.throwIfAborted();
    // Without a reranker nothing of it depends on instructions.
    const isReranked = instructions === true && catalog.state.settings.reranker !== null;
    const key = this.#signatureOf(asked, catalog, slate, isReranked);
    const isKnown = this.#queries.has(key);
    this.#count(catalog.name, isKnown);
    if (!isKnown && !this.#recognises(key) && !waitsForModels(catalog)) {
      return understandQuery(asked, catalog, this.#models, { slate, signal });
    }
    const understand = (stop: AbortSignal) => {
      const memos = { tools: new RetrievalMemo(), instructions: new RetrievalMemo() };
      const how = { slate, instructions: isReranked, signal: stop };
      return understandQuery(asked, catalog, this.#models, how, memos);
    };
    const query = await this.#queries.get(key, understand, signal);
    signal?.throwIfAborted();
    return query;
  }

  #count(catalog: string, isKnown: boolean): void {
    const lookups = this.#lookups.get(catalog) ?? { hits: 0, misses: 0 };
    this.#lookups.set(catalog, lookups);
    if (isKnown) lookups.hits++;
    else lookups.misses++;
  }

  /** Returns whether this was asked for lately, as far as is known, and knows it from now on. */
  #recognises(key: string): boolean {
    const hash = termOf(key);
    const at = hash % RECOGNISED;
    const isRecognised = this.#recognised[at] === hash;
    this.#recognised[at] = hash;
    return isRecognised;
  }

  #signatureOf(
    { turn, thought, searched }: ConversationQuery,
    { name, index, instructionIndex, state }: Catalog,
    slate: SlateMethod,
    isReranked: boolean,
  ): string {
    const { decomposition, reranker } = state.settings;
    return JSON.stringify([
      name,
      this.#numberOf(index.contents),
      isReranked ? this.#numberOf(instructionIndex.contents) : null,
      state.fingerprint,
      decomposition,
      reranker,
      // Two ways of serving a query understand it alike where nothing is reranked.
      reranker === null ? null : slate,
      turn,
      thought,
      searched === turn ? null : searched,
    ]);
  }

  #numberOf(contents: object): number {
    const known = this.#contents.get(contents);
    if (known !== undefined) return known;
    this.#contents.set(contents, ++this.#numbers);
    return this.#numbers;
  }
}

/** Returns about how much memory a query takes; Infinity: a model could not be asked, so the next one has to ask again. */
function bytesOf(
  { features, tokens, parts, split, rerank, rerankedInstructions, embedderDown }: UnderstoodQuery,
  key: string,
): number {
  const asked = [split, rerank, rerankedInstructions];
  const isWhole = !embedderDown && asked.every((one) => (one?.fallback ?? null) === null);
  if (!isWhole) return Infinity;
  const { embedding, terms } = features;
  const scores = (rerank?.scores.size ?? 0) + (rerankedInstructions?.scores.size ?? 0);
  let bytes = OVERHEAD + 2 * key.length + 2 * memoBytes(parts.length) + tokens.byteLength;
  bytes += embedding?.byteLength ?? 0;
  bytes += terms.terms.byteLength + terms.weights.byteLength + BYTES_PER_SCORE * scores;
  for (const part of parts) {
    bytes += BYTES_PER_SCORE * (part.closer?.size ?? 0);
    bytes += OVERHEAD / 4 + 2 * part.text.length + part.tokens.byteLength + (part.embedding?.byteLength ?? 0);
  }
  return bytes;
}
