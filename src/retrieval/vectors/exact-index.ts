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
  /** The query that `#query` is a copy of. */
  #loaded: Float32Array | null = null;
  readonly #slot: Int32Array;
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
    this.#slot = kernels.allocateInt32(1);
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

  search(query: Float32Array): VectorHits {
    return this.#live.size < this.#roughFrom ? this.#scan(query) : this.#scanCodes(query);
  }

  #scan(query: Float32Array): VectorHits {
    if (this.#similarities.length < this.#rows) {
      this.#kernels.free(this.#similarities);
      this.#similarities = this.#kernels.allocateFloat32(this.#vectors.capacity);
    }
    this.#load(query);
    const cosines = this.#similarities;
    this.#kernels.scan(this.#vectors.values, this.#vectors.stride, this.#rows, this.#query, cosines);
    const slots = this.#live.list();
    let minimum = Infinity;
    let maximum = -Infinity;
    for (let i = 0; i < slots.length; i++) {
      const cosine = cosines[slots[i]];
      if (cosine < minimum) minimum = cosine;
      if (cosine > maximum) maximum = cosine;
    }
    return { slots, minimum, maximum, similarity: (slot) => cosines[slot], scanned: { cosines, margin: 0 } };
  }

  #scanCodes(query: Float32Array): VectorHits {
    this.#codes ??= this.#encodeAll();
    this.#loaded = null;
    const { products: cosines, margin } = this.#codes.scan(query, this.#rows);
    const slots = this.#live.list();
    // Those that can be the nearest or the furthest: at first, among the slots so far.
    let least = Infinity;
    let most = -Infinity;
    const outer: number[] = [];
    for (let i = 0; i < slots.length; i++) {
      const cosine = cosines[slots[i]];
      if (cosine > least + 2 * margin && cosine < most - 2 * margin) continue;
      if (cosine < least) least = cosine;
      if (cosine > most) most = cosine;
      outer.push(slots[i]);
    }
    // Of this search alone: the next one of another query leaves it as it is.
    const known = new Float32Array(this.#rows).fill(NaN);
    const similarity = (slot: number): number => {
      if (Number.isNaN(known[slot])) known[slot] = this.#cosineOf(query, slot);
      return known[slot];
    };
    let minimum = Infinity;
    let maximum = -Infinity;
    for (const slot of outer) {
      if (cosines[slot] > least + 2 * margin && cosines[slot] < most - 2 * margin) continue;
      minimum = Math.min(minimum, similarity(slot));
      maximum = Math.max(maximum, similarity(slot));
    }
    return { slots, minimum, maximum, similarity, scanned: { cosines, margin } };
  }

  #cosineOf(query: Float32Array, slot: number): number {
    if (this.#loaded !== query) this.#load(query);
    this.#slot[0] = slot;
    const { values, stride } = this.#vectors;
    this.#kernels.scanRows(values, stride, this.#slot, 1, this.#query, this.#cosine);
    return this.#cosine[0];
  }

  #load(query: Float32Array): void {
    this.#query.set(query);
    this.#loaded = query;
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
    const arrays = [this.#query, this.#slot, this.#cosine, this.#similarities];
    for (const array of arrays) this.#kernels.free(array);
    this.#codes?.dispose();
  }
}
