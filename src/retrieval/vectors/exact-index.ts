import type { Kernels } from '../../../bandit/kernels/kernels.ts';
import type { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { SlotSet } from '../slot-set.ts';
import type { IndexReport, VectorHits, VectorIndex } from './vector-index.ts';

/** Compares the query with every tool, in one scan over the rows of `ToolVectors`. */
export class ExactIndex implements VectorIndex {
  readonly #kernels: Kernels;
  readonly #vectors: ToolVectors;
  readonly #query: Float32Array;
  readonly #live = new SlotSet();
  #similarities: Float32Array;
  #rows = 0;

  constructor(kernels: Kernels, vectors: ToolVectors) {
    this.#kernels = kernels;
    this.#vectors = vectors;
    this.#query = kernels.allocateFloat32(vectors.stride);
    this.#similarities = kernels.allocateFloat32(vectors.capacity);
  }

  /** Number of live slots. */
  get size(): number {
    return this.#live.size;
  }

  /** All live slots lie below this. */
  get rows(): number {
    return this.#rows;
  }

  has(slot: number): boolean {
    return this.#live.has(slot);
  }

  /** The live slots; valid until the next change. */
  slots(): Int32Array {
    return this.#live.list();
  }

  put(slot: number): void {
    this.#live.add(slot);
    this.#rows = Math.max(this.#rows, slot + 1);
  }

  remove(slot: number): void {
    this.#live.delete(slot);
  }

  search(query: Float32Array): VectorHits {
    if (this.#similarities.length < this.#rows) {
      this.#kernels.free(this.#similarities);
      this.#similarities = this.#kernels.allocateFloat32(this.#vectors.capacity);
    }
    const similarities = this.#similarities;
    this.#query.set(query);
    this.#kernels.scan(this.#vectors.values, this.#vectors.stride, this.#rows, this.#query, similarities);
    const slots = this.#live.list();
    let minimum = Infinity;
    let maximum = -Infinity;
    for (const slot of slots) {
      const similarity = similarities[slot];
      if (similarity < minimum) minimum = similarity;
      if (similarity > maximum) maximum = similarity;
    }
    return { slots, minimum, maximum, similarity: (slot) => similarities[slot] };
  }

  report(): IndexReport {
    return { kind: 'exact', building: false, outside: 0, dead: 0, recall: null, alarmed: false };
  }

  free(): void {
    this.#kernels.free(this.#query);
    this.#kernels.free(this.#similarities);
  }
}
