import type { QueryFeatures, RecalledCase } from '../policy.ts';

/** So many cases an exact scan compares in good time. A memory that may hold more looks at a part of them. */
export const EXACT_UP_TO = 50_000;

/**
 * Finds the cases whose first query resembles a query. The one seam of outcome memory: everything else does not
 * care how the nearest cases are found. What is found depends on the calls and their order alone, and is the same
 * after saving and loading.
 *
 * Similarity of queries: s(q, q') = ½·e(q)·e(q') + ½·t(q)·t(q'); where one of the two has no embedding (or the
 * zero vector, a text without known tokens), s = t(q)·t(q').
 */
export interface CaseIndex {
  /** The case at this place has this first query. */
  put(place: number, query: QueryFeatures): void;
  /** The case at this place is gone. */
  remove(place: number): void;
  /**
   * The nearest cases with s > 0, best first (ties: lower place first), at most `limit`; `caseId` is the place. Every
   * s is exact; of more than EXACT_UP_TO cases a few that are near may be missing.
   */
  nearest(query: QueryFeatures, limit: number): RecalledCase[];
  /** Everything needed to build the same index again, for the first `places` places. */
  save(places: number): SavedQueries;
  readonly bytes: number;
  /** Gives kernel memory back. */
  dispose(): void;
}

/** First queries of all cases in place order; empty places have no terms and a zero vector. */
export interface SavedQueries {
  /** Row-major places × D. */
  readonly embeddings: Float32Array;
  /** Terms of the case at place i: offsets[i] … offsets[i + 1]. */
  readonly offsets: Int32Array;
  readonly terms: Uint32Array;
  readonly weights: Float32Array;
  /** Only of an index that has clusters. */
  readonly clusters?: SavedClusters;
}

export interface SavedClusters {
  /** Row-major clusters × D. */
  readonly centroids: Float32Array;
  /** The cluster of the case at each place; −1 for places that are empty or have no embedding. */
  readonly members: Int32Array;
}

/** Rows of embeddings start on 64-byte boundaries. */
const ROW_MULTIPLE = 16;

/** Elements from one row of embeddings to the next. */
export function strideOf(dimensions: number): number {
  return Math.max(1, Math.ceil(dimensions / ROW_MULTIPLE)) * ROW_MULTIPLE;
}

/** The places that are not empty, with their queries; these are views of the arrays. */
export function* queriesOf(
  saved: SavedQueries,
  dimensions: number,
): Generator<readonly [place: number, query: QueryFeatures]> {
  for (let place = 0; place + 1 < saved.offsets.length; place++) {
    const from = saved.offsets[place];
    const to = saved.offsets[place + 1];
    const embedding = saved.embeddings.subarray(place * dimensions, (place + 1) * dimensions);
    if (from === to && !hasDirection(embedding)) continue;
    const terms = { terms: saved.terms.subarray(from, to), weights: saved.weights.subarray(from, to) };
    yield [place, { embedding, terms }];
  }
}

/** True if the vector is there and points anywhere at all. */
export function hasDirection(embedding: Float32Array | null): embedding is Float32Array {
  if (embedding === null) return false;
  for (let i = 0; i < embedding.length; i++) if (embedding[i] !== 0) return true;
  return false;
}

/** The embedding, if similarities can be taken from it. @throws RangeError when it has other dimensions. */
export function comparableEmbedding({ embedding }: QueryFeatures, dimensions: number): Float32Array | null {
  if (dimensions === 0 || !hasDirection(embedding)) return null;
  if (embedding.length !== dimensions) {
    throw new RangeError(`This memory compares ${dimensions} dimensions, not ${embedding.length}.`);
  }
  return embedding;
}

/** True if there is anything by which this query could ever be found again. */
export function isComparable(query: QueryFeatures): boolean {
  return query.terms.terms.length > 0 || hasDirection(query.embedding);
}
