// What is cached per slot, and the scores made from it. The reference is ../typescript-forms.ts.
import { rowStart } from './symmetric';
import { dot, dotFloat32 } from './vectors';

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
    if (head - load<f64>(stamp) > <f64>capacity) {
      store<f64>(c, computeForms(matrix, width, dimensions, specials, vector, phi, r));
      store<f64>(stamp, folded);
    }
    for (let position = load<f64>(stamp); position < head; position += 1) {
      const row = <usize>(<i64>position % capacity);
      const u = updates + ((row * width) << 3) + (<usize>dimensions << 3);
      const along = dotFloat32(u, phi, dimensions);
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

/** Writes r, answers c, both from the folded matrix. */
function computeForms(
  matrix: usize,
  width: i32,
  dimensions: i32,
  specials: i32,
  vector: usize,
  phi: usize,
  r: usize,
): f64 {
  for (let i = 0; i < dimensions; i++) {
    store<f64>(vector + (<usize>i << 3), <f64>load<f32>(phi + (<usize>i << 2)));
  }
  memory.fill(r, 0, <usize>specials << 3);
  let form: f64 = 0;
  for (let i = 0; i < dimensions; i++) {
    const start = matrix + rowStart(width, dimensions + i) + (<usize>dimensions << 3);
    const at = <usize>i << 3;
    const value = load<f64>(vector + at);
    const above = dot(start + at + 8, vector + at + 8, dimensions - i - 1);
    form += value * (load<f64>(start + at) * value + 2 * above);
    const z = start + (<usize>dimensions << 3);
    for (let k: usize = 0; k < <usize>specials << 3; k += 8) {
      store<f64>(r + k, load<f64>(r + k) + value * load<f64>(z + k));
    }
  }
  return form;
}

export function scoreForms(
  dimensions: i32,
  specials: i32,
  quadratic: usize,
  cross: usize,
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
    let gain = queryGain + dotFloat32(gainWeights + toPhi, phi, dimensions);
    let double = dotFloat32(projection + toPhi, phi, dimensions);
    let form = queryForm + load<f64>(quadratic + (slot << 3));
    for (let k: usize = 0; k < rowBytes; k += 8) {
      const value = load<f64>(z + k);
      gain += load<f64>(gainZ + k) * value;
      double += value * (load<f64>(projectionZ + k) + load<f64>(r + k));
      const matrixRow = specialMatrix + k * specials;
      let row: f64 = 0;
      for (let l: usize = 0; l < rowBytes; l += 8) row += load<f64>(matrixRow + l) * load<f64>(z + l);
      form += value * row;
    }
    store<f64>(gains + (<usize>i << 3), gain);
    store<f64>(variances + (<usize>i << 3), form + 2 * double);
  }
}
