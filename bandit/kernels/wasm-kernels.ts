import { Heap } from './heap.ts';
import {
  type CandidateForms,
  type FormCache,
  type InclusionSum,
  inclusionLength,
  type Kernels,
  type SlotTable,
  type TreeTables,
  treeWorkLength,
} from './kernels.ts';
import { padded, symmetricLength } from './symmetric-layout.ts';

/** 4 GiB, the address space of 32 bits. It is reserved, and takes no memory until it is used. */
const MAXIMUM_PAGES = 65_536;

/**
 * Creates kernels in WebAssembly SIMD from the bytes of `kernels.wasm` (the caller reads the file).
 * @throws WebAssembly.CompileError or LinkError when this engine has no SIMD or no shared memory.
 */
export function createWasmKernels(bytes: Uint8Array): Kernels {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: MAXIMUM_PAGES, shared: true });
  const module = new WebAssembly.Module(bytes);
  const instance = new WebAssembly.Instance(module, { env: { memory } });
  return new WasmKernels(memory, instance.exports as unknown as Exports);
}

type Numeric = Float64Array | Float32Array | Int32Array;

/** Addresses and numbers, in the order of the functions in `assembly/`. */
interface Exports {
  scan(...values: number[]): void;
  scanCodes(...values: number[]): void;
  codeProducts(...values: number[]): void;
  addColumns(...values: number[]): void;
  scanRows(...values: number[]): void;
  dot(...values: number[]): number;
  symmetricTimes(...values: number[]): void;
  symmetricForms(...values: number[]): void;
  symmetricAdd(...values: number[]): void;
  lowRankTimes(...values: number[]): void;
  refreshForms(...values: number[]): void;
  scoreForms(...values: number[]): void;
  sumInclusion(...values: number[]): void;
  scoreTrees(...values: number[]): void;
}

class WasmKernels implements Kernels {
  readonly name = 'wasm';
  readonly #memory: WebAssembly.Memory;
  readonly #heap: Heap;
  readonly #run: Exports;
  /** All buffer objects of the memory: growing it creates a new object for the same bytes. */
  readonly #buffers = new WeakSet<ArrayBufferLike>();
  /** The newest one, to which most arrays belong. */
  #newest: ArrayBufferLike;

  constructor(memory: WebAssembly.Memory, run: Exports) {
    this.#memory = memory;
    this.#heap = new Heap(memory);
    this.#run = run;
    this.#newest = memory.buffer;
  }

  get allocatedBytes(): number {
    return this.#heap.allocatedBytes;
  }

  allocateFloat64(length: number): Float64Array {
    const start = this.#heap.allocate(8 * checkedLength(length));
    return new Float64Array(this.#buffer(), start, length);
  }

  allocateFloat32(length: number): Float32Array {
    const start = this.#heap.allocate(4 * checkedLength(length));
    return new Float32Array(this.#buffer(), start, length);
  }

  allocateInt32(length: number): Int32Array {
    const start = this.#heap.allocate(4 * checkedLength(length));
    return new Int32Array(this.#buffer(), start, length);
  }

  free(array: Numeric): void {
    this.#at(array, array.length);
    this.#heap.release(array.byteOffset, array.byteLength);
  }

  scan(table: Float32Array, stride: number, count: number, query: Float32Array, out: Float32Array): void {
    const n = query.length;
    const read = count > 0 ? (count - 1) * stride + n : 0;
    this.#run.scan(this.#at(table, read), stride, count, this.#at(query, n), n, this.#at(out, count));
  }

  scanRows(
    table: Float32Array,
    stride: number,
    rows: Int32Array,
    count: number,
    query: Float32Array,
    out: Float32Array,
  ): void {
    const n = query.length;
    const last = largest(rows, count);
    const from = this.#at(table, last < 0 ? 0 : last * stride + n);
    const list = this.#at(rows, count);
    this.#run.scanRows(from, stride, list, count, this.#at(query, n), n, this.#at(out, count));
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
    const rows = padded(count);
    const table = this.#at(codes, (rows * stride) / 4);
    const q = this.#at(query, stride / 2);
    this.#run.scanCodes(table, stride, count, q, this.#at(scales, rows), scale, this.#at(out, rows));
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
    const n = query.length;
    const last = largest(rows, count);
    const table = this.#at(codes, last < 0 ? 0 : (last * stride + n) / 4);
    const factors = this.#at(scales, last + 1);
    const list = this.#at(rows, count);
    this.#run.codeProducts(table, stride, factors, list, count, this.#at(query, n), n, this.#at(out, count));
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
    const last = largest(columns, width);
    const from = this.#at(table, last < 0 ? 0 : last * stride + count);
    const w = this.#at(weights, width);
    this.#run.addColumns(from, stride, this.#at(columns, width), w, width, count, this.#at(sums, count));
  }

  dot(a: Float64Array, b: Float64Array, n: number): number {
    return this.#run.dot(this.#at(a, n), this.#at(b, n), n);
  }

  symmetricTimes(
    matrix: Float64Array,
    size: number,
    x: Float64Array,
    columns: number,
    y: Float64Array,
  ): void {
    const width = padded(size);
    const m = this.#at(matrix, symmetricLength(size));
    this.#run.symmetricTimes(m, width, this.#at(x, width), columns, this.#at(y, width));
  }

  symmetricForms(
    matrix: Float64Array,
    size: number,
    x: Float64Array,
    count: number,
    out: Float64Array,
  ): void {
    const width = padded(size);
    const m = this.#at(matrix, symmetricLength(size));
    this.#run.symmetricForms(m, width, this.#at(x, count * width), count, this.#at(out, count));
  }

  symmetricAdd(
    matrix: Float64Array,
    size: number,
    updates: Float64Array,
    scales: Float64Array,
    first: number,
    count: number,
  ): void {
    const width = padded(size);
    const m = this.#at(matrix, symmetricLength(size));
    const u = this.#at(updates, (first + count) * width);
    this.#run.symmetricAdd(m, width, u, this.#at(scales, first + count), first, count);
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
    const u = this.#at(updates, (first + count) * stride);
    const s = this.#at(scales, first + count);
    this.#run.lowRankTimes(u, stride, s, first, count, this.#at(x, columns), columns, this.#at(y, stride));
  }

  refreshForms(cache: FormCache, table: SlotTable, slots: Int32Array, count: number): void {
    const width = padded(cache.size);
    this.#run.refreshForms(
      this.#at(cache.matrix, symmetricLength(cache.size)),
      width,
      cache.dimensions,
      cache.specials,
      this.#at(cache.updates, cache.capacity * width),
      this.#at(cache.scales, cache.capacity),
      cache.capacity,
      cache.folded,
      cache.head,
      this.#at(cache.stamps, 0),
      this.#at(cache.quadratic, 0),
      this.#at(cache.cross, 0),
      this.#at(cache.vector, cache.dimensions),
      this.#at(table.values, 0),
      table.stride,
      this.#at(slots, count),
      count,
    );
  }

  scoreForms(cache: FormCache, table: SlotTable, forms: CandidateForms, count: number): void {
    const { dimensions, specials } = cache;
    this.#run.scoreForms(
      dimensions,
      specials,
      this.#at(cache.quadratic, 0),
      this.#at(cache.cross, 0),
      this.#at(cache.vector, dimensions),
      this.#at(table.values, 0),
      table.stride,
      this.#at(forms.slots, count),
      this.#at(forms.special, count * specials),
      this.#at(forms.projection, 2 * dimensions + specials),
      this.#at(forms.gainWeights, 2 * dimensions + specials),
      this.#at(forms.specialMatrix, specials * specials),
      forms.queryGain,
      forms.queryForm,
      this.#at(forms.gain, count),
      this.#at(forms.variance, count),
      count,
    );
  }

  sumInclusion(sum: InclusionSum): void {
    const { count, k } = sum;
    const work = this.#at(sum.work, inclusionLength(count, k));
    this.#run.sumInclusion(work, count, k, sum.first, sum.end, sum.negligible);
  }

  scoreTrees(trees: TreeTables, features: Float64Array, rows: number, scores: Float64Array): void {
    const { columns, searches, thresholds, readings, nodes, leaves, work } = trees;
    const [searchCount, readingCount] = [searches.length / 3, readings.length / 3];
    this.#run.scoreTrees(
      this.#at(features, padded(rows) * columns),
      rows,
      columns,
      this.#at(searches, 0),
      searchCount,
      this.#at(thresholds, 0),
      this.#at(readings, 0),
      readingCount,
      this.#at(nodes, 0),
      this.#at(trees.trees, 0),
      trees.trees.length / 2,
      this.#at(leaves, 0),
      this.#at(work, treeWorkLength(searchCount, readingCount)),
      this.#at(scores, rows),
    );
  }

  #buffer(): ArrayBufferLike {
    const { buffer } = this.#memory;
    this.#buffers.add(buffer);
    this.#newest = buffer;
    return buffer;
  }

  /** Returns the address of an array of this allocator with at least this many elements. It checks, because WebAssembly would not. */
  #at(array: Numeric, length: number): number {
    const { buffer } = array;
    if (buffer !== this.#newest && !this.#buffers.has(buffer)) {
      throw new RangeError('this array does not lie in the memory of the kernels; allocate it there');
    }
    if (!(array.length >= length)) {
      throw new RangeError(`the kernel needs ${length} elements here, the array has ${array.length}`);
    }
    return array.byteOffset;
  }
}

/** Returns the largest of the first indices; −1 of none. @throws RangeError for a negative one. */
function largest(indices: Int32Array, count: number): number {
  let most = -1;
  for (let i = 0; i < count; i++) {
    if (indices[i] < 0) throw new RangeError(`an index is at least 0, got ${indices[i]}`);
    if (indices[i] > most) most = indices[i];
  }
  return most;
}

function checkedLength(length: number): number {
  if (!Number.isSafeInteger(length) || length < 0) {
    throw new RangeError(`a length is a whole number of at least 0, got ${length}`);
  }
  return length;
}
