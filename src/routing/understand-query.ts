import type { QueryFeatures } from '../../bandit/policy.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { type Embedder, EmbedderUnavailableError } from '../retrieval/embedder.ts';
import { tokenise } from '../retrieval/tokenise.ts';

export interface UnderstoodQuery {
  readonly features: QueryFeatures;
  /** Hashed word stems for BM25. */
  readonly tokens: Uint32Array;
  /** There is an embedder, but it could not be asked. */
  readonly embedderDown: boolean;
}

/** The query as retrieval and memory compare it: an embedding and words. Goes on without the former if need be. */
export async function understandQuery(
  text: string,
  catalog: Catalog,
  embedder: Embedder | null,
): Promise<UnderstoodQuery> {
  const { embedding, embedderDown } = await embed(text, catalog, embedder);
  const tokens = tokenise(text);
  return { features: { embedding, terms: catalog.index.queryTerms(tokens) }, tokens, embedderDown };
}

async function embed(
  text: string,
  catalog: Catalog,
  embedder: Embedder | null,
): Promise<{ embedding: Float32Array | null; embedderDown: boolean }> {
  // While a catalog is being moved to another embedder, queries and tools would not match.
  if (embedder === null || embedder.fingerprint !== catalog.state.fingerprint) {
    return { embedding: null, embedderDown: embedder !== null };
  }
  try {
    const [embedding] = await embedder.embedQueries([text]);
    return { embedding, embedderDown: false };
  } catch (error) {
    if (!(error instanceof EmbedderUnavailableError)) throw error;
    return { embedding: null, embedderDown: true };
  }
}
