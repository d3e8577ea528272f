// Dot products in the order of additions that ../kernels.ts states.

/** Σ a[i]·b[i], i < n, float64. Two lanes in each of four registers are the eight running sums. */
export function dot(a: usize, b: usize, n: i32): f64 {
  let s0 = f64x2.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  const end = a + (<usize>(n & ~7) << 3);
  while (a < end) {
    s0 = f64x2.add(s0, f64x2.mul(v128.load(a), v128.load(b)));
    s1 = f64x2.add(s1, f64x2.mul(v128.load(a, 16), v128.load(b, 16)));
    s2 = f64x2.add(s2, f64x2.mul(v128.load(a, 32), v128.load(b, 32)));
    s3 = f64x2.add(s3, f64x2.mul(v128.load(a, 48), v128.load(b, 48)));
    a += 64;
    b += 64;
  }
  let sum = join(s0, s1, s2, s3);
  for (let i = n & 7; i > 0; i--) {
    sum += load<f64>(a) * load<f64>(b);
    a += 8;
    b += 8;
  }
  return sum;
}

/** Two float32 at this address, as float64. */
// @ts-ignore: decorator
@inline
export function promote(address: usize): v128 {
  return f64x2.promote_low_f32x4(v128.load64_zero(address));
}

// @ts-ignore: decorator
@inline
function join(s0: v128, s1: v128, s2: v128, s3: v128): f64 {
  return lanes(f64x2.add(f64x2.add(s0, s1), f64x2.add(s2, s3)));
}

/** The two lanes added. */
// @ts-ignore: decorator
@inline
export function lanes(sum: v128): f64 {
  return f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1);
}

/** One row · query, float32; sixteen running sums. */
// @ts-ignore: decorator
@inline
function product(row: usize, query: usize, n: i32): f32 {
  const full = <usize>(n & ~15) << 2;
  let s0 = f32x4.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  for (let i: usize = 0; i < full; i += 64) {
    s0 = f32x4.add(s0, f32x4.mul(v128.load(row + i), v128.load(query + i)));
    s1 = f32x4.add(s1, f32x4.mul(v128.load(row + i, 16), v128.load(query + i, 16)));
    s2 = f32x4.add(s2, f32x4.mul(v128.load(row + i, 32), v128.load(query + i, 32)));
    s3 = f32x4.add(s3, f32x4.mul(v128.load(row + i, 48), v128.load(query + i, 48)));
  }
  const s = f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3));
  let sum: f32 =
    f32x4.extract_lane(s, 0) +
    f32x4.extract_lane(s, 2) +
    (f32x4.extract_lane(s, 1) + f32x4.extract_lane(s, 3));
  for (let i = full; i < <usize>n << 2; i += 4) sum += load<f32>(row + i) * load<f32>(query + i);
  return sum;
}

/** out[row] = table[row]·query. */
export function scan(table: usize, stride: i32, count: i32, query: usize, n: i32, out: usize): void {
  for (let row = 0; row < count; row++) {
    store<f32>(out + (<usize>row << 2), product(table, query, n));
    table += <usize>stride << 2;
  }
}

/** out[i] = table[rows[i]]·query. */
export function scanRows(
  table: usize,
  stride: i32,
  rows: usize,
  count: i32,
  query: usize,
  n: i32,
  out: usize,
): void {
  for (let i: usize = 0; i < <usize>count << 2; i += 4) {
    const row = <usize>load<i32>(rows + i) * (<usize>stride << 2);
    store<f32>(out + i, product(table + row, query, n));
  }
}

/** Rows of which the sums are kept in registers together. */
const CODE_ROWS: usize = 4;

/**
 * out[row] = unit·scales[row]·Σ codes·query, four rows at a time: codes are int8, the query is int16, sums are int32.
 * `stride` is a multiple of 16 bytes; codes, scales and out have room for a multiple of four rows.
 */
export function scanCodes(
  codes: usize,
  stride: i32,
  count: i32,
  query: usize,
  scales: usize,
  unit: f32,
  out: usize,
): void {
  const bytes = <usize>stride;
  const units = f32x4.splat(unit);
  for (let row = 0; row < count; row += <i32>CODE_ROWS) {
    const second = codes + bytes;
    const third = second + bytes;
    const fourth = third + bytes;
    let s0 = i32x4.splat(0);
    let s1 = s0;
    let s2 = s0;
    let s3 = s0;
    for (let i: usize = 0; i < bytes; i += 16) {
      let q = v128.load(query + (i << 1));
      s0 = i32x4.add(s0, i32x4.dot_i16x8_s(v128.load_ext<i8>(codes + i), q));
      s1 = i32x4.add(s1, i32x4.dot_i16x8_s(v128.load_ext<i8>(second + i), q));
      s2 = i32x4.add(s2, i32x4.dot_i16x8_s(v128.load_ext<i8>(third + i), q));
      s3 = i32x4.add(s3, i32x4.dot_i16x8_s(v128.load_ext<i8>(fourth + i), q));
      q = v128.load(query + (i << 1), 16);
      s0 = i32x4.add(s0, i32x4.dot_i16x8_s(v128.load_ext<i8>(codes + i, 8), q));
      s1 = i32x4.add(s1, i32x4.dot_i16x8_s(v128.load_ext<i8>(second + i, 8), q));
      s2 = i32x4.add(s2, i32x4.dot_i16x8_s(v128.load_ext<i8>(third + i, 8), q));
      s3 = i32x4.add(s3, i32x4.dot_i16x8_s(v128.load_ext<i8>(fourth + i, 8), q));
    }
    const upper = i32x4.add(v128.shuffle<i32>(s0, s1, 0, 4, 1, 5), v128.shuffle<i32>(s0, s1, 2, 6, 3, 7));
    const lower = i32x4.add(v128.shuffle<i32>(s2, s3, 0, 4, 1, 5), v128.shuffle<i32>(s2, s3, 2, 6, 3, 7));
    const sums = i32x4.add(
      v128.shuffle<i32>(upper, lower, 0, 1, 4, 5),
      v128.shuffle<i32>(upper, lower, 2, 3, 6, 7),
    );
    const products = f32x4.mul(f32x4.convert_i32x4_s(sums), v128.load(scales));
    v128.store(out, f32x4.mul(units, products));
    codes = fourth + bytes;
    scales += 16;
    out += 16;
  }
}

/** Rows of which the sums are kept in registers together. */
const SUM_ROWS: i32 = 8;

/** sums[row] += Σ weights[c]·table[columns[c]·stride + row], column by column; float32 values, float64 sums. */
export function addColumns(
  table: usize,
  stride: i32,
  columns: usize,
  weights: usize,
  width: i32,
  count: i32,
  sums: usize,
): void {
  const full = count & ~(SUM_ROWS - 1);
  for (let row = 0; row < full; row += SUM_ROWS) {
    const out = sums + (<usize>row << 3);
    const first = table + (<usize>row << 2);
    let s0 = v128.load(out);
    let s1 = v128.load(out, 16);
    let s2 = v128.load(out, 32);
    let s3 = v128.load(out, 48);
    for (let c: usize = 0; c < <usize>width; c++) {
      const values = first + <usize>load<i32>(columns + (c << 2)) * (<usize>stride << 2);
      const weight = f64x2.splat(load<f64>(weights + (c << 3)));
      s0 = f64x2.add(s0, f64x2.mul(promote(values), weight));
      s1 = f64x2.add(s1, f64x2.mul(promote(values + 8), weight));
      s2 = f64x2.add(s2, f64x2.mul(promote(values + 16), weight));
      s3 = f64x2.add(s3, f64x2.mul(promote(values + 24), weight));
    }
    v128.store(out, s0);
    v128.store(out, s1, 16);
    v128.store(out, s2, 32);
    v128.store(out, s3, 48);
  }
  for (let row = full; row < count; row++) {
    let sum = load<f64>(sums + (<usize>row << 3));
    for (let c: usize = 0; c < <usize>width; c++) {
      const at = <usize>load<i32>(columns + (c << 2)) * <usize>stride + <usize>row;
      sum += <f64>load<f32>(table + (at << 2)) * load<f64>(weights + (c << 3));
    }
    store<f64>(sums + (<usize>row << 3), sum);
  }
}
