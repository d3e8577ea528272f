import { padded } from '../../../bandit/kernels/symmetric-layout.ts';

/** Dot products in the order of additions that `kernels.ts` states. */

/** Σ a[aFrom + i]·b[bFrom + i], i < n. */
export function dot(a: Float64Array, aFrom: number, b: Float64Array, bFrom: number, n: number): number {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let s4 = 0;
  let s5 = 0;
  let s6 = 0;
  let s7 = 0;
  const full = n & ~7;
  for (let i = 0; i < full; i += 8) {
    const p = aFrom + i;
    const q = bFrom + i;
    s0 += a[p] * b[q];
    s1 += a[p + 1] * b[q + 1];
    s2 += a[p + 2] * b[q + 2];
    s3 += a[p + 3] * b[q + 3];
    s4 += a[p + 4] * b[q + 4];
    s5 += a[p + 5] * b[q + 5];
    s6 += a[p + 6] * b[q + 6];
    s7 += a[p + 7] * b[q + 7];
  }
  let sum = s0 + s2 + (s4 + s6) + (s1 + s3 + (s5 + s7));
  for (let i = full; i < n; i++) sum += a[aFrom + i] * b[bFrom + i];
  return sum;
}

/** out[i] = table[i·stride …]·query in float32: rounding a float64 product or sum gives the float32 one. */
export function scan(
  table: Float32Array,
  stride: number,
  count: number,
  query: Float32Array,
  out: Float32Array,
): void {
  const n = query.length;
  const full = n & ~15;
  const f = Math.fround;
  const sums = new Float32Array(16);
  for (let row = 0; row < count; row++) {
    const start = row * stride;
    sums.fill(0);
    for (let i = 0; i < full; i += 16) {
      for (let lane = 0; lane < 16; lane++) {
        sums[lane] = f(sums[lane] + f(table[start + i + lane] * query[i + lane]));
      }
    }
    const lane = (l: number) => f(f(sums[l] + sums[l + 4]) + f(sums[l + 8] + sums[l + 12]));
    let sum = f(f(lane(0) + lane(2)) + f(lane(1) + lane(3)));
    for (let i = full; i < n; i++) sum = f(sum + f(table[start + i] * query[i]));
    out[row] = sum;
  }
}

export function scanRows(
  table: Float32Array,
  stride: number,
  rows: Int32Array,
  count: number,
  query: Float32Array,
  out: Float32Array,
): void {
  for (let i = 0; i < count; i++) {
    const row = table.subarray(rows[i] * stride, rows[i] * stride + query.length);
    scan(row, stride, 1, query, out.subarray(i, i + 1));
  }
}

/** sums[row] += Σ weights[c]·table[columns[c]·stride + row], column by column. */
export function addColumns(
  table: Float32Array,
  stride: number,
  columns: Int32Array,
  weights: Float64Array,
  width: number,
  count: number,
  sums: Float64Array,
): void {
  for (let c = 0; c < width; c++) {
    for (let row = 0; row < count; row++) sums[row] += table[columns[c] * stride + row] * weights[c];
  }
}

/** out[row] = scale·scales[row]·Σ codes·query, in integers and then in float32. */
export function scanCodes(
  codes: Int8Array,
  stride: number,
  count: number,
  query: Int16Array,
  scales: Float32Array,
  scale: number,
  out: Float32Array,
): void {
  const f = Math.fround;
  for (let row = 0; row < padded(count); row++) {
    let sum = 0;
    for (let i = 0; i < stride; i++) sum += codes[row * stride + i] * query[i];
    out[row] = f(f(scale) * f(f(sum) * scales[row]));
  }
}

export function codeProducts(
  codes: Int8Array,
  stride: number,
  scales: Float32Array,
  rows: Int32Array,
  count: number,
  query: Float64Array,
  out: Float64Array,
): void {
  const full = query.length - (query.length % 4);
  for (let i = 0; i < count; i++) {
    const sums = [0, 0, 0, 0];
    for (let j = 0; j < query.length; j++) {
      const value = Math.fround(scales[rows[i]] * codes[rows[i] * stride + j]);
      sums[j < full ? j % 4 : 0] += value * query[j];
    }
    out[i] = sums[0] + sums[1] + (sums[2] + sums[3]);
  }
}
