import type { Kernels } from '../kernels/kernels.ts';
import { packSymmetric, padded, symmetricLength, unpackSymmetric } from '../kernels/symmetric-layout.ts';

/** Rows that are added to A in one pass over it. */
const BATCH = 8;

/**
 * Keeps the canonical half of a ridge regression: A = λI + Σ w·xxᵀ and b = λθ₀ + Σ w·r·x, float64, from which everything else
 * is derived. The same calls give the same bits with either kernel, however they are batched: rows wait
 * for a pass over A, and the pass adds them to each element one after the other.
 */
export class RidgeStatistics {
  readonly size: number;
  readonly lambda: number;
  /** b. */
  readonly target: Float64Array;
  /** How many rows were learned. */
  updates = 0;
  readonly #kernels: Kernels;
  readonly #matrix: Float64Array;
  readonly #rows: Float64Array;
  readonly #weights: Float64Array;
  readonly #width: number;
  #waiting = 0;

  constructor(kernels: Kernels, size: number, lambda: number, prior: Float64Array) {
    if (!Number.isSafeInteger(size) || size < 1) throw new RangeError(`size must be at least 1, got ${size}`);
    if (!(lambda > 0 && lambda < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`lambda must be positive and finite, got ${lambda}`);
    }
    this.#kernels = kernels;
    this.size = size;
    this.lambda = lambda;
    this.#width = padded(size);
    this.#matrix = kernels.allocateFloat64(symmetricLength(size));
    this.#rows = kernels.allocateFloat64(BATCH * this.#width);
    this.#weights = kernels.allocateFloat64(BATCH);
    this.target = new Float64Array(size);
    const identity = new Float64Array((size * (size + 1)) / 2);
    for (let row = 0, at = 0; row < size; at += size - row, row++) {
      identity[at] = lambda;
      this.target[row] = lambda * prior[row];
    }
    unpackSymmetric(identity, size, this.#matrix);
  }

  /** A += w·xxᵀ, b += w·r·x. The arguments were checked by the caller. */
  add(x: Float64Array, reward: number, weight: number): void {
    if (this.#waiting === BATCH) this.#settle();
    this.#rows.set(x, this.#waiting * this.#width);
    this.#weights[this.#waiting++] = weight;
    this.shift(x, weight * reward);
    this.updates++;
  }

  /** b += δ·x. */
  shift(x: Float64Array, delta: number): void {
    const { target, size } = this;
    for (let i = 0; i < size; i++) target[i] += delta * x[i];
  }

  /** b − A·weights. */
  residual(weights: Float64Array): Float64Array {
    this.#settle();
    const x = this.#kernels.allocateFloat64(this.#width);
    const y = this.#kernels.allocateFloat64(this.#width);
    x.set(weights);
    this.#kernels.symmetricTimes(this.#matrix, this.size, x, this.size, y);
    const residual = this.target.map((value, i) => value - y[i]);
    this.#kernels.free(x);
    this.#kernels.free(y);
    return residual;
  }

  /** A as it is now: the upper triangle, row by row. A copy. */
  packed(): Float64Array {
    this.#settle();
    return packSymmetric(this.#matrix, this.size);
  }

  /**
   * Replaces A and b. Nothing is changed when they are refused.
   * @throws RangeError when a length is wrong, a value is not finite or a diagonal element not positive.
   */
  restore(packed: Float64Array, target: Float64Array, updates: number): void {
    const { size } = this;
    if (packed.length !== (size * (size + 1)) / 2 || target.length !== size) {
      throw new RangeError(
        `the saved ridge is not one of size ${size}: ${target.length}, ${packed.length} values`,
      );
    }
    checkFinite('A', packed);
    checkFinite('b', target);
    for (let row = 0, at = 0; row < size; at += size - row, row++) {
      if (!(packed[at] > 0))
        throw new RangeError(`A is not positive definite: diagonal ${row} is ${packed[at]}`);
    }
    this.#waiting = 0;
    unpackSymmetric(packed, size, this.#matrix);
    this.target.set(target);
    this.updates = updates;
  }

  get sizeInBytes(): number {
    return this.#matrix.byteLength + this.#rows.byteLength + this.target.byteLength;
  }

  free(): void {
    for (const array of [this.#matrix, this.#rows, this.#weights]) this.#kernels.free(array);
  }

  #settle(): void {
    if (this.#waiting === 0) return;
    this.#kernels.symmetricAdd(this.#matrix, this.size, this.#rows, this.#weights, 0, this.#waiting);
    this.#waiting = 0;
  }
}

/** @throws RangeError naming the first value that is not finite. */
export function checkFinite(name: string, values: ArrayLike<number>): void {
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) throw new RangeError(`${name}[${i}] must be finite, got ${values[i]}`);
  }
}
