import { describe, expect, it } from 'vitest';
import { ItemCosines } from '../../src/context/item-cosines.ts';
import { type ItemVectors, quantise } from '../../src/context/item-record.ts';
import { BOTH, sequence } from '../bandit/kernels/both-kernels.ts';
import { failingKernels } from '../bandit/kernels/failing-kernels.ts';

/** Vectors of a user; every fifth item has none. */
function vectorsOf(seed: number, n: number, dimensions: number): ItemVectors {
  const next = sequence(seed);
  const values = new Int8Array(n * dimensions);
  const scales = new Float32Array(n);
  for (let row = 0; row < n; row++) {
    if (row % 5 === 4) continue;
    const vector = Float32Array.from({ length: dimensions }, next);
    scales[row] = quantise(vector, values.subarray(row * dimensions, (row + 1) * dimensions));
  }
  return { fingerprint: 'test', dimensions, values, scales };
}

function queryOf(seed: number, dimensions: number): Float32Array {
  return Float32Array.from({ length: dimensions }, sequence(seed));
}

function checkRough(cosines: ItemCosines, vectors: ItemVectors, query: Float32Array): void {
  const { dimensions, values, scales } = vectors;
  const codes = new Int8Array(dimensions);
  quantise(query, codes);
  const found = cosines.rough(vectors, query);
  expect(found).toHaveLength(scales.length);
  for (const [row, scale] of scales.entries()) {
    let sum = 0;
    for (let j = 0; j < dimensions; j++) sum += values[row * dimensions + j] * codes[j];
    expect(found[row]).toBeCloseTo(sum * scale, 9);
  }
}

function checkExact(cosines: ItemCosines, vectors: ItemVectors, query: Float32Array): void {
  const { dimensions, values, scales } = vectors;
  const rows = Uint32Array.from(scales.keys()).reverse().slice(0, 7);
  const found = cosines.exact(vectors, rows, query);
  expect(found).toHaveLength(rows.length);
  for (const [at, row] of rows.entries()) {
    let sum = 0;
    for (let j = 0; j < dimensions; j++)
      sum += Math.fround(values[row * dimensions + j] * scales[row]) * query[j];
    if (scales[row] === 0) expect(found[at]).toBeNaN();
    else expect(found[at]).toBeCloseTo(sum, 9);
  }
}

/** Items and dimensions of a user, and of another. */
const SIZES = [
  [11, 32, 11, 32],
  [11, 32, 5, 32],
  [11, 32, 40, 32],
  [11, 20, 11, 20],
  [9, 37, 6, 37],
  [6, 33, 6, 47],
  [8, 16, 8, 64],
  [1, 5, 30, 50],
];

describe.each(BOTH)('items compared by the %s kernel', (_, create) => {
  it.each(SIZES)(
    'are those of the user who asks: %i items of %i dimensions, %i of %i',
    (n, dimensions, otherN, otherDimensions) => {
      const a = vectorsOf(1, n, dimensions);
      const b = vectorsOf(2, otherN, otherDimensions);
      for (const checks of [
        [checkRough, checkRough],
        [checkExact, checkExact],
        [checkRough, checkExact],
        [checkExact, checkRough],
      ]) {
        const cosines = new ItemCosines(create());
        for (const [turn, vectors] of [a, b, a, a, b].entries())
          for (const check of checks) check(cosines, vectors, queryOf(10 + turn, vectors.dimensions));
      }
    },
  );

  it('are the same after an allocation failed, and leave nothing behind in memory', () => {
    const small = vectorsOf(1, 11, 20);
    const large = vectorsOf(2, 60, 70);
    const rows = Uint32Array.from(large.scales.keys());
    let allocations = 0;
    for (let failed = true; failed; allocations++) {
      const { kernels, failAfter, arrays } = failingKernels(create());
      const cosines = new ItemCosines(kernels);
      const held = arrays();
      checkRough(cosines, small, queryOf(3, 20));
      checkExact(cosines, small, queryOf(3, 20));
      failAfter(allocations);
      try {
        cosines.exact(large, rows, queryOf(4, 70));
        failed = false;
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
      failAfter(null);
      for (const vectors of [small, large, small]) {
        checkRough(cosines, vectors, queryOf(5, vectors.dimensions));
        checkExact(cosines, vectors, queryOf(5, vectors.dimensions));
      }
      expect(arrays()).toBe(held);
    }
    expect(allocations).toBeGreaterThan(8);
  });
});
