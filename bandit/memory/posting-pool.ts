const FIRST_POSTINGS = 1024;
const NONE = -1;

/**
 * Ranges of postings, in one buffer: of posting i the place is `places[2·i]` and the weight `weights[2·i + 1]`. A range has room for a
 * power of two of them. What was given back is taken again.
 */
export class PostingPool {
  #places = new Int32Array(2 * FIRST_POSTINGS);
  #weights = new Float32Array(this.#places.buffer);
  /** By the logarithm of their room, the first range that is free; its first number is where the next one begins. */
  readonly #free: number[] = new Array(32).fill(NONE);
  #end = 0;

  /** Valid until the next `take`. */
  get places(): Int32Array {
    return this.#places;
  }

  /** Valid until the next `take`. */
  get weights(): Float32Array {
    return this.#weights;
  }

  /** Returns where a range begins that has this room, a power of two. */
  take(room: number): number {
    const kind = Math.log2(room);
    const free = this.#free[kind];
    if (free !== NONE) {
      this.#free[kind] = this.#places[2 * free];
      return free;
    }
    const start = this.#end;
    this.#end += room;
    if (2 * this.#end > this.#places.length) this.#grow();
    return start;
  }

  giveBack(start: number, room: number): void {
    const kind = Math.log2(room);
    this.#places[2 * start] = this.#free[kind];
    this.#free[kind] = start;
  }

  get bytes(): number {
    return this.#places.byteLength;
  }

  #grow(): void {
    const places = new Int32Array(Math.max(2 * this.#places.length, 2 * this.#end));
    places.set(this.#places);
    this.#places = places;
    this.#weights = new Float32Array(places.buffer);
  }
}
