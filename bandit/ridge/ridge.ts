import type { Kernels } from '../kernels/kernels.ts';
import { Refactorisation } from './refactorisation.ts';
import { RidgeSolution } from './ridge-solution.ts';
import { checkFinite, RidgeStatistics } from './ridge-statistics.ts';

/** Updates that are replayed at a time: about a millisecond at d = 520. */
const REPLAY_SLICE = 8;

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
  readonly #kernels: Kernels;
  readonly #solution: RidgeSolution | null;
  #refactorisation: Refactorisation | null = null;
  #derivedAt = 0;

  /** @throws RangeError on a bad size, λ or θ₀. */
  constructor(options: RidgeOptions) {
    const { kernels, size, lambda } = options;
    const prior = checkedPrior(options);
    this.size = size;
    this.#kernels = kernels;
    this.statistics = new RidgeStatistics(kernels, size, lambda, prior);
    this.#solution = (options.derived ?? true) ? new RidgeSolution(kernels, this.statistics, prior) : null;
  }

  /** @throws RangeError when the saved values do not belong to such a ridge. */
  static load(options: RidgeOptions, saved: SavedRidge): Ridge {
    const ridge = new Ridge(options);
    ridge.statistics.restore(saved.matrix, saved.target, saved.updates);
    if (ridge.#solution !== null) ridge.#derive();
    return ridge;
  }

  /**
   * A += w·xxᵀ, b += w·r·x.
   * @throws RangeError, with nothing changed, unless all are finite, products included, and w > 0.
   */
  learn(x: Float64Array, reward: number, weight: number): void {
    if (!Number.isFinite(reward)) throw new RangeError(`reward must be finite, got ${reward}`);
    if (!(weight > 0 && weight < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`weight must be positive and finite, got ${weight}`);
    }
    this.#checkRow(x, Math.max(1, Math.abs(reward)) * weight);
    this.statistics.add(x, reward, weight);
    if (this.#solution === null) return;
    this.#refactorisation?.record(x, weight);
    // Definiteness is lost to rounding only; A itself still has it.
    if (!this.#solution.follow(x, reward, weight)) this.#derive();
  }

  /** b += δ·x, θ += δ·A⁻¹x. @throws RangeError, with nothing changed, unless all are finite. */
  correct(x: Float64Array, delta: number): void {
    if (!Number.isFinite(delta)) throw new RangeError(`delta must be finite, got ${delta}`);
    this.#checkRow(x, Math.abs(delta));
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

  /** Returns the derived half. @throws Error when this ridge was created without it. */
  get solution(): RidgeSolution {
    if (this.#solution === null)
      throw new Error('this ridge only folds; make it with derived: true to score');
    return this.#solution;
  }

  /** Updates that A⁻¹ has followed since it was last computed from A; 0 in a process that only folds. */
  get updatesSinceFactorisation(): number {
    return this.#solution === null ? 0 : this.statistics.updates - this.#derivedAt;
  }

  /**
   * Begins to compute A⁻¹ again. The caller inverts `matrix` elsewhere and passes the result to
   * `finishRefactorisation`; learning and scoring go on. @throws Error when one is under way.
   */
  beginRefactorisation(): Refactorisation {
    if (this.#refactorisation !== null) throw new Error('a re-factorisation is under way already');
    if (this.#solution === null) throw new Error('this ridge only folds; it has no inverse');
    this.#refactorisation = new Refactorisation(this.#kernels, this.size, this.statistics.packed());
    return this.#refactorisation;
  }

  /**
   * Replays the updates of the meantime on the result (A⁻¹, packed) and uses it from then on. Each step of the generator takes a
   * few milliseconds. It returns true, or false when the re-factorisation was abandoned: there were too many updates, the ridge
   * was freed, or the result was no inverse.
   */
  *finishRefactorisation(inverse: Float64Array): Generator<void, boolean> {
    const refactorisation = this.#refactorisation;
    if (refactorisation === null) return false;
    if (inverse.length !== refactorisation.matrix.length || !Number.isFinite(sum(inverse))) {
      this.abandonRefactorisation();
      return false;
    }
    yield;
    if (!refactorisation.abandoned) refactorisation.receive(inverse, this.solution.inverse.head);
    let renewed = null;
    while (renewed === null && !refactorisation.abandoned) {
      yield;
      renewed = refactorisation.replay(REPLAY_SLICE);
    }
    if (this.#refactorisation === refactorisation) this.#refactorisation = null;
    if (renewed === null) return false;
    this.solution.adopt(renewed, this.statistics);
    this.#derivedAt = this.statistics.updates - refactorisation.missed;
    return true;
  }

  /** Abandons the current re-factorisation, if there is one. */
  abandonRefactorisation(): void {
    this.#refactorisation?.abandon();
    this.#refactorisation = null;
  }

  save(): SavedRidge {
    const { statistics } = this;
    return { updates: statistics.updates, matrix: statistics.packed(), target: statistics.target.slice() };
  }

  get sizeInBytes(): number {
    return this.statistics.sizeInBytes + (this.#solution?.sizeInBytes ?? 0);
  }

  /** Frees the memory. The ridge must not be used afterwards. */
  free(): void {
    this.abandonRefactorisation();
    this.statistics.free();
    this.#solution?.free();
  }

  #derive(): void {
    this.abandonRefactorisation();
    this.solution.derive(this.statistics);
    this.#derivedAt = this.statistics.updates;
  }

  #checkRow(x: Float64Array, factor: number): void {
    if (x.length !== this.size) throw new RangeError(`x has ${this.size} elements, got ${x.length}`);
    let squares = 0;
    for (let i = 0; i < x.length; i++) squares += x[i] * x[i];
    if (Number.isFinite(factor * squares)) return;
    checkFinite('x', x);
    throw new RangeError(`products of x must be finite; the sum of its squares is ${squares}`);
  }
}

/** Returns the sum of all values; not finite if any of them is not. */
function sum(values: Float64Array): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
}

function checkedPrior(options: RidgeOptions): Float64Array {
  if (options.prior === undefined) return new Float64Array(options.size);
  if (options.prior.length !== options.size) {
    throw new RangeError(`the prior has ${options.prior.length} weights, not ${options.size}`);
  }
  checkFinite('prior', options.prior);
  return Float64Array.from(options.prior);
}
