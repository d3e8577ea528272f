/**
 * Nearest tools by cosine. Slots are rows of `ToolVectors`; the index never copies vectors that it can share.
 * Contract: tests/contracts/vector-index.contract.ts.
 */
export interface VectorIndex {
  /** The vector at this slot is new or changed. */
  put(slot: number): void;
  remove(slot: number): void;
  /**
   * Cosines of the query with live slots. Exact indexes fill every live slot; approximate ones only those
   * they found, and −Infinity elsewhere.
   */
  search(query: Float32Array, limit: number): VectorHits;
}

export interface VectorHits {
  /** Slots, best first (ties: lower slot first), at most `limit`. */
  readonly slots: Int32Array;
  readonly similarities: Float32Array;
  /** Smallest and largest cosine over the whole catalog (approximate indexes estimate the smallest). */
  readonly minimum: number;
  readonly maximum: number;
}
