/**
 * Returns arrays of one length on one buffer, because the engine takes longer to allocate a small buffer than to fill it
 * (12 arrays of 60 elements: 4 µs on one buffer, 17 µs on twelve).
 */
export function float64Columns(length: number, count: number): Float64Array[] {
  const all = new Float64Array(length * count);
  const columns: Float64Array[] = [];
  // No Array.from: it takes as long as everything else here.
  for (let end = length; columns.length < count; end += length) columns.push(all.subarray(end - length, end));
  return columns;
}

/** Copies columns of one length as float32, all of them onto one buffer. */
export class Float32Columns {
  readonly #length: number;
  readonly #all: Float32Array;
  #used = 0;

  /** @param count how many columns are copied, at most. */
  constructor(length: number, count: number) {
    this.#length = length;
    this.#all = new Float32Array(length * count);
  }

  /** @throws RangeError for a column too many */
  copy(column: Float64Array): Float32Array {
    const start = this.#used;
    this.#used += this.#length;
    if (this.#used > this.#all.length) throw new RangeError('There is no room for another column.');
    // No `set`: it takes longer where the types of elements differ.
    for (let i = 0; i < this.#length; i++) this.#all[start + i] = column[i];
    return this.#all.subarray(start, this.#used);
  }
}

/** Copies a column into a longer one, and returns that. */
export function enlarged<T extends Int32Array | Uint32Array | Float32Array | Float64Array>(
  from: T,
  to: T,
): T {
  to.set(from);
  return to;
}
