import type { Kernels } from '../../../bandit/kernels/kernels.ts';
import { BestSlots } from '../best-slots.ts';
import { SlotSet } from '../slot-set.ts';

/** Memory is taken in blocks of so many rows, so that rows are never copied to make room. */
const BLOCK_ROWS = 1_024;

interface Block {
  readonly rows: Float32Array;
  readonly cosines: Float32Array;
}

/** Keeps copies of the vectors of some slots in adjacent rows, so that few scans compare all of them. */
export class PackedVectors {
  readonly #kernels: Kernels;
  readonly #stride: number;
  readonly #query: Float32Array;
  readonly #slots = new SlotSet();
  readonly #blocks: Block[] = [];
  #smallest = Infinity;

  /** @param stride elements from one row to the next: dimensions rounded up to a multiple of four. */
  constructor(kernels: Kernels, stride: number) {
    this.#kernels = kernels;
    this.#stride = stride;
    this.#query = kernels.allocateFloat32(stride);
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Smallest cosine of all members with the query of the last `nearest`; Infinity if there were none. */
  get smallestCosine(): number {
    return this.#smallest;
  }

  has(slot: number): boolean {
    return this.#slots.has(slot);
  }

  put(slot: number, vector: Float32Array): void {
    this.#slots.add(slot);
    if (this.#slots.size > this.#blocks.length * BLOCK_ROWS) this.#addBlock();
    this.#row(this.#slots.positionOf(slot)).set(vector);
  }

  remove(slot: number): void {
    if (!this.#slots.has(slot)) return;
    // The set moves its last member to the free position; its row has to move too.
    this.#row(this.#slots.positionOf(slot)).set(this.#row(this.#slots.size - 1));
    this.#slots.delete(slot);
  }

  /** Returns the `count` members nearest to a query. It compares all members; `cosine` returns the cosines. */
  nearest(query: Float32Array, count: number): Int32Array {
    this.#query.set(query);
    const slots = this.#slots.list();
    const best = new BestSlots(Math.min(count, slots.length));
    this.#smallest = Infinity;
    for (let start = 0; start < slots.length; start += BLOCK_ROWS) {
      const { rows, cosines } = this.#blocks[start / BLOCK_ROWS];
      const length = Math.min(BLOCK_ROWS, slots.length - start);
      this.#kernels.scan(rows, this.#stride, length, this.#query, cosines);
      for (let at = 0; at < length; at++) {
        const cosine = cosines[at];
        if (cosine < this.#smallest) this.#smallest = cosine;
        if (cosine >= best.bar) best.offer(slots[start + at], cosine);
      }
    }
    return best.list();
  }

  /** Returns the cosine of a member with the query of the last `nearest`. */
  cosine(slot: number): number {
    const position = this.#slots.positionOf(slot);
    return this.#blocks[Math.floor(position / BLOCK_ROWS)].cosines[position % BLOCK_ROWS];
  }

  free(): void {
    const arrays = this.#blocks.flatMap(({ rows, cosines }) => [rows, cosines]);
    for (const array of [this.#query, ...arrays]) this.#kernels.free(array);
  }

  #row(position: number): Float32Array {
    const start = (position % BLOCK_ROWS) * this.#stride;
    return this.#blocks[Math.floor(position / BLOCK_ROWS)].rows.subarray(start, start + this.#stride);
  }

  #addBlock(): void {
    const rows = this.#kernels.allocateFloat32(BLOCK_ROWS * this.#stride);
    this.#blocks.push({ rows, cosines: this.#kernels.allocateFloat32(BLOCK_ROWS) });
  }
}
