import {
  type CandidateForms,
  codesOf,
  type FormCache,
  type InclusionSum,
  type Kernels,
  type SlotTable,
  type TreeTables,
  wideCodesOf,
} from '../../../bandit/kernels/kernels.ts';
import { refreshForms, scoreForms } from './typescript-forms.ts';
import { sumInclusion } from './typescript-inclusion.ts';
import { lowRankTimes, symmetricAdd, symmetricForms, symmetricTimes } from './typescript-symmetric.ts';
import { scoreTrees } from './typescript-trees.ts';
import { addColumns, codeProducts, dot, scan, scanCodes, scanRows } from './typescript-vectors.ts';

/** What the WebAssembly kernels are compared with: the same operations in TypeScript, the same bit for bit. */
export function createTypescriptKernels(): Kernels {
  return new TypescriptKernels();
}

class TypescriptKernels implements Kernels {
  readonly name = 'typescript';
  readonly #live = new Set<ArrayBufferView>();
  #bytes = 0;

  get allocatedBytes(): number {
    return this.#bytes;
  }

  allocateFloat64(length: number): Float64Array {
    return this.#keep(new Float64Array(length));
  }

  allocateFloat32(length: number): Float32Array {
    return this.#keep(new Float32Array(length));
  }

  allocateInt32(length: number): Int32Array {
    return this.#keep(new Int32Array(length));
  }

  free(array: Float64Array | Float32Array | Int32Array): void {
    if (!this.#live.delete(array)) {
      throw new RangeError('this array was not allocated here, or was given back before');
    }
    this.#bytes -= array.byteLength;
  }

  scan(table: Float32Array, stride: number, count: number, query: Float32Array, out: Float32Array): void {
    scan(table, stride, count, query, out);
  }

  scanCodes(
    codes: Int32Array,
    stride: number,
    count: number,
    query: Int32Array,
    scales: Float32Array,
    scale: number,
    out: Float32Array,
  ): void {
    scanCodes(codesOf(codes), stride, count, wideCodesOf(query), scales, scale, out);
  }

  codeProducts(
    codes: Int32Array,
    stride: number,
    scales: Float32Array,
    rows: Int32Array,
    count: number,
    query: Float64Array,
    out: Float64Array,
  ): void {
    codeProducts(codesOf(codes), stride, scales, rows, count, query, out);
  }

  scanRows(
    table: Float32Array,
    stride: number,
    rows: Int32Array,
    count: number,
    query: Float32Array,
    out: Float32Array,
  ): void {
    scanRows(table, stride, rows, count, query, out);
  }

  addColumns(
    table: Float32Array,
    stride: number,
    columns: Int32Array,
    weights: Float64Array,
    width: number,
    count: number,
    sums: Float64Array,
  ): void {
    addColumns(table, stride, columns, weights, width, count, sums);
  }

  dot(a: Float64Array, b: Float64Array, n: number): number {
    return dot(a, 0, b, 0, n);
  }

  symmetricTimes(
    matrix: Float64Array,
    size: number,
    x: Float64Array,
    columns: number,
    y: Float64Array,
  ): void {
    symmetricTimes(matrix, size, x, columns, y);
  }

  symmetricForms(
    matrix: Float64Array,
    size: number,
    x: Float64Array,
    count: number,
    out: Float64Array,
  ): void {
    symmetricForms(matrix, size, x, count, out);
  }

  symmetricAdd(
    matrix: Float64Array,
    size: number,
    updates: Float64Array,
    scales: Float64Array,
    first: number,
    count: number,
  ): void {
    symmetricAdd(matrix, size, updates, scales, first, count);
  }

  lowRankTimes(
    updates: Float64Array,
    stride: number,
    scales: Float64Array,
    first: number,
    count: number,
    x: Float64Array,
    columns: number,
    y: Float64Array,
  ): void {
    lowRankTimes(updates, stride, scales, first, count, x, columns, y);
  }

  refreshForms(cache: FormCache, table: SlotTable, slots: Int32Array, count: number): void {
    refreshForms(cache, table, slots, count);
  }

  scoreForms(cache: FormCache, table: SlotTable, forms: CandidateForms, count: number): void {
    scoreForms(cache, table, forms, count);
  }

  sumInclusion(sum: InclusionSum): void {
    sumInclusion(sum);
  }

  scoreTrees(trees: TreeTables, features: Float64Array, rows: number, scores: Float64Array): void {
    scoreTrees(trees, features, rows, scores);
  }

  #keep<A extends Float64Array | Float32Array | Int32Array>(array: A): A {
    this.#live.add(array);
    this.#bytes += array.byteLength;
    return array;
  }
}
