import type { QueryFeatures } from '../../bandit/policy.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Rerankers } from '../catalog/rerankers.ts';
import { Problem } from '../errors/problem.ts';
import type { SlateMethod } from '../ledger/catalog-settings.ts';
import { EmbedderUnavailableError } from '../models/embedder.ts';
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
import { tokenise } from '../retrieval/tokenise.ts';
import type { SearchedText } from '../retrieval/tool-index.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { RouteRequest } from './route-request.ts';

/** Tools that are reranked: what retrieval proposes. */
const RERANKED = 50;

export interface UnderstoodQuery {
  readonly features: QueryFeatures;
  /** Hashed word stems for BM25. */
  readonly tokens: Uint32Array;
  /** Its parts, if it asks for several things, and the agent's next step. They matter to retrieval only. */
  readonly parts: readonly QueryPart[];
  /** Who looked for parts and what came of it; null: the catalog takes no query apart. */
  readonly split: Split | null;
  /** What the reranker said about the best tools; null: the catalog has none. */
  readonly rerank: Rerank | null;
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

/** What the reranker said about the best tools. */
export interface Rerank {
  /** The reranker's scores by definition hash; empty where there are none. */
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
 * @param slate who chooses the slate: ToolScope has the reranker look at the tools of each part.
 * @param memos of this query.
 * @throws the reason of `signal`
 */
export async function understandQuery(
  asked: ConversationQuery,
  catalog: Catalog,
  { splitters, rerankers }: QueryModels,
  slate: SlateMethod,
  signal?: AbortSignal,
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
  const rerankFor = (query: RerankedQuery): Promise<Rerank | null> =>
    rerankCandidates(query, catalog, rerankers, signal);
  // Together, because all of them have the time that one has; the parts first, because they choose the slate.
  const ofParts =
    slate === 'toolscope' ? parts.map((part) => rerankFor({ ...part, parts: [], memos: undefined })) : [];
  const [rerank, ...closer] = await Promise.all([rerankFor({ ...whole, parts, memos }), ...ofParts]);
  signal?.throwIfAborted();
  return {
    features,
    tokens: whole.tokens,
    parts: parts.map((part, at) => ({ ...part, ...(closer[at] && { closer: closer[at].scores }) })),
    split,
    rerank: rerank && { ...rerank, fallback: rerank.fallback ?? closer.find(isMissing)?.fallback ?? null },
    ...{ embedderDown, fingerprint, memos },
  };
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
    return { embeddings: await embedder.embedQueries(texts, signal), embedderDown: false, fingerprint };
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

type RerankedQuery = QueryPart & Pick<UnderstoodQuery, 'parts' | 'memos'>;

/** Returns the reranker's scores of the best tools; null if the catalog has no reranker. */
async function rerankCandidates(
  query: RerankedQuery,
  catalog: Pick<Catalog, 'state' | 'index'>,
  rerankers: Rerankers,
  signal: AbortSignal | undefined,
): Promise<Rerank | null> {
  const { reranker: settings } = catalog.state.settings;
  if (settings === null) return null;
  const without = (fallback: string): Rerank => ({ scores: new Map(), fallback });
  signal?.throwIfAborted();
  const reranker = rerankers.ready(settings.model);
  if (reranker === null) return without(`the reranker "${settings.model}" is not open`);
  const { candidates } = catalog.index.search({ ...query, memo: query.memos?.tools, limit: RERANKED });
  const records = Array.from(candidates.slots, (slot) => catalog.state.merges.served(slot)!);
  if (records.length === 0) return without('no tool was found');
  const documents = records.map(({ tool }) => rerankText(tool));
  const answer = await reranker.rerank(query.text, documents, settings.budgetMs, signal);
  if ('missing' in answer) return without(answer.missing);
  return { scores: new Map(records.map(({ hash }, at) => [hash, answer.scores[at]])), fallback: null };
}
