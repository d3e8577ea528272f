import type { Kernels } from '../../../bandit/kernels/kernels.ts';
import type { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { VectorCodes } from '../../../bandit/vector-codes.ts';
import { SlotSet } from '../slot-set.ts';
import type { IndexReport, VectorHits, VectorIndex } from './vector-index.ts';

/** With fewer tools than these it takes no longer to compute all cosines than to find out which are needed. */
const ROUGH_FROM = 4_000;

export interface ExactIndexOptions {
  /** From so many tools on, rough cosines say which ones are computed. */
  readonly roughFrom?: number;
}

/**
 * Compares the query with every tool: a few by one scan over the rows of `ToolVectors`, many by a scan over their codes, a
 * quarter of the bytes, after which only the cosines that are asked for are computed. Both ways give the same cosines.
 */
export class ExactIndex implements VectorIndex {
  readonly #kernels: Kernels;
  readonly #vectors: ToolVectors;
  readonly #roughFrom: number;
  readonly #query: Float32Array;
  readonly #cosine: Float32Array;
  readonly #live = new SlotSet();
  #similarities: Float32Array;
  #codes: VectorCodes | null = null;
  #rows = 0;

  constructor(kernels: Kernels, vectors: ToolVectors, { roughFrom = ROUGH_FROM }: ExactIndexOptions = {}) {
    this.#kernels = kernels;
    this.#vectors = vectors;
    this.#roughFrom = roughFrom;
    this.#query = kernels.allocateFloat32(vectors.stride);
    this.#cosine = kernels.allocateFloat32(1);
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
    if (this.#codes !== null) this.#encode(slot, this.#codes);
  }

  remove(slot: number): void {
    this.#live.delete(slot);
  }

  search(query: Float32Array, _limit = 0, all = false): VectorHits {
    if (this.#similarities.length < this.#rows) {
      this.#kernels.free(this.#similarities);
      this.#similarities = this.#kernels.allocateFloat32(this.#vectors.capacity);
    }
    this.#query.set(query);
    return all || this.#live.size < this.#roughFrom ? this.#scan() : this.#scanCodes(query);
  }

  #scan(): VectorHits {
    const similarities = this.#similarities;
    this.#kernels.scan(this.#vectors.values, this.#vectors.stride, this.#rows, this.#query, similarities);
    const slots = this.#live.list();
    let minimum = Infinity;
    let maximum = -Infinity;
    for (let i = 0; i < slots.length; i++) {
      const similarity = similarities[slots[i]];
      if (similarity < minimum) minimum = similarity;
      if (similarity > maximum) maximum = similarity;
    }
    return { slots, minimum, maximum, similarity: (slot) => similarities[slot], rough: null };
  }

  #scanCodes(query: Float32Array): VectorHits {
    this.#codes ??= this.#encodeAll();
    const { products: cosines, margin } = this.#codes.scan(query, this.#rows);
    const slots = this.#live.list();
    let least = Infinity;
    let most = -Infinity;
    for (let i = 0; i < slots.length; i++) {
      const cosine = cosines[slots[i]];
      if (cosine < least) least = cosine;
      if (cosine > most) most = cosine;
    }
    const known = this.#similarities.fill(NaN, 0, this.#rows);
    const similarity = (slot: number): number => {
      if (Number.isNaN(known[slot])) known[slot] = this.#cosineOf(slot);
      return known[slot];
    };
    let minimum = Infinity;
    let maximum = -Infinity;
    const lowest = least + 2 * margin;
    const highest = most - 2 * margin;
    for (let i = 0; i < slots.length; i++) {
      const cosine = cosines[slots[i]];
      if (cosine > lowest && cosine < highest) continue;
      minimum = Math.min(minimum, similarity(slots[i]));
      maximum = Math.max(maximum, similarity(slots[i]));
    }
    return { slots, minimum, maximum, similarity, rough: { cosines, margin } };
  }

  #cosineOf(slot: number): number {
    const { values, stride } = this.#vectors;
    const row = values.subarray(slot * stride, (slot + 1) * stride);
    this.#kernels.scan(row, stride, 1, this.#query, this.#cosine);
    return this.#cosine[0];
  }

  #encodeAll(): VectorCodes {
    const codes = new VectorCodes(this.#kernels, this.#vectors.dimensions, this.#vectors.capacity);
    for (const slot of this.#live.list()) this.#encode(slot, codes);
    return codes;
  }

  #encode(slot: number, codes: VectorCodes): void {
    codes.reserve(this.#vectors.capacity);
    codes.put(slot, this.#vectors.get(slot));
  }

  report(): IndexReport {
    return { kind: 'exact', building: false, outside: 0, dead: 0, recall: null, alarmed: false };
  }

  free(): void {
    for (const array of [this.#query, this.#cosine, this.#similarities]) this.#kernels.free(array);
    this.#codes?.dispose();
  }
}
