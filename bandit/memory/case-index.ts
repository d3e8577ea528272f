import type { QueryFeatures, RecalledCase } from '../policy.ts';

/**
 * Finds the cases whose first query resembles a query. The one seam of outcome memory: everything else does not
 * care how the nearest cases are found. An exact scan is right up to some 50,000 cases.
 *
 * Similarity of queries: s(q, q') = ½·e(q)·e(q') + ½·t(q)·t(q'); where one of the two has no embedding (or the
 * zero vector, a text without known tokens), s = t(q)·t(q').
 */
export interface CaseIndex {
  /** The case at this place has this first query. */
  put(place: number, query: QueryFeatures): void;
  /** The case at this place is gone. */
  remove(place: number): void;
  /** The nearest cases with s > 0, best first (ties: lower place first), at most `limit`; `caseId` is the place. */
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
}

/** True if the vector is there and points anywhere at all. */
export function hasDirection(embedding: Float32Array | null): embedding is Float32Array {
  if (embedding === null) return false;
  for (let i = 0; i < embedding.length; i++) if (embedding[i] !== 0) return true;
  return false;
}

/** True if there is anything by which this query could ever be found again. */
export function isComparable(query: QueryFeatures): boolean {
  return query.terms.terms.length > 0 || hasDirection(query.embedding);
}
