import { type ProposalRequest, proposals, withinReach } from './best-slots.ts';
import type { Bm25Hits } from './bm25.ts';
import type { VectorHits } from './vectors/vector-index.ts';

/** The retrieval scores of one tool for one query. */
export interface ToolScores {
  /** h, 0…1. */
  readonly lexical: number;
  /** c, 0…1. */
  readonly dense: number;
  /** g, 0…1: ½h + ½c, or h where there is no embedding. */
  readonly base: number;
  /** e(q)·φ, −1…1. */
  readonly similarity: number;
  /** How the tool was used gives it these scores; absent: its text does. */
  readonly isUsed?: boolean;
  /** r and h before r was mixed in; absent: nothing was reranked. */
  readonly reranked?: { readonly score: number; readonly lexical: number };
}

/** The retrieval scores of every live tool, by slot. */
export interface RetrievalScores {
  of(slot: number): ToolScores;
}

/** More than the rounding of a few operations on numbers of 0…1. */
const ROUNDING = 1e-12;

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

  /** Returns the same scores of these slots, which stay when the index is searched again. */
  copyOf(slots: Int32Array): FusedScores {
    const { scores, maximum } = this.#words;
    const words = { scores: scores.slice(), maximum };
    if (this.#vectors === null) return new FusedScores(words, null);
    const similarities = new Float64Array(scores.length);
    for (let i = 0; i < slots.length; i++) similarities[slots[i]] = this.#vectors.similarity(slots[i]);
    const similarity = (slot: number): number => similarities[slot];
    return new FusedScores(words, { ...this.#vectors, slots, similarity, rough: null });
  }

  /** Whether no score takes long, and none is rough. */
  get isExact(): boolean {
    return this.#vectors === null || this.#vectors.rough === null;
  }

  lexical(slot: number): number {
    return this.#words.maximum > 0 ? this.#words.scores[slot] / this.#words.maximum : 0;
  }

  of(slot: number): ToolScores {
    const lexical = this.lexical(slot);
    const dense = this.dense(slot);
    const similarity = this.#vectors === null ? 0 : this.#vectors.similarity(slot);
    return { lexical, dense, base: this.fuse(lexical, dense), similarity };
  }

  dense(slot: number): number {
    if (this.#vectors === null || this.#range <= 0) return 0;
    return (this.#vectors.similarity(slot) - this.#vectors.minimum) / this.#range;
  }

  /** Returns the slots with the largest g, best first. */
  proposals(slots: Int32Array, request: ProposalRequest): Int32Array {
    const rough = this.#vectors?.rough ?? null;
    if (rough === null || this.#range <= 0) return proposals(slots, this.basesOf(slots), request);
    const { scores, maximum } = this.#words;
    const { cosines, margin } = rough;
    const perCosine = 0.5 / this.#range;
    const perWord = maximum > 0 ? 0.5 / maximum : 0;
    const least = this.#vectors!.minimum;
    const abouts = new Float64Array(slots.length);
    for (let i = 0; i < slots.length; i++) {
      abouts[i] = perWord * scores[slots[i]] + perCosine * (cosines[slots[i]] - least);
    }
    const near = withinReach(slots, abouts, perCosine * margin + ROUNDING, request);
    return proposals(near, this.basesOf(near), request);
  }

  /** Returns g of all these slots, in their order. */
  basesOf(slots: Int32Array): Float64Array {
    const bases = new Float64Array(slots.length);
    for (let i = 0; i < slots.length; i++) {
      bases[i] = this.fuse(this.lexical(slots[i]), this.dense(slots[i]));
    }
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

  of(slot: number): ToolScores {
    const { lexical, dense, base, similarity, isUsed = false } = this.#fused.of(slot);
    const closer = this.#closer(slot);
    return {
      lexical: mixed(lexical, closer),
      dense: mixed(dense, closer),
      base: mixed(base, closer),
      similarity,
      isUsed,
      reranked: { score: closer, lexical },
    };
  }

  /** Returns r of a tool. */
  #closer(slot: number): number {
    const said = this.#scores.get(slot);
    return said === undefined || this.#range <= 0 ? 0 : (said - this.#minimum) / this.#range;
  }
}

function mixed(score: number, closer: number): number {
  return (1 - RERANKER_WEIGHT) * score + RERANKER_WEIGHT * closer;
}
