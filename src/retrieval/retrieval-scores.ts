import type { Bm25Hits } from './bm25.ts';
import type { VectorHits } from './vectors/vector-index.ts';

/** The retrieval scores of every live tool, by slot. */
export interface RetrievalScores {
  /** h, 0…1. */
  lexical(slot: number): number;
  /** c, 0…1. */
  dense(slot: number): number;
  /** g, 0…1: ½h + ½c, or h where there is no embedding. */
  base(slot: number): number;
  /** e(q)·φ, −1…1. */
  similarity(slot: number): number;
}

/**
 * Computes the retrieval score of every live tool for one query. Both halves are normalised to 0…1 over the whole catalog:
 * h = BM25 / max BM25, c = (cos − min cos)/(max cos − min cos), g = ½h + ½c.
 * Without an embedder g = h. Where BM25 finds nothing h is 0, where all cosines are the same c is 0.
 */
export class FusedScores implements RetrievalScores {
  readonly #words: Bm25Hits;
  readonly #vectors: VectorHits | null;
  readonly #range: number;

  constructor(words: Bm25Hits, vectors: VectorHits | null) {
    this.#words = words;
    this.#vectors = vectors;
    this.#range = vectors === null ? 0 : vectors.maximum - vectors.minimum;
  }

  lexical(slot: number): number {
    return this.#words.maximum > 0 ? this.#words.scores[slot] / this.#words.maximum : 0;
  }

  similarity(slot: number): number {
    return this.#vectors === null ? 0 : this.#vectors.similarity(slot);
  }

  dense(slot: number): number {
    if (this.#vectors === null || this.#range <= 0) return 0;
    return (this.#vectors.similarity(slot) - this.#vectors.minimum) / this.#range;
  }

  base(slot: number): number {
    return this.fuse(this.lexical(slot), this.dense(slot));
  }

  /** Returns g of all these slots, in their order. For a whole catalog this is faster than `base` for each slot. */
  basesOf(slots: Int32Array): Float64Array {
    return this.fuseAll(this.lexicalsOf(slots), this.densesOf(slots));
  }

  /** Returns h of all these slots. */
  lexicalsOf(slots: Int32Array): Float64Array {
    const { scores, maximum } = this.#words;
    const lexicals = new Float64Array(slots.length);
    if (maximum > 0) for (let i = 0; i < slots.length; i++) lexicals[i] = scores[slots[i]] / maximum;
    return lexicals;
  }

  /** Returns c of all these slots. */
  densesOf(slots: Int32Array): Float64Array {
    const denses = new Float64Array(slots.length);
    const vectors = this.#vectors;
    if (vectors === null || this.#range <= 0) return denses;
    const { minimum } = vectors;
    for (let i = 0; i < slots.length; i++) denses[i] = (vectors.similarity(slots[i]) - minimum) / this.#range;
    return denses;
  }

  /** Returns the g of each h and c. */
  fuseAll(lexicals: Float64Array, denses: Float64Array): Float64Array {
    const bases = new Float64Array(lexicals.length);
    for (let i = 0; i < bases.length; i++) bases[i] = this.fuse(lexicals[i], denses[i]);
    return bases;
  }

  /** Returns the g of an h and a c. */
  fuse(lexical: number, dense: number): number {
    return this.#vectors === null ? lexical : 0.5 * lexical + 0.5 * dense;
  }
}

/** Weight of the reranker's score against the fused score. */
const RERANKER_WEIGHT = 0.5;

/**
 * Computes retrieval scores after the best tools were reranked. With r, the reranker's score normalised to 0…1 over those
 * tools, h becomes ½h + ½r and c becomes ½c + ½r; so g becomes ½g + ½r, also for policies that weigh h and c themselves.
 * Tools that were not reranked have r = 0.
 */
export class RerankedScores implements RetrievalScores {
  readonly #fused: RetrievalScores;
  readonly #scores: ReadonlyMap<number, number>;
  readonly #minimum: number;
  readonly #range: number;

  /** @param scores of the reranker, by slot. */
  constructor(fused: RetrievalScores, scores: ReadonlyMap<number, number>) {
    this.#fused = fused;
    this.#scores = scores;
    this.#minimum = Math.min(...scores.values());
    this.#range = Math.max(...scores.values()) - this.#minimum;
  }

  lexical(slot: number): number {
    return this.#mixed(slot, this.#fused.lexical(slot));
  }

  dense(slot: number): number {
    return this.#mixed(slot, this.#fused.dense(slot));
  }

  base(slot: number): number {
    return this.#mixed(slot, this.#fused.base(slot));
  }

  similarity(slot: number): number {
    return this.#fused.similarity(slot);
  }

  #mixed(slot: number, score: number): number {
    const said = this.#scores.get(slot);
    const closer = said === undefined || this.#range <= 0 ? 0 : (said - this.#minimum) / this.#range;
    return (1 - RERANKER_WEIGHT) * score + RERANKER_WEIGHT * closer;
  }
}
