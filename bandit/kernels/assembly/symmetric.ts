// Symmetric matrices as ../symmetric-layout.ts lays them out. The reference is ../typescript-symmetric.ts.
import { dot, lanes } from './vectors';

/** Where column 0 of this row would be, in bytes from the start of the matrix. */
export function rowStart(width: i32, row: i32): usize {
  const block = row >> 2;
  const element = 4 * block * width - 8 * block * (block - 1) + (row & 3) * (width - 4 * block) - 4 * block;
  return <usize>element << 3;
}

export function symmetricTimes(matrix: usize, width: i32, x: usize, columns: i32, y: usize): void {
  memory.fill(y, 0, <usize>width << 3);
  const end = <usize>width << 3;
  const used = <usize>((columns + 3) & ~3) << 3;
  for (let row: i32 = 0, at: usize = 0; at < used; row += 4, at += 32) {
    const r0 = matrix + rowStart(width, row);
    const step = end - at;
    const r1 = r0 + step;
    const r2 = r1 + step;
    const r3 = r2 + step;
    const x0 = v128.load64_splat(x + at);
    const x1 = v128.load64_splat(x + at, 8);
    const x2 = v128.load64_splat(x + at, 16);
    const x3 = v128.load64_splat(x + at, 24);
    let s0 = f64x2.splat(0);
    let s1 = s0;
    let s2 = s0;
    let s3 = s0;
    const diagonal = at + 32;
    for (let c = at; c < diagonal; c += 16) {
      const value = v128.load(x + c);
      s0 = f64x2.add(s0, f64x2.mul(v128.load(r0 + c), value));
      s1 = f64x2.add(s1, f64x2.mul(v128.load(r1 + c), value));
      s2 = f64x2.add(s2, f64x2.mul(v128.load(r2 + c), value));
      s3 = f64x2.add(s3, f64x2.mul(v128.load(r3 + c), value));
    }
    let c = diagonal;
    for (; c < used; c += 16) {
      const value = v128.load(x + c);
      const m0 = v128.load(r0 + c);
      const m1 = v128.load(r1 + c);
      const m2 = v128.load(r2 + c);
      const m3 = v128.load(r3 + c);
      s0 = f64x2.add(s0, f64x2.mul(m0, value));
      s1 = f64x2.add(s1, f64x2.mul(m1, value));
      s2 = f64x2.add(s2, f64x2.mul(m2, value));
      s3 = f64x2.add(s3, f64x2.mul(m3, value));
      addMirrored(y + c, m0, m1, m2, m3, x0, x1, x2, x3);
    }
    for (; c < end; c += 16) {
      const m0 = v128.load(r0 + c);
      const m1 = v128.load(r1 + c);
      const m2 = v128.load(r2 + c);
      const m3 = v128.load(r3 + c);
      addMirrored(y + c, m0, m1, m2, m3, x0, x1, x2, x3);
    }
    store<f64>(y + at, load<f64>(y + at) + lanes(s0));
    store<f64>(y + at, load<f64>(y + at, 8) + lanes(s1), 8);
    store<f64>(y + at, load<f64>(y + at, 16) + lanes(s2), 16);
    store<f64>(y + at, load<f64>(y + at, 24) + lanes(s3), 24);
  }
}

/** Adds what two columns of four rows give to the two rows that mirror them. */
// @ts-ignore: decorator
@inline
function addMirrored(
  y: usize,
  m0: v128,
  m1: v128,
  m2: v128,
  m3: v128,
  x0: v128,
  x1: v128,
  x2: v128,
  x3: v128,
): void {
  const left = f64x2.add(f64x2.mul(m0, x0), f64x2.mul(m1, x1));
  const right = f64x2.add(f64x2.mul(m2, x2), f64x2.mul(m3, x3));
  v128.store(y, f64x2.add(v128.load(y), f64x2.add(left, right)));
}

/** Four rows of M serve all the x before the next four are read. */
export function symmetricForms(matrix: usize, width: i32, x: usize, count: i32, out: usize): void {
  const end = <usize>width << 3;
  memory.fill(out, 0, <usize>count << 3);
  for (let row: i32 = 0, at: usize = 0; at < end; row += 4, at += 32) {
    const r0 = matrix + rowStart(width, row);
    const step = end - at;
    const r1 = r0 + step;
    const r2 = r1 + step;
    const r3 = r2 + step;
    const beyond = at + 32;
    let v = x;
    for (let sum = out; sum < out + (<usize>count << 3); sum += 8) {
      let s0 = f64x2.splat(0);
      let s1 = s0;
      let s2 = s0;
      let s3 = s0;
      for (let c = beyond; c < end; c += 16) {
        const value = v128.load(v + c);
        s0 = f64x2.add(s0, f64x2.mul(v128.load(r0 + c), value));
        s1 = f64x2.add(s1, f64x2.mul(v128.load(r1 + c), value));
        s2 = f64x2.add(s2, f64x2.mul(v128.load(r2 + c), value));
        s3 = f64x2.add(s3, f64x2.mul(v128.load(r3 + c), value));
      }
      const left = v128.load(v + at);
      const right = v128.load(v + at, 16);
      const f0 = load<f64>(v + at) * (square(r0 + at, left, right) + 2 * lanes(s0));
      const f1 = load<f64>(v + at, 8) * (square(r1 + at, left, right) + 2 * lanes(s1));
      const f2 = load<f64>(v + at, 16) * (square(r2 + at, left, right) + 2 * lanes(s2));
      const f3 = load<f64>(v + at, 24) * (square(r3 + at, left, right) + 2 * lanes(s3));
      store<f64>(sum, load<f64>(sum) + (f0 + f1 + (f2 + f3)));
      v += end;
    }
  }
}

/** A row of the square on the diagonal times x. */
// @ts-ignore: decorator
@inline
function square(row: usize, left: v128, right: v128): f64 {
  return lanes(f64x2.add(f64x2.mul(v128.load(row), left), f64x2.mul(v128.load(row, 16), right)));
}

/** Two rows of M and four of the updates at a time: eight factors stay in registers. */
export function symmetricAdd(
  matrix: usize,
  width: i32,
  updates: usize,
  scales: usize,
  first: i32,
  count: i32,
): void {
  const end = <usize>width << 3;
  updates += <usize>first * end;
  scales += <usize>first << 3;
  for (let row = 0; row < width; row += 2) {
    const from = <usize>(row & ~3) << 3;
    const upper = matrix + rowStart(width, row);
    const lower = upper + end - from;
    const at = <usize>row << 3;
    let k = 0;
    for (; k + 4 <= count; k += 4) {
      const u0 = updates + <usize>k * end;
      const u1 = u0 + end;
      const u2 = u1 + end;
      const u3 = u2 + end;
      const scale = scales + (<usize>k << 3);
      const a0 = f64x2.splat(load<f64>(scale) * load<f64>(u0 + at));
      const a1 = f64x2.splat(load<f64>(scale, 8) * load<f64>(u1 + at));
      const a2 = f64x2.splat(load<f64>(scale, 16) * load<f64>(u2 + at));
      const a3 = f64x2.splat(load<f64>(scale, 24) * load<f64>(u3 + at));
      const b0 = f64x2.splat(load<f64>(scale) * load<f64>(u0 + at, 8));
      const b1 = f64x2.splat(load<f64>(scale, 8) * load<f64>(u1 + at, 8));
      const b2 = f64x2.splat(load<f64>(scale, 16) * load<f64>(u2 + at, 8));
      const b3 = f64x2.splat(load<f64>(scale, 24) * load<f64>(u3 + at, 8));
      // Rows have a multiple of four columns: two pairs a turn halve the arithmetic on addresses.
      for (let c = from; c < end; c += 32) {
        let a = v128.load(upper + c);
        let b = v128.load(lower + c);
        let u = v128.load(u0 + c);
        a = f64x2.add(a, f64x2.mul(a0, u));
        b = f64x2.add(b, f64x2.mul(b0, u));
        u = v128.load(u1 + c);
        a = f64x2.add(a, f64x2.mul(a1, u));
        b = f64x2.add(b, f64x2.mul(b1, u));
        u = v128.load(u2 + c);
        a = f64x2.add(a, f64x2.mul(a2, u));
        b = f64x2.add(b, f64x2.mul(b2, u));
        u = v128.load(u3 + c);
        a = f64x2.add(a, f64x2.mul(a3, u));
        b = f64x2.add(b, f64x2.mul(b3, u));
        v128.store(upper + c, a);
        v128.store(lower + c, b);

        a = v128.load(upper + c, 16);
        b = v128.load(lower + c, 16);
        u = v128.load(u0 + c, 16);
        a = f64x2.add(a, f64x2.mul(a0, u));
        b = f64x2.add(b, f64x2.mul(b0, u));
        u = v128.load(u1 + c, 16);
        a = f64x2.add(a, f64x2.mul(a1, u));
        b = f64x2.add(b, f64x2.mul(b1, u));
        u = v128.load(u2 + c, 16);
        a = f64x2.add(a, f64x2.mul(a2, u));
        b = f64x2.add(b, f64x2.mul(b2, u));
        u = v128.load(u3 + c, 16);
        a = f64x2.add(a, f64x2.mul(a3, u));
        b = f64x2.add(b, f64x2.mul(b3, u));
        v128.store(upper + c, a, 16);
        v128.store(lower + c, b, 16);
      }
    }
    for (; k < count; k++) {
      const u0 = updates + <usize>k * end;
      const scale = load<f64>(scales + (<usize>k << 3));
      const a0 = f64x2.splat(scale * load<f64>(u0 + at));
      const b0 = f64x2.splat(scale * load<f64>(u0 + at, 8));
      for (let c = from; c < end; c += 16) {
        const u = v128.load(u0 + c);
        v128.store(upper + c, f64x2.add(v128.load(upper + c), f64x2.mul(a0, u)));
        v128.store(lower + c, f64x2.add(v128.load(lower + c), f64x2.mul(b0, u)));
      }
    }
  }
}

export function lowRankTimes(
  updates: usize,
  stride: i32,
  scales: usize,
  first: i32,
  count: i32,
  x: usize,
  columns: i32,
  y: usize,
): void {
  const end = <usize>stride << 3;
  let u = updates + <usize>first * end;
  let scale = scales + (<usize>first << 3);
  for (let k = 0; k < count; k++) {
    const factor = f64x2.splat(load<f64>(scale) * dot(u, x, columns));
    for (let i: usize = 0; i < end; i += 16) {
      v128.store(y + i, f64x2.add(v128.load(y + i), f64x2.mul(factor, v128.load(u + i))));
    }
    u += end;
    scale += 8;
  }
}
