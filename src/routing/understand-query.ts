import type { QueryFeatures } from '../../bandit/policy.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Rerankers } from '../catalog/rerankers.ts';
import { Problem } from '../errors/problem.ts';
import { findInstructions } from '../instructions/find-instructions.ts';
import type { SlateMethod } from '../ledger/catalog-settings.ts';
import { EmbedderUnavailableError } from '../models/embedder.ts';
import { toFixedPoint } from '../models/fixed-point.ts';
import {
  type ConversationQuery,
  conversationQuery,
  isWordless,
  plainQuery,
} from '../queries/conversation.ts';
import type { Splitters } from '../queries/llm-splitter.ts';
import { endsWithoutWords } from '../queries/messages.ts';
import type { Split } from '../queries/splitter.ts';
import { rerankText } from '../retrieval/document-text.ts';
import type { RetrievalMemo } from '../retrieval/retrieval-memo.ts';
import type { SearchedText, SearchedTexts } from '../retrieval/searched-texts.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { RouteRequest } from './route-request.ts';

/** Tools, and instructions, that are reranked: what retrieval proposes. */
const RERANKED = 50;

export interface UnderstoodQuery {
  readonly features: QueryFeatures;
  /** Hashed word stems for BM25. */
  readonly tokens: Uint32Array;
  /** Its parts, if it asks for several things, and the agent's next step. They matter to retrieval only. */
  readonly parts: readonly QueryPart[];
  /** The query with what its user has that it needs, searched for like a part; absent: nothing. */
  readonly withContext?: SearchedText;
  /** By slot, how likely a tool goes with what its user has that it needs, 0…1; absent: nothing is known of uses. */
  readonly used?: ReadonlyMap<number, number>;
  /** What was found for it in this turn; absent: nothing. */
  readonly searched?: SearchedTexts;
  /** Who looked for parts and what came of it; null: the catalog takes no query apart. */
  readonly split: Split | null;
  /** What the reranker said about the best tools; null: the catalog has none. */
  readonly rerank: Rerank | null;
  /** The same about the best instructions; absent: none are wanted, or there are none. */
  readonly rerankedInstructions?: Rerank | null | undefined;
  /** There is an embedder, but it could not be asked. */
  readonly embedderDown: boolean;
  /** Of the embedder that made the embeddings; null: there is none. */
  readonly fingerprint: string | null;
  /** What retrieval said of it so far; absent: it is searched for each time. */
  readonly memos?: QueryMemos | undefined;
}

/** What retrieval said of a query, by what is searched. */
export interface QueryMemos {
  readonly tools: RetrievalMemo;
  readonly instructions: RetrievalMemo;
}

/** The models that are asked beside the embedder of the catalog. */
export interface QueryModels {
  readonly splitters: Splitters;
  readonly rerankers: Rerankers;
}

export interface QueryPart extends SearchedText {
  readonly text: string;
  /** What the reranker says of the best tools for this part, by definition hash; absent: it was asked about the whole query alone. */
  readonly closer?: ReadonlyMap<string, number>;
}

/** For what a query is understood. */
export interface Understanding {
  /** Who chooses the slate: ToolScope has the reranker look at the tools of each part. */
  readonly slate: SlateMethod;
  /** True: instructions are chosen for it. */
  readonly instructions?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** What the reranker said about the best of what can be chosen. */
export interface Rerank {
  /** The reranker's scores by hash; empty where there are none. */
  readonly scores: ReadonlyMap<string, number>;
  /** Why the fused order stands; null: it does not. */
  readonly fallback: string | null;
}

/**
 * Returns the query itself, or what the conversation asks for now. Of one without words nothing is searched for.
 * @throws Problem validation-failed
 */
export function readQuery({ query, messages }: RouteRequest): ConversationQuery {
  const asked = query === undefined ? lastQuestion(messages ?? []) : plainQuery(query);
  return isWordless(asked.searched) ? { ...plainQuery(''), text: asked.text } : asked;
}

function lastQuestion(messages: readonly unknown[]): ConversationQuery {
  // For example an image alone: there is nothing to search for, and the turn before it asked for something else.
  if (endsWithoutWords(messages)) return plainQuery('');
  const asked = conversationQuery(messages);
  if (asked !== null) return asked;
  throw new Problem(
    'validation-failed',
    'The conversation has no user message with text.',
    'Send messages in the OpenAI or Anthropic shape with at least one {role: "user"} turn, or send a query.',
    { violations: [{ path: 'messages', message: 'has no user text' }] },
  );
}

/**
 * Returns the query as retrieval and memory compare it: embeddings and words, or words alone when the embedder is away.
 * @param memos of this query.
 * @throws the reason of `signal`
 */
export async function understandQuery(
  asked: ConversationQuery,
  catalog: Catalog,
  { splitters, rerankers }: QueryModels,
  { slate, instructions = false, signal }: Understanding,
  memos?: QueryMemos,
): Promise<UnderstoodQuery> {
  const { decomposition } = catalog.state.settings;
  const split = decomposition === 'none' ? null : await splitters[decomposition].split(asked.turn, signal);
  const texts = [asked.searched, ...partsOf(asked, split)];
  const embedded = await embed(texts, catalog, signal);
  const { embeddings, embedderDown, fingerprint } = fitting(embedded, catalog.state);
  const [whole, ...parts] = texts.map((text, at) => ({
    text,
    tokens: tokenise(text),
    embedding: embeddings[at],
  }));
  const features = { embedding: whole.embedding, terms: catalog.index.queryTerms(whole) };
  // Together, because all of them have the time that one has; the parts first, because they choose the slate.
  const ofParts =
    slate === 'toolscope'
      ? parts.map((part) => rerankTools({ ...part, parts: [], memos: undefined }, catalog, rerankers, signal))
      : [];
  const looked = { ...whole, parts, memos };
  const [rerank, rerankedInstructions, ...closer] = await Promise.all([
    rerankTools(looked, catalog, rerankers, signal),
    instructions ? rerankInstructions(looked, catalog, rerankers, signal) : undefined,
    ...ofParts,
  ]);
  signal?.throwIfAborted();
  return {
    features,
    tokens: whole.tokens,
    parts: parts.map((part, at) => ({ ...part, ...(closer[at] && { closer: closer[at].scores }) })),
    split,
    rerank: rerank && { ...rerank, fallback: rerank.fallback ?? closer.find(isMissing)?.fallback ?? null },
    ...{ rerankedInstructions, embedderDown, fingerprint, memos },
  };
}

/** Returns scores of texts as scores of the slots that hold them still. */
export function scoresBySlot(
  { scores }: Rerank,
  records: Iterable<{ readonly slot: number; readonly hash: string }>,
): ReadonlyMap<number, number> {
  const slots = new Map<number, number>();
  if (scores.size === 0) return slots;
  for (const { slot, hash } of records) {
    const score = scores.get(hash);
    if (score !== undefined) slots.set(slot, score);
  }
  return slots;
}

/** Returns whether understanding a query may take long: another process or thread is asked. */
export function waitsForModels({ embedder, state: { settings } }: Catalog): boolean {
  const embeds = embedder !== null && embedder.isInstant !== true;
  return embeds || settings.decomposition === 'llm' || settings.reranker !== null;
}

/**
 * The same, for tools as they are now. The catalog may have been moved to another embedder since: then words alone
 * decide, because query and tools would not match.
 */
export function comparable(query: UnderstoodQuery, { fingerprint }: CatalogState): UnderstoodQuery {
  if (query.fingerprint === fingerprint) return query;
  const features = { ...query.features, embedding: null };
  const parts = query.parts.map((part) => ({ ...part, embedding: null }));
  return { ...query, features, parts, embedderDown: true, fingerprint, memos: undefined };
}

/** What is searched for beside the whole query. */
function partsOf({ thought }: ConversationQuery, split: Split | null): readonly string[] {
  if (split === null) return [];
  const needs = split.parts.length > 1 ? split.parts : [];
  return thought === null ? needs : [...needs, thought];
}

/** Vectors are rounded to a fixed point, once and before anything reads them: logs keep them so, in half the bytes. */
interface EmbeddedTexts extends Pick<UnderstoodQuery, 'embedderDown' | 'fingerprint'> {
  /** One vector per text, or null for each of them. */
  readonly embeddings: readonly (Float32Array | null)[];
}

async function embed(
  texts: readonly string[],
  { embedder, embedderDown, state }: Catalog,
  signal: AbortSignal | undefined,
): Promise<EmbeddedTexts> {
  const { fingerprint } = state;
  const nothing = texts.map(() => null);
  signal?.throwIfAborted();
  if (embedder === null || texts.every((text) => text === '')) {
    return { embeddings: nothing, embedderDown, fingerprint };
  }
  try {
    const embeddings = await embedder.embedQueries(texts, signal);
    return { embeddings: embeddings.map(toFixedPoint), embedderDown: false, fingerprint };
  } catch (error) {
    if (!(error instanceof EmbedderUnavailableError)) throw error;
    return { embeddings: nothing, embedderDown: true, fingerprint };
  }
}

function fitting(embedded: EmbeddedTexts, { fingerprint }: CatalogState): EmbeddedTexts {
  if (embedded.fingerprint === fingerprint) return embedded;
  return { embeddings: embedded.embeddings.map(() => null), embedderDown: true, fingerprint };
}

function isMissing(rerank: Rerank | null): boolean {
  return rerank !== null && rerank.fallback !== null;
}

type LookedAt = QueryPart & Pick<UnderstoodQuery, 'parts' | 'memos'>;

/** Returns the reranker's scores of the best tools; null if the catalog has no reranker. */
async function rerankTools(
  query: LookedAt,
  { index, state }: Catalog,
  rerankers: Rerankers,
  signal: AbortSignal | undefined,
): Promise<Rerank | null> {
  const best = (): readonly Reranked[] => {
    const { candidates } = index.search({ ...query, memo: query.memos?.tools, limit: RERANKED });
    const records = Array.from(candidates.slots, (slot) => state.merges.served(slot)!);
    return records.map(({ hash, tool }) => ({ hash, text: rerankText(tool) }));
  };
  const reranked = await rerankBest(query, best, state, rerankers, signal);
  return reranked === 'none' ? { scores: new Map(), fallback: 'no tool was found' } : reranked;
}

/** Returns the same of the best instructions, of which there need not be any. */
async function rerankInstructions(
  query: LookedAt,
  catalog: Catalog,
  rerankers: Rerankers,
  signal: AbortSignal | undefined,
): Promise<Rerank | null> {
  const { state } = catalog;
  const best = (): readonly Reranked[] => {
    const { slots } = findInstructions({ ...query, features: query }, catalog, RERANKED);
    const records = Array.from(slots, (slot) => state.instructions.atSlot(slot)!);
    return records.map(({ hash, instruction }) => ({ hash, text: instruction.text }));
  };
  const reranked = await rerankBest(query, best, state, rerankers, signal);
  return reranked === 'none' ? null : reranked;
}

interface Reranked {
  readonly hash: string;
  readonly text: string;
}

async function rerankBest(
  { text }: QueryPart,
  best: () => readonly Reranked[],
  { settings: { reranker: settings } }: CatalogState,
  rerankers: Rerankers,
  signal: AbortSignal | undefined,
): Promise<Rerank | null | 'none'> {
  if (settings === null) return null;
  const without = (fallback: string): Rerank => ({ scores: new Map(), fallback });
  signal?.throwIfAborted();
  const reranker = rerankers.ready(settings.model);
  if (reranker === null) return without(`the reranker "${settings.model}" is not open`);
  const read = best();
  if (read.length === 0) return 'none';
  const documents = read.map((one) => one.text);
  const answer = await reranker.rerank(text, documents, settings.budgetMs, signal);
  if ('missing' in answer) return without(answer.missing);
  return { scores: new Map(read.map(({ hash }, at) => [hash, answer.scores[at]])), fallback: null };
}
