import { codesOf, inPlaceOf, type Kernels, wideCodesOf } from '../../bandit/kernels/kernels.ts';
import { type ItemVectors, quantise } from './item-record.ts';

/** The kernel reads rows of whole 16 bytes, four at a time. */
const [ROW_MULTIPLE, ROWS_TOGETHER] = [16, 4];

/** Compares the items of a user with a query, all of them in eight bits or some exactly: what the kernels need is copied into room that all users share. */
export class ItemCosines {
  readonly #kernels: Kernels;
  #codes: Int32Array;
  /** In 16 bits. */
  #query: Int32Array;
  #exactQuery: Float64Array;
  #sums: Float32Array;
  /** All 1: the scales are not the kernel's, which multiplies in 32 bits. */
  #ones: Float32Array;
  #scales: Float32Array;
  #rows: Int32Array;
  #products: Float64Array;
  /** What was copied last. */
  #copied: ItemVectors | null = null;

  constructor(kernels: Kernels) {
    this.#kernels = kernels;
    this.#codes = kernels.allocateInt32(ROW_MULTIPLE);
    this.#query = kernels.allocateInt32(ROW_MULTIPLE);
    this.#exactQuery = kernels.allocateFloat64(0);
    this.#sums = kernels.allocateFloat32(ROWS_TOGETHER);
    this.#ones = kernels.allocateFloat32(ROWS_TOGETHER).fill(1);
    this.#scales = kernels.allocateFloat32(ROWS_TOGETHER);
    this.#rows = kernels.allocateInt32(0);
    this.#products = kernels.allocateFloat64(0);
  }

  /**
   * Returns the cosine of each item with the query, up to a factor; 0 where there is no vector. Exact for the bits that are kept, up to 1,000 dimensions.
   * @param query of the embedder of the vectors
   */
  rough(vectors: ItemVectors, query: Float32Array): Float64Array {
    const { dimensions, scales } = vectors;
    const n = scales.length;
    const stride = this.#copy(vectors);
    const rough = new Int8Array(dimensions);
    quantise(query, rough);
    const wide = wideCodesOf(this.#query);
    wide.fill(0, 0, stride).set(rough);
    this.#kernels.scanCodes(this.#codes, stride, n, this.#query, this.#ones, 1, this.#sums);
    const cosines = new Float64Array(n);
    for (let row = 0; row < n; row++) cosines[row] = this.#sums[row] * scales[row];
    return cosines;
  }

  /**
   * Returns the products of some rows with a query, `product` of their vectors bit for bit; NaN where there is no vector.
   * @param query of the embedder of the vectors
   */
  exact(vectors: ItemVectors, rows: Uint32Array, query: Float32Array): Float64Array {
    const stride = this.#copy(vectors);
    const kernels = this.#kernels;
    if (this.#rows.length < rows.length)
      this.#rows = inPlaceOf(kernels, this.#rows, kernels.allocateInt32(rows.length));
    if (this.#products.length < rows.length)
      this.#products = inPlaceOf(kernels, this.#products, kernels.allocateFloat64(rows.length));
    if (this.#exactQuery.length !== vectors.dimensions)
      this.#exactQuery = inPlaceOf(kernels, this.#exactQuery, kernels.allocateFloat64(vectors.dimensions));
    this.#rows.set(rows);
    this.#exactQuery.set(query);
    const products = this.#products;
    kernels.codeProducts(
      this.#codes,
      stride,
      this.#scales,
      this.#rows,
      rows.length,
      this.#exactQuery,
      products,
    );
    return Float64Array.from(rows, (row, at) => (vectors.scales[row] > 0 ? products[at] : Number.NaN));
  }

  /** Returns the bytes of a row. */
  #copy(vectors: ItemVectors): number {
    const { dimensions, values, scales } = vectors;
    const n = scales.length;
    const stride = roundedUp(dimensions, ROW_MULTIPLE);
    if (this.#copied === vectors) return stride;
    this.#copied = null;
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
    this.#scales.set(scales);
    this.#copied = vectors;
    return stride;
  }

  #reserve(rows: number, stride: number): void {
    const kernels = this.#kernels;
    if (this.#codes.length < (rows * stride) / 4)
      this.#codes = inPlaceOf(kernels, this.#codes, kernels.allocateInt32((rows * stride) / 4));
    if (this.#query.length < stride / 2)
      this.#query = inPlaceOf(kernels, this.#query, kernels.allocateInt32(stride / 2));
    if (this.#sums.length < rows) this.#sums = inPlaceOf(kernels, this.#sums, kernels.allocateFloat32(rows));
    if (this.#ones.length < rows)
      this.#ones = inPlaceOf(kernels, this.#ones, kernels.allocateFloat32(rows).fill(1));
    if (this.#scales.length < rows)
      this.#scales = inPlaceOf(kernels, this.#scales, kernels.allocateFloat32(rows));
  }
}

function roundedUp(value: number, to: number): number {
  return Math.ceil(value / to) * to;
}
