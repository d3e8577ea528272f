import type { QueryFeatures } from '../../bandit/policy.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Rerankers } from '../catalog/rerankers.ts';
import { EmbedderUnavailableError } from '../models/embedder.ts';
import type { ConversationQuery } from '../queries/conversation.ts';
import type { Split } from '../queries/splitter.ts';
import type { Splitters } from '../queries/splitters.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import type { SearchedText } from '../retrieval/tool-index.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import { type Rerank, rerankCandidates } from './rerank-candidates.ts';

export interface UnderstoodQuery {
  readonly features: QueryFeatures;
  /** Hashed word stems for BM25. */
  readonly tokens: Uint32Array;
  /** Its parts, if it asks for several things, and the agent's next step. They matter to retrieval only. */
  readonly parts: readonly QueryPart[];
  /** Who looked for parts and what came of it; null: the catalog takes no query apart. */
  readonly split: Split | null;
  /** What a closer look at the best tools brought; null: the catalog wants none. */
  readonly rerank: Rerank | null;
  /** There is an embedder, but it could not be asked. */
  readonly embedderDown: boolean;
  /** Of the embedder that made the embeddings; null: there is none. */
  readonly fingerprint: string | null;
}

export interface QueryPart extends SearchedText {
  readonly text: string;
}

/** The query as retrieval and memory compare it: embeddings and words. Goes on without the former if need be. */
export async function understandQuery(
  asked: ConversationQuery,
  catalog: Catalog,
  { splitters, rerankers }: { readonly splitters: Splitters; readonly rerankers: Rerankers },
): Promise<UnderstoodQuery> {
  const { decomposition } = catalog.state.settings;
  const split = decomposition === 'none' ? null : await splitters[decomposition].split(asked.turn);
  const texts = [asked.searched, ...partsOf(asked, split)];
  const embedded = await embed(texts, catalog);
  const { embeddings, embedderDown, fingerprint } = fitting(embedded, catalog.state);
  const [whole, ...parts] = texts.map((text, at) => ({
    text,
    tokens: tokenise(text),
    embedding: embeddings[at],
  }));
  const features = { embedding: whole.embedding, terms: catalog.index.queryTerms(whole.tokens) };
  const rerank = await rerankCandidates(texts[0], { ...whole, parts }, catalog, rerankers);
  return { features, tokens: whole.tokens, parts, split, rerank, embedderDown, fingerprint };
}

/**
 * The same, for tools as they are now. The catalog may have been moved to another embedder since: then words alone
 * decide, because query and tools would not match.
 */
export function comparable(query: UnderstoodQuery, { fingerprint }: CatalogState): UnderstoodQuery {
  if (query.fingerprint === fingerprint) return query;
  const features = { ...query.features, embedding: null };
  const parts = query.parts.map((part) => ({ ...part, embedding: null }));
  return { ...query, features, parts, embedderDown: true, fingerprint };
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
): Promise<EmbeddedTexts> {
  const { fingerprint } = state;
  const nothing = texts.map(() => null);
  if (embedder === null || texts.every((text) => text === '')) {
    return { embeddings: nothing, embedderDown, fingerprint };
  }
  try {
    return { embeddings: await embedder.embedQueries(texts), embedderDown: false, fingerprint };
  } catch (error) {
    if (!(error instanceof EmbedderUnavailableError)) throw error;
    return { embeddings: nothing, embedderDown: true, fingerprint };
  }
}

function fitting(embedded: EmbeddedTexts, { fingerprint }: CatalogState): EmbeddedTexts {
  if (embedded.fingerprint === fingerprint) return embedded;
  return { embeddings: embedded.embeddings.map(() => null), embedderDown: true, fingerprint };
}
