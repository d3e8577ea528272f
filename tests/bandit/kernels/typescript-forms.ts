import type { CandidateForms, FormCache, SlotTable } from '../../../bandit/kernels/kernels.ts';
import { padded, rowStart } from '../../../bandit/kernels/symmetric-layout.ts';
import { dot } from './typescript-vectors.ts';

/** See `Kernels.refreshForms`. */
export function refreshForms(cache: FormCache, table: SlotTable, slots: Int32Array, count: number): void {
  for (let i = 0; i < count; i++) {
    const slot = slots[i];
    const behind = cache.head - cache.stamps[slot];
    if (behind === 0) continue;
    promote(cache, table, slot);
    if (behind > cache.capacity) {
      cache.quadratic[slot] = computeForms(cache, slot);
      cache.stamps[slot] = cache.folded;
    }
    catchUp(cache, slot);
  }
}

/** φ as float64, in the scratch vector. */
function promote(cache: FormCache, table: SlotTable, slot: number): void {
  const from = slot * table.stride;
  for (let i = 0; i < cache.dimensions; i++) cache.vector[i] = table.values[from + i];
}

/** Writes r, answers c, both from the folded matrix; φ is in the scratch vector. */
function computeForms(cache: FormCache, slot: number): number {
  const { matrix, size, dimensions, specials, vector, cross } = cache;
  const r = slot * specials;
  cross.fill(0, r, r + specials);
  let form = 0;
  let i = 0;
  for (; i + 4 <= dimensions; i += 4) {
    // Rows i … i + 3 of the φ block, each from its own diagonal's block on.
    const r0 = rowStart(size, dimensions + i) + dimensions;
    const r1 = rowStart(size, dimensions + i + 1) + dimensions;
    const r2 = rowStart(size, dimensions + i + 2) + dimensions;
    const r3 = rowStart(size, dimensions + i + 3) + dimensions;
    let a0 = 0;
    let a1 = 0;
    let a2 = 0;
    let a3 = 0;
    let b0 = 0;
    let b1 = 0;
    let b2 = 0;
    let b3 = 0;
    let j = i + 4;
    for (; j + 2 <= dimensions; j += 2) {
      const even = vector[j];
      const odd = vector[j + 1];
      a0 += matrix[r0 + j] * even;
      b0 += matrix[r0 + j + 1] * odd;
      a1 += matrix[r1 + j] * even;
      b1 += matrix[r1 + j + 1] * odd;
      a2 += matrix[r2 + j] * even;
      b2 += matrix[r2 + j + 1] * odd;
      a3 += matrix[r3 + j] * even;
      b3 += matrix[r3 + j + 1] * odd;
    }
    let above0 = a0 + b0;
    let above1 = a1 + b1;
    let above2 = a2 + b2;
    let above3 = a3 + b3;
    if (j < dimensions) {
      const last = vector[j];
      above0 += matrix[r0 + j] * last;
      above1 += matrix[r1 + j] * last;
      above2 += matrix[r2 + j] * last;
      above3 += matrix[r3 + j] * last;
    }
    const v0 = vector[i];
    const v1 = vector[i + 1];
    const v2 = vector[i + 2];
    const v3 = vector[i + 3];
    above2 += matrix[r2 + i + 3] * v3;
    above1 += matrix[r1 + i + 2] * v2 + matrix[r1 + i + 3] * v3;
    above0 += matrix[r0 + i + 1] * v1 + matrix[r0 + i + 2] * v2 + matrix[r0 + i + 3] * v3;
    form += v0 * (matrix[r0 + i] * v0 + 2 * above0) + v1 * (matrix[r1 + i + 1] * v1 + 2 * above1);
    form += v2 * (matrix[r2 + i + 2] * v2 + 2 * above2) + v3 * (matrix[r3 + i + 3] * v3 + 2 * above3);
    for (let k = 0; k < specials; k++) {
      const z = dimensions + k;
      const left = v0 * matrix[r0 + z] + v1 * matrix[r1 + z];
      cross[r + k] += left + (v2 * matrix[r2 + z] + v3 * matrix[r3 + z]);
    }
  }
  for (; i < dimensions; i++) {
    const row = rowStart(size, dimensions + i) + dimensions;
    const value = vector[i];
    const above = dot(matrix, row + i + 1, vector, i + 1, dimensions - i - 1);
    form += value * (matrix[row + i] * value + 2 * above);
    for (let k = 0; k < specials; k++) cross[r + k] += value * matrix[row + dimensions + k];
  }
  return form;
}

/** Follows the logged updates; φ is in the scratch vector. */
function catchUp(cache: FormCache, slot: number): void {
  const { updates, scales, capacity, dimensions, specials, head, quadratic, cross, stamps, vector } = cache;
  const width = padded(cache.size);
  const r = slot * specials;
  for (let position = stamps[slot]; position < head; position++) {
    const row = position % capacity;
    const u = row * width + dimensions;
    const along = dot(updates, u, vector, 0, dimensions);
    const factor = scales[row] * along;
    quadratic[slot] += factor * along;
    for (let k = 0; k < specials; k++) cross[r + k] += factor * updates[u + dimensions + k];
  }
  stamps[slot] = head;
}

/** See `Kernels.scoreForms`. */
export function scoreForms(cache: FormCache, table: SlotTable, forms: CandidateForms, count: number): void {
  const { dimensions, specials, quadratic, cross, vector } = cache;
  const { slots, special, projection, gainWeights, specialMatrix } = forms;
  for (let i = 0; i < count; i++) {
    const slot = slots[i];
    const z = i * specials;
    const r = slot * specials;
    promote(cache, table, slot);
    let gain = forms.queryGain + dot(gainWeights, dimensions, vector, 0, dimensions);
    let double = dot(projection, dimensions, vector, 0, dimensions);
    let form = forms.queryForm + quadratic[slot];
    for (let k = 0; k < specials; k++) {
      const value = special[z + k];
      gain += gainWeights[2 * dimensions + k] * value;
      double += value * (projection[2 * dimensions + k] + cross[r + k]);
      let above = 0;
      for (let l = k + 1; l < specials; l++) above += specialMatrix[k * specials + l] * special[z + l];
      form += value * (specialMatrix[k * specials + k] * value + 2 * above);
    }
    forms.gain[i] = gain;
    forms.variance[i] = form + 2 * double;
  }
}
