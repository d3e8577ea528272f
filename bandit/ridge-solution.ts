import { Cholesky } from './cholesky.ts';
import type { Kernels } from './kernels/kernels.ts';
import { packSymmetric, padded, symmetricLength, unpackSymmetric } from './kernels/symmetric-layout.ts';
import type { RidgeStatistics } from './ridge-statistics.ts';

/** Updates that wait outside the matrix, so that one pass over it takes them all. */
const BATCH = 8;
/** Update vectors that are remembered, so that values cached per tool can catch up. A multiple of BATCH. */
const LOG_CAPACITY = 128;

/**
 * The derived half of a ridge regression: A⁻¹, and δ = θ − θ₀ where θ = A⁻¹b. Kept by Sherman–Morrison:
 *   u = A⁻¹x,  A⁻¹ −= w/(1 + w·xᵀu)·uuᵀ,  δ += w·(r − θᵀx)/(1 + w·xᵀu)·u.
 *
 * The outer products go into a log first. A⁻¹ is at any time `inverse` plus the log from `folded` to `head`,
 * and full batches are folded into `inverse`. What is derived depends on the updates alone, never on when it
 * was read. Because only δ is kept, a ridge that has learned nothing predicts exactly θ₀ᵀx.
 */
export class RidgeSolution {
  readonly size: number;
  readonly prior: Float64Array;
  /** δ, padded. */
  readonly gain: Float64Array;
  /** The ring of update vectors u, rows of padded(size), and the s of each: A⁻¹ += s·uuᵀ. */
  readonly updates: Float64Array;
  readonly scales: Float64Array;
  readonly capacity = LOG_CAPACITY;
  #inverse: Float64Array;
  #folded = 0;
  #head = 0;
  readonly #kernels: Kernels;
  readonly #width: number;
  readonly #x: Float64Array;
  readonly #u: Float64Array;

  constructor(kernels: Kernels, statistics: RidgeStatistics, prior: Float64Array) {
    this.#kernels = kernels;
    this.size = statistics.size;
    this.prior = prior;
    this.#width = padded(this.size);
    this.gain = kernels.allocateFloat64(this.#width);
    this.updates = kernels.allocateFloat64(LOG_CAPACITY * this.#width);
    this.scales = kernels.allocateFloat64(LOG_CAPACITY);
    this.#inverse = kernels.allocateFloat64(symmetricLength(this.size));
    this.#x = kernels.allocateFloat64(this.#width);
    this.#u = kernels.allocateFloat64(this.#width);
    this.derive(statistics);
  }

  /** A⁻¹ without the log from `folded` on, as `symmetric-layout.ts` says. */
  get inverse(): Float64Array {
    return this.#inverse;
  }

  get folded(): number {
    return this.#folded;
  }

  get head(): number {
    return this.#head;
  }

  /** Follows one update of A and b. Answers false, with nothing changed, when A⁻¹ has lost its definiteness. */
  follow(x: Float64Array, reward: number, weight: number): boolean {
    const form = this.#solve(x);
    const denominator = 1 + weight * form;
    if (!(form >= 0 && denominator < Number.POSITIVE_INFINITY)) return false;
    const step = (weight * (reward - this.#base(x) - this.#gainOf())) / denominator;
    this.#move(step);
    this.#log(-weight / denominator);
    return true;
  }

  /** θ += δ·A⁻¹x. */
  shift(x: Float64Array, delta: number): void {
    this.#solve(x);
    this.#move(delta);
  }

  /** θ₀ᵀx + δᵀx. */
  mean(x: Float64Array): number {
    this.#x.set(x);
    return this.#base(x) + this.#gainOf();
  }

  /** xᵀA⁻¹x. */
  variance(x: Float64Array): number {
    return Math.max(0, this.#solve(x));
  }

  /** y = A⁻¹[:, 0…columns)·x; both in kernel memory, padded, x zero from `columns` on. */
  times(x: Float64Array, columns: number, y: Float64Array): void {
    const { updates, scales } = this;
    this.#kernels.symmetricTimes(this.#inverse, this.size, x, columns, y);
    const first = this.#folded % LOG_CAPACITY;
    this.#kernels.lowRankTimes(updates, this.#width, scales, first, this.#head - this.#folded, x, columns, y);
  }

  /** Computes everything anew from A and b. O(n³). @throws RangeError when A is not positive definite. */
  derive(statistics: RidgeStatistics): void {
    const { size } = this;
    if (statistics.updates === 0) {
      const packed = new Float64Array((size * (size + 1)) / 2);
      for (let row = 0, at = 0; row < size; at += size - row, row++) packed[at] = 1 / statistics.lambda;
      this.#replace(packed, new Float64Array(size));
      return;
    }
    const packed = statistics.packed();
    const factor = Cholesky.of(packed, size);
    this.#replace(factor.inverse(), factor.solve(this.#residual(packed, statistics.target)));
  }

  /** θ = θ₀ + δ. */
  theta(): Float64Array {
    return this.prior.map((value, i) => value + this.gain[i]);
  }

  /** A⁻¹ with everything in it, packed. A copy. */
  packedInverse(): Float64Array {
    const copy = this.#kernels.allocateFloat64(this.#inverse.length);
    copy.set(this.#inverse);
    const first = this.#folded % LOG_CAPACITY;
    const count = this.#head - this.#folded;
    this.#kernels.symmetricAdd(copy, this.size, this.updates, this.scales, first, count);
    const packed = packSymmetric(copy, this.size);
    this.#kernels.free(copy);
    return packed;
  }

  get sizeInBytes(): number {
    return this.#inverse.byteLength + this.updates.byteLength + 4 * this.gain.byteLength;
  }

  free(): void {
    for (const array of [this.gain, this.updates, this.scales, this.#inverse, this.#x, this.#u]) {
      this.#kernels.free(array);
    }
  }

  /** u = A⁻¹x; answers xᵀu. */
  #solve(x: Float64Array): number {
    this.#x.set(x);
    this.times(this.#x, this.size, this.#u);
    return this.#kernels.dot(this.#x, this.#u, this.size);
  }

  #gainOf(): number {
    return this.#kernels.dot(this.gain, this.#x, this.size);
  }

  #base(x: Float64Array): number {
    let sum = 0;
    for (let i = 0; i < this.size; i++) sum += this.prior[i] * x[i];
    return sum;
  }

  #move(step: number): void {
    for (let i = 0; i < this.size; i++) this.gain[i] += step * this.#u[i];
  }

  #log(scale: number): void {
    if (this.#head - this.#folded === BATCH) {
      const first = this.#folded % LOG_CAPACITY;
      this.#kernels.symmetricAdd(this.#inverse, this.size, this.updates, this.scales, first, BATCH);
      this.#folded += BATCH;
    }
    const row = this.#head % LOG_CAPACITY;
    this.updates.set(this.#u, row * this.#width);
    this.scales[row] = scale;
    this.#head++;
  }

  #replace(packedInverse: Float64Array, gain: Float64Array): void {
    unpackSymmetric(packedInverse, this.size, this.#inverse);
    this.gain.set(gain);
    // A leap beyond the log: whatever was cached at an earlier position is too old to catch up.
    this.#folded = (Math.floor(this.#head / LOG_CAPACITY) + 2) * LOG_CAPACITY;
    this.#head = this.#folded;
  }

  /** b − Aθ₀: exactly zero before anything was learned. */
  #residual(packed: Float64Array, target: Float64Array): Float64Array {
    const { size, prior } = this;
    const residual = target.slice();
    for (let row = 0, at = 0; row < size; row++) {
      for (let column = row; column < size; column++, at++) {
        residual[row] -= packed[at] * prior[column];
        if (column > row) residual[column] -= packed[at] * prior[row];
      }
    }
    return residual;
  }
}
