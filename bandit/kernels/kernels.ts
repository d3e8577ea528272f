/**
 * The dense operations that take most of the learner's time. They run as WebAssembly SIMD (`wasm-kernels.ts`);
 * tests/bandit/kernels has the same in TypeScript, which adds in the same order, so that results are equal bit for bit.
 *
 * Arrays that are passed to a kernel must come from the allocator of the same instance. Views stay valid: the WebAssembly
 * memory is shared memory, which grows without detaching its views.
 *
 * Order of additions. A float64 dot product has eight running sums, number i mod 8 over the full blocks of 8,
 * joined as ((s0+s2)+(s4+s6)) + ((s1+s3)+(s5+s7)); the remaining elements follow one by one. `scan` has
 * sixteen float32 sums, joined as lanes a = (s0..3 + s4..7) + (s8..11 + s12..15), then (a0+a2) + (a1+a3).
 *
 * Symmetric matrices are stored as `symmetric-layout.ts` says: half of the elements, rows in blocks of four.
 */
export interface Kernels {
  readonly name: 'wasm' | 'typescript';

  /** Zero-filled arrays, 64-byte aligned. @throws RangeError when the 4 GiB of one process are used up. */
  allocateFloat64(length: number): Float64Array;
  allocateFloat32(length: number): Float32Array;
  allocateInt32(length: number): Int32Array;
  /** Frees an allocation. The view must not be used afterwards. @throws RangeError when it is not of this allocator. */
  free(array: Float64Array | Float32Array | Int32Array): void;
  /** Bytes that were allocated and not freed. */
  readonly allocatedBytes: number;

  /**
   * out[i] = table[i·stride …]·query for i < count; float32 products and sums. Used for similarities.
   * The length of `query` is the number of dimensions (≤ stride).
   */
  scan(table: Float32Array, stride: number, count: number, query: Float32Array, out: Float32Array): void;

  /** Scans some rows: out[i] = table[rows[i]·stride …]·query for i < count. @throws RangeError for a row beyond the table. */
  scanRows(
    table: Float32Array,
    stride: number,
    rows: Int32Array,
    count: number,
    query: Float32Array,
    out: Float32Array,
  ): void;

  /**
   * out[i] = scale·scales[i]·Σ codes[i·stride …]·query for i < count: exact integer sums, then two float32 products.
   * `codes` are int8 and `query` is int16 (`codesOf` and `wideCodesOf` are views of both); `stride` is a multiple of
   * 16. Rows are read by fours, so `codes`, `scales` and `out` have room for `count` rounded up to that. The sums
   * must fit into 32 bits.
   */
  scanCodes(
    codes: Int32Array,
    stride: number,
    count: number,
    query: Int32Array,
    scales: Float32Array,
    scale: number,
    out: Float32Array,
  ): void;

  /**
   * out[i] = Σ value·query over the first `query.length` numbers of row rows[i], for i < count, where value = f32(scales[row]·code); float64 products, number j
   * in running sum j mod 4 over the full blocks of 4 and in the first one behind them, joined as s0 + s1 + (s2 + s3). `codes` as of
   * `scanCodes`. @throws RangeError for a row beyond the table
   */
  codeProducts(
    codes: Int32Array,
    stride: number,
    scales: Float32Array,
    rows: Int32Array,
    count: number,
    query: Float64Array,
    out: Float64Array,
  ): void;

  /**
   * sums[i] += weights[c]·table[columns[c]·stride + i] for i < count, one column after the other; float32 values, float64
   * products and sums. @throws RangeError for a column beyond the table.
   */
  addColumns(
    table: Float32Array,
    stride: number,
    columns: Int32Array,
    weights: Float64Array,
    width: number,
    count: number,
    sums: Float64Array,
  ): void;

  /** a·b over the first n elements, float64. */
  dot(a: Float64Array, b: Float64Array, n: number): number;

  /**
   * y = M[:, 0…columns)·x for a symmetric M of `size` rows; float64. x and y have padded(size) elements,
   * and x is zero from `columns` on.
   */
  symmetricTimes(matrix: Float64Array, size: number, x: Float64Array, columns: number, y: Float64Array): void;

  /** out[i] = xᵀMx for each of `count` rows x of padded(size) elements, zero from `size` on; float64. */
  symmetricForms(matrix: Float64Array, size: number, x: Float64Array, count: number, out: Float64Array): void;

  /**
   * M += Σ s·u·uᵀ over the rows u of `updates`, `first` … `first + count`, in this order for every element:
   * the bits are those of one call per row. `updates` has rows of padded(size), `scales` one s per row.
   */
  symmetricAdd(
    matrix: Float64Array,
    size: number,
    updates: Float64Array,
    scales: Float64Array,
    first: number,
    count: number,
  ): void;

  /** y += Σ s·u·(u[0…columns)·x): what `symmetricAdd` of these rows would add to `symmetricTimes`. */
  lowRankTimes(
    updates: Float64Array,
    stride: number,
    scales: Float64Array,
    first: number,
    count: number,
    x: Float64Array,
    columns: number,
    y: Float64Array,
  ): void;

  /** Updates the cached values of these slots to the newest update. See `FormCache`. */
  refreshForms(cache: FormCache, table: SlotTable, slots: Int32Array, count: number): void;

  /** Scores `count` candidates of one query. See `CandidateForms`. */
  scoreForms(cache: FormCache, table: SlotTable, forms: CandidateForms, count: number): void;

  /** Adds to a quadrature of inclusion probabilities. See `InclusionSum`. */
  sumInclusion(sum: InclusionSum): void;

  /** scores[i] += Σ over trees of the leaf that row i of `features` falls into, tree by tree, for i < rows. See `TreeTables`. */
  scoreTrees(trees: TreeTables, features: Float64Array, rows: number, scores: Float64Array): void;
}

/** Returns the same memory as int8. */
export function codesOf({ buffer, byteOffset, byteLength }: Int32Array): Int8Array {
  return new Int8Array(buffer, byteOffset, byteLength);
}

/** Returns the same memory as int16. */
export function wideCodesOf({ buffer, byteOffset, byteLength }: Int32Array): Int16Array {
  return new Int16Array(buffer, byteOffset, byteLength / 2);
}

/** Rows of float32 vectors, one per slot. */
export interface SlotTable {
  readonly values: Float32Array;
  readonly stride: number;
}

/**
 * The parts of φᵀMφ and φᵀMz that can be kept per slot, for x = [q; φ; z] with |q| = |φ| = `dimensions` and
 * |z| = `specials`. M is `matrix` plus the logged updates from position `folded` on; the log is a ring in
 * which position p has row p mod `capacity`, and M' = M + s·u·uᵀ changes what is cached for φ by
 *   c += s·(u_φ·φ)²   and   r_k += s·(u_φ·φ)·u_k,
 * so a slot that is at most `capacity` updates behind needs one dot product per update; any other is computed again from M.
 */
export interface FormCache {
  readonly matrix: Float64Array;
  readonly size: number;
  readonly dimensions: number;
  readonly specials: number;
  /** The ring of update vectors u, rows of padded(size), and their s. */
  readonly updates: Float64Array;
  readonly scales: Float64Array;
  readonly capacity: number;
  /** Updates before this position are part of `matrix`. */
  readonly folded: number;
  /** Position of the next update; folded ≤ head ≤ folded + capacity. */
  readonly head: number;
  /** Per slot: the position it is up to date with (−∞: never computed), c, and r (rows of `specials`). */
  readonly stamps: Float64Array;
  readonly quadratic: Float64Array;
  readonly cross: Float64Array;
  /** Scratch of at least `dimensions` elements. */
  readonly vector: Float64Array;
}

/** One query and its candidates, as `scoreForms` needs them; all in kernel memory. */
export interface CandidateForms {
  readonly slots: Int32Array;
  /** z of each candidate, rows of `specials`. */
  readonly special: Float64Array;
  /** w = M[:, q]·q and δ = θ − θ₀, each [q; φ; z]. */
  readonly projection: Float64Array;
  readonly gainWeights: Float64Array;
  /** M over the z block, `specials`², with every logged update; the upper triangle is read. */
  readonly specialMatrix: Float64Array;
  /** δ_q·q and qᵀMq, the same for all candidates. */
  readonly queryGain: number;
  readonly queryForm: number;
  /** Out: δᵀx and xᵀMx per candidate. */
  readonly gain: Float64Array;
  readonly variance: Float64Array;
}

/**
 * Candidates arrive at exponential times with the given rates w, all of them below .1/first. Over t = first,
 * 2·first, 4·first, … until `end` (and perhaps one more), `sumInclusion` adds, as the lanes of a pair for every
 * second t,
 *   to the pair of each candidate  Σ w·t·e^(−wt)·Pr[at most K−1 others by t],
 *   to the last pair               Σ t·Pr[at most K−1 in all by t].
 */
export interface InclusionSum {
  /**
   * `inclusionLength(count, K)` elements: the rates in falling order, the pairs that are added to, the last pair;
   * the rest is scratch and zero at first.
   */
  readonly work: Float64Array;
  readonly count: number;
  readonly k: number;
  readonly first: number;
  readonly end: number;
  /** Below this, w·t is no arrival. */
  readonly negligible: number;
}

/** See `InclusionSum`: 7 numbers per candidate, K pairs per candidate and for all of them, and K + 2 pairs. */
export function inclusionLength(count: number, k: number): number {
  return 7 * count + 2 * (count + 1) * k + 2 * (k + 2);
}

/**
 * A sum of regression trees, laid out so that 64 rows are compared with a node at once, a byte each. Everything is in kernel memory; rows are read
 * by fours, so `features` has room for a multiple of four.
 *
 * A number is compared with thresholds as its rank among all thresholds of its column: how many of them are below it. Nodes read
 * the rank beyond a base, cut to 0…255, so that it is a byte and up to 255 thresholds can be told apart by it.
 */
export interface TreeTables {
  /** Numbers in a row of features. */
  readonly columns: number;
  /** Per column that is read: the column; where its thresholds begin; 2^(s − 1), where there are 2^s − 1 of them. */
  readonly searches: Int32Array;
  /** The thresholds of each column, ascending, and +∞ behind them. At most 2^15 − 1. */
  readonly thresholds: Float64Array;
  /** Per reading: the place of its search, the base, and the byte that stands for NaN. */
  readonly readings: Int32Array;
  /**
   * Per node, those of a tree together and children before parents: 64 times the reading; the byte up to which rows go left; 64 times the left child and
   * the right one: the leaf, counted within the tree, or 256 + the node, likewise.
   */
  readonly nodes: Int32Array;
  /** Per tree: its nodes and its leaves. A tree without nodes is its first leaf; none has more than 256. */
  readonly trees: Int32Array;
  readonly leaves: Float64Array;
  /** `treeWorkLength` elements, which begin as `prepareTreeWork` leaves them. */
  readonly work: Int32Array;
}

/** See `TreeTables`: 64 bytes for each leaf and node of a tree and for each reading, 128 for each search. */
export function treeWorkLength(searches: number, readings: number): number {
  return (TREE_BLOCK / 4) * (2 * TREE_LEAVES + readings + 2 * searches);
}

export function prepareTreeWork(work: Int32Array): void {
  const codes = codesOf(work);
  for (let leaf = 0; leaf < TREE_LEAVES; leaf++) codes.fill(leaf, leaf * TREE_BLOCK, (leaf + 1) * TREE_BLOCK);
}

/** Frees an array and returns the one that takes its place: so it is allocated first, and the old one stays if that throws. */
export function inPlaceOf<A extends Float64Array | Float32Array | Int32Array>(
  kernels: Kernels,
  old: A,
  allocated: A,
): A {
  kernels.free(old);
  return allocated;
}

/** Rows that are compared at once, and the most leaves of one tree. */
export const TREE_BLOCK = 64;
export const TREE_LEAVES = 256;
