import type { CandidateForms, FormCache, SlotTable } from './kernels.ts';
import { padded, rowStart } from './symmetric-layout.ts';
import { dot, dotFloat32 } from './typescript-vectors.ts';

/** See `Kernels.refreshForms`. */
export function refreshForms(cache: FormCache, table: SlotTable, slots: Int32Array, count: number): void {
  for (let i = 0; i < count; i++) {
    const slot = slots[i];
    if (cache.head - cache.stamps[slot] > cache.capacity) computeForms(cache, table, slot);
    catchUp(cache, table, slot);
  }
}

/** c = φᵀMφ and r_k = M_kφ·φ, from the folded matrix. */
function computeForms(cache: FormCache, table: SlotTable, slot: number): void {
  const { matrix, size, dimensions, specials, vector, cross } = cache;
  const phi = slot * table.stride;
  for (let i = 0; i < dimensions; i++) vector[i] = table.values[phi + i];
  const r = slot * specials;
  cross.fill(0, r, r + specials);
  let form = 0;
  for (let i = 0; i < dimensions; i++) {
    const start = rowStart(size, dimensions + i) + dimensions;
    const value = vector[i];
    const above = dot(matrix, start + i + 1, vector, i + 1, dimensions - i - 1);
    form += value * (matrix[start + i] * value + 2 * above);
    for (let k = 0; k < specials; k++) cross[r + k] += value * matrix[start + dimensions + k];
  }
  cache.quadratic[slot] = form;
  cache.stamps[slot] = cache.folded;
}

function catchUp(cache: FormCache, table: SlotTable, slot: number): void {
  const { updates, scales, capacity, dimensions, specials, head, quadratic, cross, stamps } = cache;
  const width = padded(cache.size);
  const r = slot * specials;
  for (let position = stamps[slot]; position < head; position++) {
    const row = position % capacity;
    const u = row * width;
    const along = dotFloat32(updates, u + dimensions, table.values, slot * table.stride, dimensions);
    const factor = scales[row] * along;
    quadratic[slot] += factor * along;
    for (let k = 0; k < specials; k++) cross[r + k] += factor * updates[u + 2 * dimensions + k];
  }
  stamps[slot] = head;
}

/** See `Kernels.scoreForms`. */
export function scoreForms(cache: FormCache, table: SlotTable, forms: CandidateForms, count: number): void {
  const { dimensions, specials, quadratic, cross } = cache;
  const { slots, special, projection, gainWeights, specialMatrix } = forms;
  for (let i = 0; i < count; i++) {
    const slot = slots[i];
    const phi = slot * table.stride;
    const z = i * specials;
    const r = slot * specials;
    let gain = forms.queryGain + dotFloat32(gainWeights, dimensions, table.values, phi, dimensions);
    let double = dotFloat32(projection, dimensions, table.values, phi, dimensions);
    let form = forms.queryForm + quadratic[slot];
    for (let k = 0; k < specials; k++) {
      const value = special[z + k];
      gain += gainWeights[2 * dimensions + k] * value;
      double += value * (projection[2 * dimensions + k] + cross[r + k]);
      let row = 0;
      for (let l = 0; l < specials; l++) row += specialMatrix[k * specials + l] * special[z + l];
      form += value * row;
    }
    forms.gain[i] = gain;
    forms.variance[i] = form + 2 * double;
  }
}
