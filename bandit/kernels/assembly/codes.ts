// Exact products of rows of int8 with a query. The order of additions is that of `Kernels.codeProducts`.
import { lanes } from './vectors';

/** out[i] = Σ f32(scales[row]·codes[row])·query for row = rows[i]; products and sums in float64, number j in sum j mod 4. */
export function codeProducts(
  codes: usize,
  stride: i32,
  scales: usize,
  rows: usize,
  count: i32,
  query: usize,
  n: i32,
  out: usize,
): void {
  const full = <usize>(n & ~3);
  for (let i = 0; i < count; i++) {
    const row = load<i32>(rows + (<usize>i << 2));
    const values = codes + <usize>row * <usize>stride;
    const factor = load<f32>(scales + (<usize>row << 2));
    const scale = f32x4.splat(factor);
    let s0 = f64x2.splat(0);
    let s1 = s0;
    for (let j: usize = 0; j < full; j += 4) {
      const wide = i32x4.extend_low_i16x8_s(i16x8.extend_low_i8x16_s(v128.load32_zero(values + j)));
      const four = f32x4.mul(f32x4.convert_i32x4_s(wide), scale);
      const q = query + (j << 3);
      s0 = f64x2.add(s0, f64x2.mul(f64x2.promote_low_f32x4(four), v128.load(q)));
      const upper = v128.shuffle<i64>(four, four, 1, 1);
      s1 = f64x2.add(s1, f64x2.mul(f64x2.promote_low_f32x4(upper), v128.load(q, 16)));
    }
    let first = f64x2.extract_lane(s0, 0);
    for (let j = full; j < <usize>n; j++) {
      first += <f64>(factor * <f32>load<i8>(values + j)) * load<f64>(query + (j << 3));
    }
    store<f64>(out + (<usize>i << 3), first + f64x2.extract_lane(s0, 1) + lanes(s1));
  }
}
