import type { Catalog } from '../catalog/catalog.ts';
import type { ContextQuery } from '../context/context-candidates.ts';
import type { QueryExpansions } from '../context/query-expansions.ts';
import type { RouteUser } from '../context/route-contexts.ts';
import { EmbedderUnavailableError } from '../models/embedder.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import type { UnderstoodQuery } from './understand-query.ts';

/** The query with what a chat model thinks of it, as items are compared with it; `note`: why there is none; null: nothing was to be added. */
export type ExpandedQuery = ContextQuery | { readonly note: string } | null;

/**
 * Has a query expanded, once its user turns out to have items. Never rejects because a model is away, nor because the request was given
 * up: nothing is added then.
 */
export async function expandQuery(
  text: string,
  catalog: Pick<Catalog, 'name' | 'embedder' | 'state'>,
  reading: Promise<RouteUser>,
  expansions: QueryExpansions,
  signal: AbortSignal | undefined,
): Promise<ExpandedQuery> {
  const read = await reading;
  if (text === '' || read === null || 'note' in read) return null;
  try {
    const expansion = await expansions.expand(catalog.name, text, signal);
    if ('note' in expansion) return expansion;
    return expansion.thought === '' ? null : await searched(`${text} ${expansion.thought}`, catalog, signal);
  } catch (error) {
    if (signal?.aborted === true) return null;
    throw error;
  }
}

async function searched(
  text: string,
  { embedder, state: { fingerprint } }: Pick<Catalog, 'embedder' | 'state'>,
  signal: AbortSignal | undefined,
): Promise<ContextQuery> {
  const byWords = { embedding: null, fingerprint, tokens: tokenise(text) };
  if (embedder === null) return byWords;
  try {
    // Not rounded as that of the query is: no log keeps it, nor the sum with it.
    const [embedding] = await embedder.embedQueries([text], signal);
    return { ...byWords, embedding };
  } catch (error) {
    if (error instanceof EmbedderUnavailableError) return byWords;
    throw error;
  }
}

/** Of the vector with the thought, beside that of the query: the model that ranks items learned from queries alone (bench/context-expansion.ts). */
const THOUGHT_WEIGHT = 0.5;

/** What the user's items are compared with: the words of query and thought, and the sum of both vectors. */
export function contextQueryOf(
  { features: { embedding }, fingerprint, tokens }: UnderstoodQuery,
  expanded: ContextQuery | null,
): ContextQuery {
  if (expanded === null) return { embedding, fingerprint, tokens };
  const isComparable = expanded.fingerprint === fingerprint;
  const both = embedding && isComparable && expanded.embedding && sumOf(embedding, expanded.embedding);
  return { embedding: both || embedding, fingerprint, tokens: expanded.tokens };
}

function sumOf(a: Float32Array, b: Float32Array): Float32Array {
  const sum = a.map((value, i) => value + THOUGHT_WEIGHT * b[i]);
  const length = Math.hypot(...sum);
  return length > 0 ? sum.map((value) => value / length) : a;
}
