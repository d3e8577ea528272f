import type { Kernels } from '../bandit/kernels/kernels.ts';
import type { Example, Ranking, RankingRequest } from '../bandit/policy.ts';
import { Ridge } from '../bandit/ridge/ridge.ts';

export interface OneHotOptions {
  readonly kernels: Kernels;
  /** D of the query embeddings. */
  readonly dimensions: number;
  /** α: how much uncertainty is worth. */
  readonly alpha: number;
  /** λ: how strongly weights are held at 0. */
  readonly lambda: number;
}

/**
 * The baseline of the paper (Müller, Semantic Context for Tool Orchestration, section 3.1, “LinUCB-NS”), which knows
 * tools by number and not by meaning: x = [e(q); e_slot; 1], d = D + K + 1. When K changes it is initialised anew
 * (appendix B.6, strategy a).
 */
export class LinUcbOneHot {
  readonly #options: OneHotOptions;
  /** K: one more than the highest slot in use. */
  #slots = 0;
  /** Null until something is learned about the present set of tools. */
  #ridge: Ridge | null = null;

  constructor(options: OneHotOptions) {
    this.#options = options;
  }

  addTool(slot: number): void {
    this.#slots = Math.max(this.#slots, slot + 1);
    this.free();
  }

  forgetTool(): void {
    this.free();
  }

  rank({ query: { embedding }, candidates: { slots } }: RankingRequest): Pick<Ranking, 'score' | 'mean'> {
    const { kernels, alpha, lambda, dimensions } = this.#options;
    const ridge = this.#ridge;
    const mean = new Float64Array(slots.length);
    if (ridge === null) {
      const norm = embedding?.reduce((sum, value) => sum + value * value, 0) ?? 0;
      return { mean, score: new Float64Array(slots.length).fill(alpha * Math.sqrt((norm + 2) / lambda)) };
    }
    // One product for all candidates: with z = [e(q); 0; 1] and y = A⁻¹z, xᵀA⁻¹x = zᵀy + 2·y_slot + (A⁻¹)_slot,slot.
    const { solution, size } = ridge;
    const z = kernels.allocateFloat64(solution.gain.length);
    const y = kernels.allocateFloat64(solution.gain.length);
    if (embedding !== null) z.set(embedding);
    z[size - 1] = 1;
    solution.inverse.times(z, size, y);
    const common = kernels.dot(z, y, size);
    const shared = kernels.dot(z, solution.gain, size);
    const score = Float64Array.from(slots, (slot, i) => {
      const at = dimensions + slot;
      mean[i] = shared + solution.gain[at];
      return mean[i] + alpha * Math.sqrt(Math.max(0, common + 2 * y[at] + solution.inverse.element(at, at)));
    });
    kernels.free(z);
    kernels.free(y);
    return { mean, score };
  }

  learn({ query: { embedding }, slot }: Example, reward: number, weight: number): void {
    const { kernels, lambda, dimensions } = this.#options;
    const size = dimensions + this.#slots + 1;
    this.#ridge ??= new Ridge({ kernels, size, lambda });
    const x = new Float64Array(size);
    if (embedding !== null) x.set(embedding);
    x[dimensions + slot] = 1;
    x[size - 1] = 1;
    this.#ridge.learn(x, reward, weight);
  }

  free(): void {
    this.#ridge?.free();
    this.#ridge = null;
  }
}
