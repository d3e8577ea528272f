import type { Kernels } from './kernels/kernels.ts';
import { RidgeSolution } from './ridge-solution.ts';
import { checkFinite, RidgeStatistics } from './ridge-statistics.ts';

export interface RidgeOptions {
  readonly kernels: Kernels;
  /** d, the length of x. */
  readonly size: number;
  /** λ > 0. */
  readonly lambda: number;
  /** θ₀, the weights before anything was learned; zeros if absent. */
  readonly prior?: ArrayLike<number>;
  /** False in a process that only folds: it keeps A and b, costs a fraction, and cannot score. Default true. */
  readonly derived?: boolean;
}

export interface SavedRidge {
  readonly updates: number;
  /** The upper triangle of A, row by row. */
  readonly matrix: Float64Array;
  readonly target: Float64Array;
}

/** Ridge regression of a reward on x, one row at a time; θ = A⁻¹b, centred on θ₀. */
export class Ridge {
  readonly size: number;
  readonly statistics: RidgeStatistics;
  readonly #solution: RidgeSolution | null;

  /** @throws RangeError on a bad size, λ or θ₀. */
  constructor(options: RidgeOptions) {
    const { kernels, size, lambda } = options;
    const prior = new Float64Array(size);
    if (options.prior !== undefined) {
      if (options.prior.length !== size)
        throw new RangeError(`the prior has ${options.prior.length} weights, not ${size}`);
      checkFinite('prior', options.prior);
      prior.set(options.prior);
    }
    this.size = size;
    this.statistics = new RidgeStatistics(kernels, size, lambda, prior);
    this.#solution = (options.derived ?? true) ? new RidgeSolution(kernels, this.statistics, prior) : null;
  }

  /** @throws RangeError when the saved values do not belong to such a ridge. */
  static load(options: RidgeOptions, saved: SavedRidge): Ridge {
    const ridge = new Ridge(options);
    ridge.statistics.restore(saved.matrix, saved.target, saved.updates);
    ridge.#solution?.derive(ridge.statistics);
    return ridge;
  }

  /** A += w·xxᵀ, b += w·r·x. @throws RangeError, with nothing changed, unless all are finite and w > 0. */
  learn(x: Float64Array, reward: number, weight: number): void {
    this.#checkRow(x);
    if (!Number.isFinite(reward)) throw new RangeError(`reward must be finite, got ${reward}`);
    if (!(weight > 0 && weight < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`weight must be positive and finite, got ${weight}`);
    }
    this.statistics.add(x, reward, weight);
    // Definiteness is lost to rounding only; A itself still has it.
    if (this.#solution?.follow(x, reward, weight) === false) this.#solution.derive(this.statistics);
  }

  /** b += δ·x, θ += δ·A⁻¹x. @throws RangeError, with nothing changed, unless all are finite. */
  correct(x: Float64Array, delta: number): void {
    this.#checkRow(x);
    if (!Number.isFinite(delta)) throw new RangeError(`delta must be finite, got ${delta}`);
    this.statistics.shift(x, delta);
    this.#solution?.shift(x, delta);
  }

  /** θᵀx. */
  mean(x: Float64Array): number {
    return this.solution.mean(x);
  }

  /** xᵀA⁻¹x, never negative. */
  variance(x: Float64Array): number {
    return this.solution.variance(x);
  }

  /** The derived half. @throws Error when this ridge was made without it. */
  get solution(): RidgeSolution {
    if (this.#solution === null)
      throw new Error('this ridge only folds; make it with derived: true to score');
    return this.#solution;
  }

  save(): SavedRidge {
    const { statistics } = this;
    return { updates: statistics.updates, matrix: statistics.packed(), target: statistics.target.slice() };
  }

  get sizeInBytes(): number {
    return this.statistics.sizeInBytes + (this.#solution?.sizeInBytes ?? 0);
  }

  /** Gives the memory back. The ridge must not be used afterwards. */
  free(): void {
    this.statistics.free();
    this.#solution?.free();
  }

  #checkRow(x: Float64Array): void {
    if (x.length !== this.size) throw new RangeError(`x has ${this.size} elements, got ${x.length}`);
    checkFinite('x', x);
  }
}
