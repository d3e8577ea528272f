import { codesOf, type Kernels, wideCodesOf } from './kernels/kernels.ts';

/** Rows of codes begin on 16-byte boundaries. */
const ROW_MULTIPLE = 16;
const LARGEST_CODE = 127;
const LARGEST_WIDE_CODE = 32_767;
const LARGEST_SUM = 2 ** 31 - 1;
/** Distance between 1 and the next float32. */
const FLOAT32_STEP = 2 ** -23;

/**
 * Embeddings in int8, a quarter of the bytes, to find out quickly which of many rows can be near a query. `scan` gives a
 * product for every row, and a margin for all: the product that the float32 kernel computes is not further away than that.
 *
 * With c = ĉ + r for a row (ĉ its codes times their scale) and q = p + s for the query, Cauchy and Schwarz give
 *   |q·c − p·ĉ| = |q·r + s·ĉ| ≤ |q|·|r| + |s|·(|c| + |r|).
 */
export class VectorCodes {
  readonly #kernels: Kernels;
  readonly #dimensions: number;
  /** Bytes from one row to the next. */
  readonly #stride: number;
  readonly #query: Int32Array;
  readonly #queryCodes: Int16Array;
  #codes: Int32Array;
  #scales: Float32Array;
  /** p·ĉ by row, after a scan. */
  #products: Float32Array;
  /** The largest |r| and |c| + |r| of all rows that were put. */
  #residual = 0;
  #length = 0;

  /** @param rows for how many there is room. */
  constructor(kernels: Kernels, dimensions: number, rows: number) {
    const room = byFours(rows);
    this.#kernels = kernels;
    this.#dimensions = dimensions;
    this.#stride = Math.max(1, Math.ceil(dimensions / ROW_MULTIPLE)) * ROW_MULTIPLE;
    this.#query = kernels.allocateInt32(this.#stride / 2);
    this.#queryCodes = wideCodesOf(this.#query);
    this.#codes = kernels.allocateInt32((room * this.#stride) / 4);
    this.#scales = kernels.allocateFloat32(room);
    this.#products = kernels.allocateFloat32(room);
  }

  put(row: number, embedding: Float32Array): void {
    const codes = codesOf(this.#codes).subarray(row * this.#stride, (row + 1) * this.#stride);
    this.#scales[row] = scaleOf(embedding, LARGEST_CODE);
    const { length, residual } = encode(embedding, this.#scales[row], codes);
    this.#residual = Math.max(this.#residual, residual);
    this.#length = Math.max(this.#length, length + residual);
  }

  /** Makes this row one of zeros. */
  clear(row: number): void {
    this.#scales[row] = 0;
  }

  /** The products of the first `count` rows with a query; valid until the next call. */
  scan(embedding: Float32Array, count: number): { readonly products: Float32Array; readonly margin: number } {
    // Sums must fit into 32 bits.
    const largest = Math.min(LARGEST_WIDE_CODE, Math.floor(LARGEST_SUM / (LARGEST_CODE * this.#stride)));
    const scale = scaleOf(embedding, largest);
    const { length, residual } = encode(embedding, scale, this.#queryCodes);
    this.#kernels.scanCodes(
      this.#codes,
      this.#stride,
      count,
      this.#query,
      this.#scales,
      scale,
      this.#products,
    );
    // Both kernels round every product and every sum.
    const rounding = FLOAT32_STEP * (this.#dimensions + 8);
    const margin = length * this.#residual + (residual + rounding * (length + residual)) * this.#length;
    return { products: this.#products, margin };
  }

  /** Makes room for so many rows. */
  reserve(rows: number): void {
    if (rows <= this.#scales.length) return;
    const room = byFours(rows);
    const codes = this.#kernels.allocateInt32((room * this.#stride) / 4);
    codes.set(this.#codes);
    const scales = this.#kernels.allocateFloat32(room);
    scales.set(this.#scales);
    for (const array of [this.#codes, this.#scales, this.#products]) this.#kernels.free(array);
    this.#codes = codes;
    this.#scales = scales;
    this.#products = this.#kernels.allocateFloat32(room);
  }

  get bytes(): number {
    return this.#codes.byteLength + 2 * this.#scales.byteLength;
  }

  /** Frees kernel memory. */
  dispose(): void {
    for (const array of [this.#query, this.#codes, this.#scales, this.#products]) this.#kernels.free(array);
  }
}

/** The kernel reads rows by fours. */
function byFours(rows: number): number {
  return Math.ceil(rows / 4) * 4;
}

/** The float32 by which the largest code stands for the largest element; 1 for zeros. */
function scaleOf(vector: Float32Array, largestCode: number): number {
  let largest = 0;
  for (let i = 0; i < vector.length; i++) largest = Math.max(largest, Math.abs(vector[i]));
  return Math.fround(largest / largestCode) || 1;
}

/** Writes the codes; returns |vector| and |vector − scale·codes|. */
function encode(
  vector: Float32Array,
  scale: number,
  codes: Int8Array | Int16Array,
): { readonly length: number; readonly residual: number } {
  const largest = codes instanceof Int8Array ? LARGEST_CODE : LARGEST_WIDE_CODE;
  let squares = 0;
  let lost = 0;
  for (let i = 0; i < vector.length; i++) {
    const code = Math.max(-largest, Math.min(largest, Math.round(vector[i] / scale)));
    codes[i] = code;
    const rest = vector[i] - scale * code;
    squares += vector[i] * vector[i];
    lost += rest * rest;
  }
  return { length: Math.sqrt(squares), residual: Math.sqrt(lost) };
}
