const ALIGNMENT = 64;
const PAGE = 65_536;
/** The module itself needs no memory; the first bytes stay unused so that no address is 0. */
const FIRST = ALIGNMENT;
const LEAST_GROWTH = 64;

/** The memory in which a heap grows: a WebAssembly memory, in pages of 64 KiB. */
export interface Pages {
  readonly buffer: ArrayBufferLike;
  /** @throws RangeError when there is no room for that many more. */
  grow(pages: number): number;
}

/**
 * Allocates ranges of one memory, by best fit over a list of free ranges; adjacent free ranges are joined. Blocks are few and
 * large (matrices, tables), so the list is short and searched from its start.
 */
export class Heap {
  readonly #pages: Pages;
  /** Free ranges by address. */
  readonly #free: { start: number; bytes: number }[] = [];
  readonly #used = new Map<number, { bytes: number; asked: number }>();
  #end = FIRST;
  #allocated = 0;

  constructor(pages: Pages) {
    this.#pages = pages;
  }

  /** Bytes that were allocated and not freed. */
  get allocatedBytes(): number {
    return this.#allocated;
  }

  /** Returns the address of that many zero bytes, 64-byte aligned. @throws RangeError when the memory is used up. */
  allocate(asked: number): number {
    const bytes = Math.max(1, Math.ceil(asked / ALIGNMENT)) * ALIGNMENT;
    const start = this.#takeFree(bytes) ?? this.#takeNew(bytes);
    this.#used.set(start, { bytes, asked });
    this.#allocated += asked;
    return start;
  }

  /** @throws RangeError when no such range is in use. */
  release(start: number, asked: number): void {
    const block = this.#used.get(start);
    if (block === undefined || block.asked !== asked) {
      throw new RangeError('this array was not allocated here, or was given back before');
    }
    this.#used.delete(start);
    this.#allocated -= asked;
    const free = this.#free;
    let place = free.findIndex((range) => range.start > start);
    if (place < 0) place = free.length;
    free.splice(place, 0, { start, bytes: block.bytes });
    this.#join(place);
    if (place > 0) this.#join(place - 1);
  }

  #takeFree(bytes: number): number | null {
    const free = this.#free;
    let best = -1;
    for (let i = 0; i < free.length; i++) {
      if (free[i].bytes >= bytes && (best < 0 || free[i].bytes < free[best].bytes)) best = i;
    }
    if (best < 0) return null;
    const range = free[best];
    const { start } = range;
    range.start += bytes;
    range.bytes -= bytes;
    if (range.bytes === 0) free.splice(best, 1);
    // Shared memory is filled an element at a time, so these are large.
    new Float64Array(this.#pages.buffer, start, bytes / 8).fill(0);
    return start;
  }

  #takeNew(bytes: number): number {
    const start = this.#end;
    const missing = start + bytes - this.#pages.buffer.byteLength;
    if (missing > 0) this.#grow(Math.ceil(missing / PAGE));
    this.#end = start + bytes;
    return start;
  }

  #grow(pages: number): void {
    try {
      this.#pages.grow(Math.max(pages, LEAST_GROWTH));
    } catch {
      try {
        this.#pages.grow(pages);
      } catch (cause) {
        throw new RangeError(
          `the kernels' memory is used up: ${this.#allocated} bytes in use, ${pages * PAGE} more asked for`,
          { cause },
        );
      }
    }
  }

  #join(place: number): void {
    const range = this.#free[place];
    const next = this.#free[place + 1];
    if (next !== undefined && range.start + range.bytes === next.start) {
      range.bytes += next.bytes;
      this.#free.splice(place + 1, 1);
    }
  }
}
