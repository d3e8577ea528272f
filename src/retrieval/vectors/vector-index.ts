/**
 * Computes cosines of a query with the live tools. Slots are rows of `ToolVectors`; the index does not copy vectors that it
 * can share. A tool whose vector is all zero (no embedding, no known token) has cosine 0 with every query.
 * Contract: tests/contracts/vector-index.contract.ts.
 */
export interface VectorIndex {
  /** Adds a slot, or replaces its vector. */
  put(slot: number): void;
  remove(slot: number): void;
  /**
   * @param query unit vector of the index's dimensions.
   * @param limit how many of the nearest tools are wanted at least.
   * @returns hits that are valid until the next call of any method.
   */
  search(query: Float32Array, limit: number): VectorHits;
  /** Returns the state of the index. */
  report(): IndexReport;
  /** Frees its memory; nothing may be called afterwards. */
  free(): void;
}

export interface VectorHits {
  /** Live slots, each once, in no particular order: all of them (exact), or at least the nearest `limit`. */
  readonly slots: Int32Array;
  /** Smallest and largest cosine over all live tools; an approximate index may estimate the smallest. */
  readonly minimum: number;
  readonly maximum: number;
  /** Returns the cosine with any live slot, listed in `slots` or not; float32 precision. */
  similarity(slot: number): number;
  /** Those of all live tools; null: an approximate index knows only those of a few. */
  readonly scanned: ScannedCosines | null;
}

/** What a scan says of every tool. Where it would take long to compute all cosines, it is about what they are. */
export interface ScannedCosines {
  /** By slot. */
  readonly cosines: Float32Array;
  /** No live tool is further from its cosine; 0: these are the cosines. Above 0, `similarity` is valid until a vector changes. */
  readonly margin: number;
}

export interface IndexReport {
  readonly kind: 'exact' | 'graph';
  /** Whether a new graph is being built beside the one that serves. */
  readonly building: boolean;
  /** Live vectors that are not in the graph yet: they are compared one by one. */
  readonly outside: number;
  /** Vectors in the graph that are not live any more. */
  readonly dead: number;
  /** Mean share of the nearest 50 that was found, by comparison with exact scans; null: never compared. */
  readonly recall: number | null;
  /** Whether recall is too low, so that exact scans serve for now. */
  readonly alarmed: boolean;
}
