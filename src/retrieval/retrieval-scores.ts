import { type ProposalRequest, proposals, withinReach } from './best-slots.ts';
import type { Bm25Hits } from './bm25.ts';
import type { ScoreColumns } from './score-columns.ts';
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
  /** For scores of all tools, for as long as a method takes. */
  readonly columns: ScoreColumns;

  constructor(words: Bm25Hits, vectors: VectorHits | null, columns: ScoreColumns) {
    this.columns = columns;
    this.#words = words;
    this.#vectors = vectors;
    this.#range = vectors === null ? 0 : vectors.maximum - vectors.minimum;
  }

  /** Returns the same scores, which stay when the index is searched again: those of all slots, or where too few cosines are known of these. */
  copyOf(...known: readonly Int32Array[]): FusedScores {
    const { scores, maximum } = this.#words;
    const vectors = this.#vectors;
    if (vectors?.scanned === null) return this.#copyOfKnown(vectors, known);
    const words = { scores: scores.slice(), maximum };
    if (vectors === null) return new FusedScores(words, null, this.columns);
    const { margin } = vectors.scanned;
    const cosines = vectors.scanned.cosines.slice();
    const similarity = margin > 0 ? vectors.similarity : (slot: number): number => cosines[slot];
    return new FusedScores(words, { ...vectors, similarity, scanned: { cosines, margin } }, this.columns);
  }

  #copyOfKnown(vectors: VectorHits, known: readonly Int32Array[]): FusedScores {
    const { scores, maximum } = this.#words;
    const words = new Float64Array(scores.length);
    const cosines = new Float32Array(scores.length).fill(vectors.minimum);
    for (const slots of known) {
      for (const slot of slots) {
        words[slot] = scores[slot];
        cosines[slot] = vectors.similarity(slot);
      }
    }
    const similarity = (slot: number): number => cosines[slot];
    const scanned = { cosines, margin: 0 };
    return new FusedScores({ scores: words, maximum }, { ...vectors, similarity, scanned }, this.columns);
  }

  /** No g that `writeAbout` writes is further from the exact one. */
  get margin(): number {
    const margin = this.#vectors?.scanned?.margin ?? 0;
    return ROUNDING + (this.#range > 0 ? (0.5 * margin) / this.#range : 0);
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
    const [abouts] = this.columns.take(1, slots.length);
    this.writeAbout(slots, abouts);
    const near = withinReach(slots, abouts, this.margin, request);
    const bases = new Float64Array(near.length);
    for (let i = 0; i < near.length; i++) bases[i] = this.fuse(this.lexical(near[i]), this.dense(near[i]));
    return proposals(near, bases, request);
  }

  /** Writes about g of these slots, in their order: dividing each score, and asking for each cosine, takes longer. */
  writeAbout(slots: Int32Array, out: Float64Array): void {
    const { scores, maximum } = this.#words;
    const vectors = this.#vectors;
    const share = vectors === null ? 1 : 0.5;
    const perWord = maximum > 0 ? share / maximum : 0;
    if (vectors === null || this.#range <= 0) {
      for (let i = 0; i < slots.length; i++) out[i] = perWord * scores[slots[i]];
    } else if (vectors.scanned === null) {
      for (let i = 0; i < slots.length; i++)
        out[i] = perWord * scores[slots[i]] + share * this.dense(slots[i]);
    } else {
      const { minimum } = vectors;
      const { cosines } = vectors.scanned;
      const perCosine = share / this.#range;
      for (let i = 0; i < slots.length; i++) {
        out[i] = perWord * scores[slots[i]] + perCosine * (cosines[slots[i]] - minimum);
      }
    }
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
