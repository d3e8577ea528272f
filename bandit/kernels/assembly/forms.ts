// What is cached per slot, and the scores made from it. The reference is ../typescript-forms.ts.
import { rowStart } from './symmetric';
import { dot, lanes, promote } from './vectors';

export function refreshForms(
  matrix: usize,
  width: i32,
  dimensions: i32,
  specials: i32,
  updates: usize,
  scales: usize,
  capacity: i32,
  folded: f64,
  head: f64,
  stamps: usize,
  quadratic: usize,
  cross: usize,
  vector: usize,
  table: usize,
  stride: i32,
  slots: usize,
  count: i32,
): void {
  for (let i = 0; i < count; i++) {
    const slot = <usize>load<i32>(slots + (<usize>i << 2));
    const stamp = stamps + (slot << 3);
    const c = quadratic + (slot << 3);
    const r = cross + ((slot * specials) << 3);
    const phi = table + ((slot * stride) << 2);
    if (load<f64>(stamp) == head) continue;
    promoteRow(phi, vector, dimensions);
    if (head - load<f64>(stamp) > <f64>capacity) {
      store<f64>(c, computeForms(matrix, width, dimensions, specials, vector, r));
      store<f64>(stamp, folded);
    }
    for (let position = load<f64>(stamp); position < head; position += 1) {
      const row = <usize>(<i64>position % capacity);
      const u = updates + ((row * width) << 3) + (<usize>dimensions << 3);
      const along = dot(u, vector, dimensions);
      const factor = load<f64>(scales + (row << 3)) * along;
      store<f64>(c, load<f64>(c) + factor * along);
      const z = u + (<usize>dimensions << 3);
      for (let k: usize = 0; k < <usize>specials << 3; k += 8) {
        store<f64>(r + k, load<f64>(r + k) + factor * load<f64>(z + k));
      }
    }
    store<f64>(stamp, head);
  }
}

/** Copies n float32 as float64. */
function promoteRow(from: usize, to: usize, n: i32): void {
  const end = from + (<usize>(n & ~1) << 2);
  while (from < end) {
    v128.store(to, promote(from));
    from += 8;
    to += 16;
  }
  if (n & 1) store<f64>(to, <f64>load<f32>(from));
}

/** Writes r, answers c, both from the folded matrix; φ is in `vector`. */
function computeForms(
  matrix: usize,
  width: i32,
  dimensions: i32,
  specials: i32,
  vector: usize,
  r: usize,
): f64 {
  const toZ = <usize>dimensions << 3;
  const specialBytes = <usize>specials << 3;
  memory.fill(r, 0, specialBytes);
  let form: f64 = 0;
  let i = 0;
  for (; i + 4 <= dimensions; i += 4) {
    // Rows i … i + 3 of the φ block, each from its own diagonal's block on.
    const at = <usize>i << 3;
    const r0 = matrix + rowStart(width, dimensions + i) + toZ;
    const r1 = matrix + rowStart(width, dimensions + i + 1) + toZ;
    const r2 = matrix + rowStart(width, dimensions + i + 2) + toZ;
    const r3 = matrix + rowStart(width, dimensions + i + 3) + toZ;
    let s0 = f64x2.splat(0);
    let s1 = s0;
    let s2 = s0;
    let s3 = s0;
    const pairs = (<usize>(dimensions - i - 4) & ~1) << 3;
    let c = at + 32;
    const end = c + pairs;
    for (; c < end; c += 16) {
      const value = v128.load(vector + c);
      s0 = f64x2.add(s0, f64x2.mul(v128.load(r0 + c), value));
      s1 = f64x2.add(s1, f64x2.mul(v128.load(r1 + c), value));
      s2 = f64x2.add(s2, f64x2.mul(v128.load(r2 + c), value));
      s3 = f64x2.add(s3, f64x2.mul(v128.load(r3 + c), value));
    }
    let above0 = lanes(s0);
    let above1 = lanes(s1);
    let above2 = lanes(s2);
    let above3 = lanes(s3);
    if (c < toZ) {
      const last = load<f64>(vector + c);
      above0 += load<f64>(r0 + c) * last;
      above1 += load<f64>(r1 + c) * last;
      above2 += load<f64>(r2 + c) * last;
      above3 += load<f64>(r3 + c) * last;
    }
    const v0 = load<f64>(vector + at);
    const v1 = load<f64>(vector + at, 8);
    const v2 = load<f64>(vector + at, 16);
    const v3 = load<f64>(vector + at, 24);
    above2 += load<f64>(r2 + at, 24) * v3;
    above1 += load<f64>(r1 + at, 16) * v2 + load<f64>(r1 + at, 24) * v3;
    above0 += load<f64>(r0 + at, 8) * v1 + load<f64>(r0 + at, 16) * v2 + load<f64>(r0 + at, 24) * v3;
    form += v0 * (load<f64>(r0 + at) * v0 + 2 * above0) + v1 * (load<f64>(r1 + at, 8) * v1 + 2 * above1);
    form += v2 * (load<f64>(r2 + at, 16) * v2 + 2 * above2) + v3 * (load<f64>(r3 + at, 24) * v3 + 2 * above3);
    for (let k: usize = 0; k < specialBytes; k += 8) {
      const left = v0 * load<f64>(r0 + toZ + k) + v1 * load<f64>(r1 + toZ + k);
      const right = v2 * load<f64>(r2 + toZ + k) + v3 * load<f64>(r3 + toZ + k);
      store<f64>(r + k, load<f64>(r + k) + (left + right));
    }
  }
  for (; i < dimensions; i++) {
    const at = <usize>i << 3;
    const row = matrix + rowStart(width, dimensions + i) + toZ;
    const value = load<f64>(vector + at);
    const above = dot(row + at + 8, vector + at + 8, dimensions - i - 1);
    form += value * (load<f64>(row + at) * value + 2 * above);
    for (let k: usize = 0; k < specialBytes; k += 8) {
      store<f64>(r + k, load<f64>(r + k) + value * load<f64>(row + toZ + k));
    }
  }
  return form;
}

export function scoreForms(
  dimensions: i32,
  specials: i32,
  quadratic: usize,
  cross: usize,
  vector: usize,
  table: usize,
  stride: i32,
  slots: usize,
  special: usize,
  projection: usize,
  gainWeights: usize,
  specialMatrix: usize,
  queryGain: f64,
  queryForm: f64,
  gains: usize,
  variances: usize,
  count: i32,
): void {
  const toPhi = <usize>dimensions << 3;
  const rowBytes = <usize>specials << 3;
  const gainZ = gainWeights + 2 * toPhi;
  const projectionZ = projection + 2 * toPhi;
  for (let i = 0; i < count; i++) {
    const slot = <usize>load<i32>(slots + (<usize>i << 2));
    const phi = table + ((slot * stride) << 2);
    const z = special + <usize>i * rowBytes;
    const r = cross + slot * rowBytes;
    promoteRow(phi, vector, dimensions);
    let gain = queryGain + dot(gainWeights + toPhi, vector, dimensions);
    let double = dot(projection + toPhi, vector, dimensions);
    let form = queryForm + load<f64>(quadratic + (slot << 3));
    for (let k: usize = 0; k < rowBytes; k += 8) {
      const value = load<f64>(z + k);
      gain += load<f64>(gainZ + k) * value;
      double += value * (load<f64>(projectionZ + k) + load<f64>(r + k));
      const matrixRow = specialMatrix + k * specials;
      let above: f64 = 0;
      for (let l = k + 8; l < rowBytes; l += 8) above += load<f64>(matrixRow + l) * load<f64>(z + l);
      form += value * (load<f64>(matrixRow + k) * value + 2 * above);
    }
    store<f64>(gains + (<usize>i << 3), gain);
    store<f64>(variances + (<usize>i << 3), form + 2 * double);
  }
}
