import { codesOf, type Kernels, wideCodesOf } from '../../bandit/kernels/kernels.ts';
import { type ItemVectors, quantise } from './item-record.ts';

/** The kernel reads rows of whole 16 bytes, four at a time. */
const [ROW_MULTIPLE, ROWS_TOGETHER] = [16, 4];

/** Compares the items of a user with a query in eight bits, all of them at once: what a kernel needs is copied into room that all users share. */
export class RoughCosines {
  readonly #kernels: Kernels;
  #codes: Int32Array;
  #query: Int32Array;
  #sums: Float32Array;
  /** All 1: the scales are not the kernel's, which multiplies in 32 bits. */
  #ones: Float32Array;

  constructor(kernels: Kernels) {
    this.#kernels = kernels;
    this.#codes = kernels.allocateInt32(ROW_MULTIPLE);
    this.#query = kernels.allocateInt32(ROW_MULTIPLE);
    this.#sums = kernels.allocateFloat32(ROWS_TOGETHER);
    this.#ones = kernels.allocateFloat32(ROWS_TOGETHER);
  }

  /**
   * Returns the cosine of each item with the query, up to a factor; 0 where there is no vector. Exact for the bits that are kept, up to 1,000 dimensions.
   * @param query of the embedder of the vectors
   */
  of({ dimensions, values, scales }: ItemVectors, query: Float32Array): Float64Array {
    const n = scales.length;
    const stride = roundedUp(dimensions, ROW_MULTIPLE);
    this.#reserve(roundedUp(n, ROWS_TOGETHER), stride);
    const codes = codesOf(this.#codes);
    if (stride === dimensions) codes.set(values);
    else {
      for (let row = 0; row < n; row++) {
        const from = row * dimensions;
        codes.set(values.subarray(from, from + dimensions), row * stride);
        codes.fill(0, row * stride + dimensions, (row + 1) * stride);
      }
    }
    const rough = new Int8Array(dimensions);
    quantise(query, rough);
    const wide = wideCodesOf(this.#query);
    wide.fill(0, 0, stride).set(rough);
    this.#kernels.scanCodes(this.#codes, stride, n, this.#query, this.#ones, 1, this.#sums);
    const cosines = new Float64Array(n);
    for (let row = 0; row < n; row++) cosines[row] = this.#sums[row] * scales[row];
    return cosines;
  }

  #reserve(rows: number, stride: number): void {
    if (this.#codes.length < (rows * stride) / 4) {
      this.#kernels.free(this.#codes);
      this.#codes = this.#kernels.allocateInt32((rows * stride) / 4);
    }
    if (this.#query.length < stride / 2) {
      this.#kernels.free(this.#query);
      this.#query = this.#kernels.allocateInt32(stride / 2);
    }
    if (this.#sums.length < rows) {
      for (const array of [this.#sums, this.#ones]) this.#kernels.free(array);
      this.#sums = this.#kernels.allocateFloat32(rows);
      this.#ones = this.#kernels.allocateFloat32(rows);
    }
    this.#ones.fill(1);
  }
}

function roundedUp(value: number, to: number): number {
  return Math.ceil(value / to) * to;
}
