import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import type { VectorIndex } from '../../src/retrieval/vectors/vector-index.ts';

export interface VectorIndexUnderTest {
  create(kernels: Kernels, vectors: ToolVectors): VectorIndex;
  /** Every live slot is found, and the minimum is the true one. */
  readonly exact: boolean;
}

const DIMENSIONS = 6;

/** What every vector index promises. */
export function vectorIndexContract(
  name: string,
  kernels: Kernels,
  { create, exact }: VectorIndexUnderTest,
): void {
  describe(name, () => {
    let before: number;
    let vectors: ToolVectors;
    let index: VectorIndex;

    beforeEach(() => {
      before = kernels.allocatedBytes;
      vectors = new ToolVectors(kernels, DIMENSIONS);
      index = create(kernels, vectors);
    });
    afterEach(() => {
      index.free();
      vectors.free();
      expect(kernels.allocatedBytes).toBe(before);
    });

    const put = (slot: number, vector: Float32Array): void => {
      vectors.put(slot, vector);
      index.put(slot);
    };
    const cosine = (a: Float32Array, b: Float32Array): number =>
      a.reduce((sum, value, at) => sum + value * b[at], 0);

    it('compares the query with what is live now, after any changes', () => {
      const vector = fc
        .array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: DIMENSIONS, maxLength: DIMENSIONS })
        .map((values) => unit(values));
      const change = fc.record({ slot: fc.nat(150), vector: fc.option(vector, { freq: 3 }) });
      fc.assert(
        fc.property(fc.array(change, { maxLength: 50 }), vector, (changes, query) => {
          const live = new Map<number, Float32Array>();
          for (const { slot, vector } of changes) {
            if (vector === null) {
              live.delete(slot);
              index.remove(slot);
            } else {
              live.set(slot, vector);
              put(slot, vector);
            }
          }
          const hits = index.search(query, 10);
          const cosines = [...live.values()].map((other) => cosine(query, other));
          expect(new Set(hits.slots).size).toBe(hits.slots.length);
          expect(hits.slots.every((slot) => live.has(slot))).toBe(true);
          expect(hits.slots.length).toBeGreaterThanOrEqual(exact ? live.size : Math.min(live.size, 10));
          for (const [slot, other] of live)
            expect(hits.similarity(slot)).toBeCloseTo(cosine(query, other), 5);
          if (live.size > 0) {
            expect(hits.maximum).toBeCloseTo(Math.max(...cosines), 5);
            if (exact) expect(hits.minimum).toBeCloseTo(Math.min(...cosines), 5);
            expect(hits.minimum).toBeLessThanOrEqual(hits.maximum);
          }
          for (const slot of live.keys()) index.remove(slot);
        }),
        { numRuns: 60 },
      );
    });

    it('finds nothing when there is nothing', () => {
      expect(index.search(unit([1]), 5).slots).toHaveLength(0);
      index.remove(3);
      put(3, unit([1]));
      index.remove(3);
      index.remove(3);
      expect(index.search(unit([1]), 5).slots).toHaveLength(0);
    });

    it('gives a vector of zeros cosine 0', () => {
      put(0, new Float32Array(DIMENSIONS));
      put(1, unit([1, 1]));
      const hits = index.search(unit([1]), 5);
      expect(hits.similarity(0)).toBe(0);
      expect(index.search(new Float32Array(DIMENSIONS), 5).similarity(1)).toBe(0);
    });

    it('follows the table when it grows', () => {
      for (let slot = 0; slot < 1_000; slot++) put(slot, unit([Math.cos(slot), Math.sin(slot)]));
      const hits = index.search(unit([Math.cos(777), Math.sin(777)]), 5);
      expect([...hits.slots]).toContain(777);
      expect(hits.similarity(777)).toBeCloseTo(1, 5);
      expect(hits.similarity(0)).toBeCloseTo(Math.cos(777), 5);
    });
  });
}

/** A unit vector that begins with these values; zeros stay zeros. */
function unit(values: readonly number[]): Float32Array {
  const vector = new Float32Array(DIMENSIONS);
  vector.set(values);
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}
