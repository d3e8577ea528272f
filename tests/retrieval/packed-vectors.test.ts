import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PackedVectors } from '../../src/retrieval/vectors/packed-vectors.ts';
import { BOTH } from '../bandit/kernels/both-kernels.ts';

const STRIDE = 4;
const vectorOf = (seed: number): Float32Array =>
  Float32Array.from({ length: STRIDE }, (_, at) => Math.sin(seed * 7 + at * 3 + 1) / 2);
const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, one, at) => sum + one * b[at], 0);

describe.each(BOTH)('PackedVectors on %s kernels', (_, create) => {
  it('finds the nearest of what is in it, after any changes, also beyond one block', () => {
    const change = fc.record({ slot: fc.nat(3_000), seed: fc.option(fc.nat(1_000), { freq: 2 }) });
    fc.assert(
      fc.property(
        fc.nat(2_500),
        fc.array(change, { maxLength: 60 }),
        fc.nat(1_000),
        (first, changes, seed) => {
          const kernels = create();
          const before = kernels.allocatedBytes;
          const packed = new PackedVectors(kernels, STRIDE);
          const naive = new Map<number, Float32Array>();
          const put = (slot: number, vector: Float32Array): void => {
            naive.set(slot, vector);
            packed.put(slot, vector);
          };
          for (let slot = 0; slot < first; slot++) put(slot, vectorOf(slot));
          for (const { slot, seed } of changes) {
            if (seed !== null) put(slot, vectorOf(seed));
            else {
              naive.delete(slot);
              packed.remove(slot);
            }
          }
          const query = vectorOf(seed);
          const cosines = new Map([...naive].map(([slot, vector]) => [slot, dot(query, vector)]));
          const nearest = packed.nearest(query, 20);
          const descending = [...cosines.values()].sort((a, b) => b - a);
          expect(packed.size).toBe(naive.size);
          expect(new Set(nearest).size).toBe(Math.min(20, naive.size));
          for (const [at, slot] of nearest.entries()) {
            expect(cosines.get(slot)).toBeCloseTo(descending[at], 5);
            expect(packed.cosine(slot)).toBeCloseTo(descending[at], 5);
          }
          expect(packed.smallestCosine).toBeCloseTo(descending.at(-1) ?? Infinity, 5);
          for (const { slot } of changes) expect(packed.has(slot)).toBe(naive.has(slot));
          packed.free();
          expect(kernels.allocatedBytes).toBe(before);
        },
      ),
      { numRuns: 20 },
    );
  });
});
