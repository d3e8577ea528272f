import type { Kernels } from './kernels/kernels.ts';

/** What is known of the candidates of one request, in kernel memory, used again for the next. */
export class CandidateArrays {
  readonly capacity: number;
  readonly slots: Int32Array;
  readonly special: Float64Array;
  readonly gain: Float64Array;
  readonly variance: Float64Array;
  readonly #kernels: Kernels;

  constructor(kernels: Kernels, capacity: number, specials: number) {
    this.#kernels = kernels;
    this.capacity = capacity;
    this.slots = kernels.allocateInt32(capacity);
    this.special = kernels.allocateFloat64(capacity * specials);
    this.gain = kernels.allocateFloat64(capacity);
    this.variance = kernels.allocateFloat64(capacity);
  }

  get sizeInBytes(): number {
    return this.slots.byteLength + this.special.byteLength + 2 * this.gain.byteLength;
  }

  free(): void {
    for (const array of [this.slots, this.special, this.gain, this.variance]) this.#kernels.free(array);
  }
}
