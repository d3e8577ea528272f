import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { SlotSet } from './slot-set.ts';

const FIRST_CAPACITY = 64;

/** Copies of the vectors of some slots, row beside row, so that one scan compares all of them. */
export class PackedVectors {
  readonly #kernels: Kernels;
  readonly #stride: number;
  readonly #query: Float32Array;
  readonly #slots = new SlotSet();
  #rows: Float32Array;
  #cosines: Float32Array;

  /** @param stride elements from one row to the next: dimensions rounded up to a multiple of four. */
  constructor(kernels: Kernels, stride: number) {
    this.#kernels = kernels;
    this.#stride = stride;
    this.#query = kernels.allocateFloat32(stride);
    this.#rows = kernels.allocateFloat32(FIRST_CAPACITY * stride);
    this.#cosines = kernels.allocateFloat32(FIRST_CAPACITY);
  }

  get size(): number {
    return this.#slots.size;
  }

  has(slot: number): boolean {
    return this.#slots.has(slot);
  }

  /** In the order of the rows; valid until the next change. */
  slots(): Int32Array {
    return this.#slots.list();
  }

  put(slot: number, vector: Float32Array): void {
    this.#slots.add(slot);
    if (this.#slots.size > this.#cosines.length) this.#grow();
    this.#rows.set(vector, this.#slots.placeOf(slot) * this.#stride);
  }

  remove(slot: number): void {
    if (!this.#slots.has(slot)) return;
    // The set moves its last member to the place that is free now; its row moves along.
    const place = this.#slots.placeOf(slot) * this.#stride;
    const last = (this.#slots.size - 1) * this.#stride;
    this.#rows.copyWithin(place, last, last + this.#stride);
    this.#slots.delete(slot);
  }

  /** Compares all of them with a query; `cosine` tells what came of it. */
  scan(query: Float32Array): void {
    this.#query.set(query);
    this.#kernels.scan(this.#rows, this.#stride, this.size, this.#query, this.#cosines);
  }

  /** Cosine of a member with the query of the last `scan`. */
  cosine(slot: number): number {
    return this.#cosines[this.#slots.placeOf(slot)];
  }

  free(): void {
    for (const array of [this.#query, this.#rows, this.#cosines]) this.#kernels.free(array);
  }

  #grow(): void {
    const capacity = Math.ceil(this.#cosines.length * 1.5);
    const rows = this.#kernels.allocateFloat32(capacity * this.#stride);
    rows.set(this.#rows);
    this.#kernels.free(this.#rows);
    this.#kernels.free(this.#cosines);
    this.#rows = rows;
    this.#cosines = this.#kernels.allocateFloat32(capacity);
  }
}
