import type { Kernels } from '../kernels/kernels.ts';
import { padded } from '../kernels/symmetric-layout.ts';
import { Cholesky } from './cholesky.ts';
import { LoggedInverse } from './logged-inverse.ts';
import type { RidgeStatistics } from './ridge-statistics.ts';

/**
 * Keeps the derived half of a ridge regression: A⁻¹, and δ = θ − θ₀ where θ = A⁻¹b, which follows an update by
 *   δ += w·(r − θᵀx)/(1 + w·xᵀA⁻¹x)·A⁻¹x.
 * Because only δ is kept, a ridge that has learned nothing predicts exactly θ₀ᵀx.
 */
export class RidgeSolution {
  readonly size: number;
  readonly prior: Float64Array;
  /** δ, padded. */
  readonly gain: Float64Array;
  readonly #kernels: Kernels;
  readonly #x: Float64Array;
  /** Where θ₀ is not zero. */
  readonly #weighted: readonly number[];
  #inverse: LoggedInverse;

  constructor(kernels: Kernels, statistics: RidgeStatistics, prior: Float64Array) {
    this.#kernels = kernels;
    this.size = statistics.size;
    this.prior = prior;
    this.#weighted = [...prior.keys()].filter((i) => prior[i] !== 0);
    this.gain = kernels.allocateFloat64(padded(this.size));
    this.#x = kernels.allocateFloat64(padded(this.size));
    this.#inverse = new LoggedInverse(kernels, this.size, 0);
    this.derive(statistics);
  }

  /** A⁻¹. Another object after a re-factorisation. */
  get inverse(): LoggedInverse {
    return this.#inverse;
  }

  /** Follows one update of A and b. Returns false, with nothing changed, when A⁻¹ is not positive definite any more. */
  follow(x: Float64Array, reward: number, weight: number): boolean {
    const error = reward - this.mean(x);
    const denominator = this.#inverse.add(x, weight);
    if (Number.isNaN(denominator)) return false;
    this.#move((weight * error) / denominator);
    return true;
  }

  /** θ += step·A⁻¹x. */
  shift(x: Float64Array, step: number): void {
    this.#inverse.solve(x);
    this.#move(step);
  }

  /** θᵀx, as θ₀ᵀx + δᵀx. */
  mean(x: Float64Array): number {
    this.#x.set(x);
    let base = 0;
    for (const i of this.#weighted) base += this.prior[i] * x[i];
    return base + this.#kernels.dot(this.gain, this.#x, this.size);
  }

  /** xᵀA⁻¹x, never negative. */
  variance(x: Float64Array): number {
    return Math.max(0, this.#inverse.solve(x));
  }

  /** θ. */
  theta(): Float64Array {
    return this.prior.map((value, i) => value + this.gain[i]);
  }

  /** Computes everything again from A and b. O(n³). @throws RangeError when A is not positive definite. */
  derive(statistics: RidgeStatistics): void {
    const { size } = this;
    if (statistics.updates === 0) {
      const packed = new Float64Array((size * (size + 1)) / 2);
      for (let row = 0, at = 0; row < size; at += size - row, row++) packed[at] = 1 / statistics.lambda;
      this.#inverse.replace(packed);
    } else {
      this.#inverse.replace(Cholesky.of(statistics.packed(), size).inverse());
    }
    this.#deriveGain(statistics);
  }

  /** Replaces A⁻¹ by one that was computed elsewhere from the same A. */
  adopt(inverse: LoggedInverse, statistics: RidgeStatistics): void {
    this.#inverse.free();
    this.#inverse = inverse;
    this.#deriveGain(statistics);
  }

  get sizeInBytes(): number {
    return this.#inverse.sizeInBytes + 2 * this.gain.byteLength;
  }

  /** Frees the memory. The object must not be used afterwards. */
  free(): void {
    this.#inverse.free();
    this.#kernels.free(this.gain);
    this.#kernels.free(this.#x);
  }

  /** δ = A⁻¹(b − Aθ₀): exactly zero before anything was learned. */
  #deriveGain(statistics: RidgeStatistics): void {
    this.#inverse.solve(statistics.residual(this.prior));
    this.gain.set(this.#inverse.solved);
  }

  #move(step: number): void {
    const { solved } = this.#inverse;
    for (let i = 0; i < this.size; i++) this.gain[i] += step * solved[i];
  }
}
