import type { Kernels } from '../kernels/kernels.ts';
import type { ToolVectors } from '../tool-vectors.ts';

/**
 * Keeps the values of a scorer per slot: c = φᵀMφ, r = Mφ over z, and the log position up to which both are computed. It detects
 * when the vector at a slot was replaced.
 */
export class SlotForms {
  readonly #kernels: Kernels;
  readonly #vectors: ToolVectors;
  readonly #specials: number;
  #stamps: Float64Array;
  #quadratic: Float64Array;
  #cross: Float64Array;
  /** The version of the vector that the forms belong to. */
  #versions: Float64Array;

  constructor(kernels: Kernels, vectors: ToolVectors, specials: number) {
    this.#kernels = kernels;
    this.#vectors = vectors;
    this.#specials = specials;
    this.#stamps = kernels.allocateFloat64(vectors.capacity).fill(Number.NEGATIVE_INFINITY);
    this.#quadratic = kernels.allocateFloat64(vectors.capacity);
    this.#cross = kernels.allocateFloat64(vectors.capacity * specials);
    this.#versions = new Float64Array(vectors.capacity);
  }

  get stamps(): Float64Array {
    return this.#stamps;
  }

  get quadratic(): Float64Array {
    return this.#quadratic;
  }

  get cross(): Float64Array {
    return this.#cross;
  }

  get sizeInBytes(): number {
    return 3 * this.#stamps.byteLength + this.#cross.byteLength;
  }

  /** Makes room for these slots and drops what belongs to an earlier vector. */
  prepare(slots: Int32Array): void {
    if (this.#vectors.capacity > this.#stamps.length) this.#grow(this.#vectors.capacity);
    for (const slot of slots) {
      const version = this.#vectors.version(slot);
      if (version !== this.#versions[slot]) {
        this.#versions[slot] = version;
        this.#stamps[slot] = Number.NEGATIVE_INFINITY;
      }
    }
  }

  free(): void {
    for (const array of [this.#stamps, this.#quadratic, this.#cross]) this.#kernels.free(array);
  }

  #grow(capacity: number): void {
    const kernels = this.#kernels;
    const stamps = kernels.allocateFloat64(capacity).fill(Number.NEGATIVE_INFINITY);
    const quadratic = kernels.allocateFloat64(capacity);
    const cross = kernels.allocateFloat64(capacity * this.#specials);
    const versions = new Float64Array(capacity);
    stamps.set(this.#stamps);
    quadratic.set(this.#quadratic);
    cross.set(this.#cross);
    versions.set(this.#versions);
    this.free();
    this.#stamps = stamps;
    this.#quadratic = quadratic;
    this.#cross = cross;
    this.#versions = versions;
  }
}
