import type { Kernels } from '../kernels/kernels.ts';
import {
  packSymmetric,
  padded,
  rowStart,
  symmetricLength,
  unpackSymmetric,
} from '../kernels/symmetric-layout.ts';

/** Updates that are applied to the matrix in one pass. */
const BATCH = 8;
/** Updates that are kept, so that values cached per tool can be updated. A multiple of BATCH. */
const CAPACITY = 128;

/**
 * A⁻¹ under rank-one updates of A (Sherman & Morrison 1950):
 *   u = A⁻¹x,  A⁻¹ −= w/(1 + w·xᵀu)·uuᵀ.
 * Outer products go into a log first: A⁻¹ is at any time `matrix` plus the log from `folded` to `head`, and
 * full batches are folded into `matrix`. So its bits depend on the updates alone, never on when it was read.
 */
export class LoggedInverse {
  readonly size: number;
  /** `matrix` without the log from `folded` on, as `symmetric-layout.ts` says. */
  readonly matrix: Float64Array;
  /** The ring of update vectors u, rows of padded(size), and the s of each: A⁻¹ += s·uuᵀ. */
  readonly updates: Float64Array;
  readonly scales: Float64Array;
  readonly capacity = CAPACITY;
  /** A⁻¹x of the last `solve`, padded. */
  readonly solved: Float64Array;
  readonly #kernels: Kernels;
  readonly #width: number;
  readonly #x: Float64Array;
  #folded: number;
  #head: number;

  /** `position` is where the log begins to count. */
  constructor(kernels: Kernels, size: number, position: number) {
    this.#kernels = kernels;
    this.size = size;
    this.#width = padded(size);
    this.#folded = Math.ceil(position / CAPACITY) * CAPACITY;
    this.#head = this.#folded;
    this.matrix = kernels.allocateFloat64(symmetricLength(size));
    this.updates = kernels.allocateFloat64(CAPACITY * this.#width);
    this.scales = kernels.allocateFloat64(CAPACITY);
    this.solved = kernels.allocateFloat64(this.#width);
    this.#x = kernels.allocateFloat64(this.#width);
  }

  /** Updates before this position are part of `matrix`. */
  get folded(): number {
    return this.#folded;
  }

  /** Position of the next update. */
  get head(): number {
    return this.#head;
  }

  /** Replaces A⁻¹ by this one, packed. What was cached at an earlier position is now too old to catch up. */
  replace(packed: Float64Array): void {
    unpackSymmetric(packed, this.size, this.matrix);
    this.#folded = (Math.floor(this.#head / CAPACITY) + 2) * CAPACITY;
    this.#head = this.#folded;
  }

  /** y = A⁻¹[:, 0…columns)·x; both in kernel memory, padded, x zero from `columns` on. */
  times(x: Float64Array, columns: number, y: Float64Array): void {
    const { matrix, size, updates, scales } = this;
    this.#kernels.symmetricTimes(matrix, size, x, columns, y);
    const first = this.#folded % CAPACITY;
    this.#kernels.lowRankTimes(updates, this.#width, scales, first, this.#head - this.#folded, x, columns, y);
  }

  /** Computes A⁻¹x into `solved` and returns xᵀA⁻¹x. */
  solve(x: Float64Array): number {
    this.#x.set(x);
    this.times(this.#x, this.size, this.solved);
    return this.#kernels.dot(this.#x, this.solved, this.size);
  }

  /**
   * Follows A += w·xxᵀ; A⁻¹x of before is left in `solved`. Returns 1 + w·xᵀA⁻¹x, or NaN, with nothing
   * changed, when A⁻¹ is not positive definite any more because of rounding.
   */
  add(x: Float64Array, weight: number): number {
    const form = this.solve(x);
    const denominator = 1 + weight * form;
    if (!(form >= 0 && denominator < Number.POSITIVE_INFINITY)) return Number.NaN;
    if (this.#head - this.#folded === BATCH) this.#fold();
    const row = this.#head % CAPACITY;
    this.updates.set(this.solved, row * this.#width);
    this.scales[row] = -weight / denominator;
    this.#head++;
    return denominator;
  }

  /** (A⁻¹)_row,column for row ≤ column. */
  element(row: number, column: number): number {
    const { updates, scales } = this;
    let value = this.matrix[rowStart(this.size, row) + column];
    for (let position = this.#folded; position < this.#head; position++) {
      const at = position % CAPACITY;
      const u = at * this.#width;
      value += scales[at] * updates[u + row] * updates[u + column];
    }
    return value;
  }

  /** Returns A⁻¹ with all updates, packed. A copy. */
  packed(): Float64Array {
    const copy = this.#kernels.allocateFloat64(this.matrix.length);
    copy.set(this.matrix);
    const first = this.#folded % CAPACITY;
    const count = this.#head - this.#folded;
    this.#kernels.symmetricAdd(copy, this.size, this.updates, this.scales, first, count);
    const packed = packSymmetric(copy, this.size);
    this.#kernels.free(copy);
    return packed;
  }

  get sizeInBytes(): number {
    return this.matrix.byteLength + this.updates.byteLength + 2 * this.solved.byteLength;
  }

  /** Gives the memory back. The object must not be used afterwards. */
  free(): void {
    for (const array of [this.matrix, this.updates, this.scales, this.solved, this.#x]) {
      this.#kernels.free(array);
    }
  }

  #fold(): void {
    const first = this.#folded % CAPACITY;
    this.#kernels.symmetricAdd(this.matrix, this.size, this.updates, this.scales, first, BATCH);
    this.#folded += BATCH;
  }
}
