import type { RetrievalScores } from './fused-score.ts';

/** How much the closer look says against the fused score. */
const WEIGHT = 0.5;

/**
 * Retrieval scores after a closer look at the best few. With r, the reranker's score brought to 0…1 over those few,
 * h becomes ½h + ½r and c ½c + ½r; so g, which is ½h + ½c, becomes ½g + ½r, and policies that weigh h and c
 * themselves follow. What was not looked at has r = 0.
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
    return (1 - WEIGHT) * score + WEIGHT * closer;
  }
}
