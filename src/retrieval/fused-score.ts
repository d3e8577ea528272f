import type { Bm25Hits } from './bm25.ts';
import type { VectorHits } from './vector-index.ts';

/**
 * The retrieval score of every live tool for one query. Both halves are brought to 0…1 over the whole catalog:
 * h = BM25 / max BM25, c = (cos − min cos)/(max cos − min cos), g = ½h + ½c.
 * Without an embedder g = h. Where BM25 finds nothing h is 0, where all cosines are the same c is 0.
 */
export class FusedScores {
  readonly #words: Bm25Hits;
  readonly #vectors: VectorHits | null;
  readonly #range: number;

  constructor(words: Bm25Hits, vectors: VectorHits | null) {
    this.#words = words;
    this.#vectors = vectors;
    this.#range = vectors === null ? 0 : vectors.maximum - vectors.minimum;
  }

  /** h. */
  lexical(slot: number): number {
    return this.#words.maximum > 0 ? this.#words.scores[slot] / this.#words.maximum : 0;
  }

  /** e(q)·φ. */
  similarity(slot: number): number {
    return this.#vectors === null ? 0 : this.#vectors.similarity(slot);
  }

  /** c. */
  dense(slot: number): number {
    if (this.#vectors === null || this.#range <= 0) return 0;
    return (this.#vectors.similarity(slot) - this.#vectors.minimum) / this.#range;
  }

  /** g. */
  base(slot: number): number {
    return this.#vectors === null ? this.lexical(slot) : 0.5 * this.lexical(slot) + 0.5 * this.dense(slot);
  }
}
