/**
 * The few dense operations in which the learner spends its time. Two implementations, one test suite:
 * WebAssembly SIMD (`wasm-kernels.ts`) and TypeScript (`typescript-kernels.ts`). Both add in the same order,
 * so every result is the same bit for bit; which one runs can therefore never change what is learned.
 *
 * Arrays that are handed to a kernel must come from the allocator of that same instance. Views stay valid for
 * ever: the WebAssembly memory is shared memory, which grows without detaching its views.
 */
export interface Kernels {
  readonly name: 'wasm' | 'typescript';

  /** Zero-filled arrays, 64-byte aligned. @throws RangeError when the 4 GiB of one process are used up. */
  allocateFloat64(length: number): Float64Array;
  allocateFloat32(length: number): Float32Array;
  allocateInt32(length: number): Int32Array;
  /** Gives an allocation back. The view must not be used afterwards. */
  free(array: Float64Array | Float32Array | Int32Array): void;
  /** Bytes handed out and not given back. */
  readonly allocatedBytes: number;

  /** out[i] = table[i·stride …]·query for i < count; float32 products and sums. Used for similarities. */
  scan(table: Float32Array, stride: number, count: number, query: Float32Array, out: Float32Array): void;

  /** a·b over the first n elements, float64. */
  dot(a: Float64Array, b: Float64Array, n: number): number;

  /** y[i] = M[i, 0…columns)·x for i < rows; M is row-major with the given row stride, float64. */
  multiply(
    matrix: Float64Array,
    stride: number,
    rows: number,
    columns: number,
    x: Float64Array,
    y: Float64Array,
  ): void;

  /** M += s·u·uᵀ over the leading n×n block, every element, float64 (so a symmetric M stays symmetric). */
  rankOne(matrix: Float64Array, stride: number, n: number, u: Float64Array, s: number): void;
}
