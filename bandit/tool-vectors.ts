import type { Kernels, SlotTable } from './kernels/kernels.ts';

const FIRST_CAPACITY = 64;

/**
 * Keeps the embedding φ of every tool by slot, as float32 rows in kernel memory. A slot without a vector is a row of zeros.
 * `values` is replaced when the table grows; do not keep it.
 */
export class ToolVectors implements SlotTable {
  /** D; 0 when there is no embedder. */
  readonly dimensions: number;
  /** Elements from one row to the next: D rounded up to a multiple of four. */
  readonly stride: number;
  readonly #kernels: Kernels;
  #values: Float32Array;
  #versions = new Uint32Array(FIRST_CAPACITY);

  constructor(kernels: Kernels, dimensions: number) {
    if (!Number.isSafeInteger(dimensions) || dimensions < 0) {
      throw new RangeError(`dimensions must be a whole number of at least 0, got ${dimensions}`);
    }
    this.#kernels = kernels;
    this.dimensions = dimensions;
    this.stride = (dimensions + 3) & ~3;
    this.#values = kernels.allocateFloat32(FIRST_CAPACITY * this.stride);
  }

  /** Row-major, capacity × stride. */
  get values(): Float32Array {
    return this.#values;
  }

  /** Number of slots for which there is room; every slot below it may be read. */
  get capacity(): number {
    return this.#versions.length;
  }

  /** Returns a number that changes with the vector at this slot, so that values computed from it can be checked. */
  version(slot: number): number {
    return this.#versions[slot];
  }

  /** Copies the vector to this slot, growing if need be; null makes it a row of zeros. @throws RangeError */
  put(slot: number, vector: Float32Array | null): void {
    if (!Number.isSafeInteger(slot) || slot < 0) {
      throw new RangeError(`a slot is a whole number of at least 0, got ${slot}`);
    }
    if (vector !== null) this.#check(vector);
    if (slot >= this.capacity) this.#grow(slot + 1);
    const start = slot * this.stride;
    if (vector === null) this.#values.fill(0, start, start + this.stride);
    else this.#values.set(vector, start);
    this.#versions[slot]++;
  }

  clear(slot: number): void {
    this.put(slot, null);
  }

  /** Returns a view of the vector at this slot; valid until the next `put`. */
  get(slot: number): Float32Array {
    const start = this.#startOf(slot);
    return this.#values.subarray(start, start + this.dimensions);
  }

  /** Copies the vector at this slot to a place in an array. */
  copyTo(target: Float64Array, at: number, slot: number): void {
    const start = this.#startOf(slot);
    for (let i = 0; i < this.dimensions; i++) target[at + i] = this.#values[start + i];
  }

  get sizeInBytes(): number {
    return this.#values.byteLength + this.#versions.byteLength;
  }

  /** Frees the memory. The object must not be used afterwards. */
  free(): void {
    this.#kernels.free(this.#values);
  }

  #startOf(slot: number): number {
    if (!(slot >= 0 && slot < this.capacity)) throw new RangeError(`there is no slot ${slot}`);
    return slot * this.stride;
  }

  #check(vector: Float32Array): void {
    if (vector.length !== this.dimensions) {
      throw new RangeError(`a vector has ${this.dimensions} dimensions here, got ${vector.length}`);
    }
    for (let i = 0; i < vector.length; i++) {
      if (!Number.isFinite(vector[i])) throw new RangeError(`dimension ${i} of a vector is ${vector[i]}`);
    }
  }

  #grow(needed: number): void {
    const capacity = Math.max(needed, Math.ceil(this.capacity * 1.5));
    const values = this.#kernels.allocateFloat32(capacity * this.stride);
    values.set(this.#values);
    this.#kernels.free(this.#values);
    this.#values = values;
    const versions = new Uint32Array(capacity);
    versions.set(this.#versions);
    this.#versions = versions;
  }
}

/** Returns the cosine of two vectors of the same length, −1…1; 0 when either is all zero. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0;
  let lengthA = 0;
  let lengthB = 0;
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    lengthA += a[i] * a[i];
    lengthB += b[i] * b[i];
  }
  return lengthA === 0 || lengthB === 0 ? 0 : dot / Math.sqrt(lengthA * lengthB);
}
