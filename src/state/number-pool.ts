/** A stretch of a pool: where it starts and how long it is; null stands for no array at all. */
export type PoolRange = readonly [start: number, length: number] | null;

/** Many short arrays laid end to end in one, so that a document can hold any number of them. */
export class NumberPool {
  readonly #floats: Float32Array[] = [];
  readonly #integers: Uint32Array[] = [];
  #floatLength = 0;
  #integerLength = 0;

  addFloats(values: Float32Array | null): PoolRange {
    if (values === null) return null;
    this.#floats.push(values);
    this.#floatLength += values.length;
    return [this.#floatLength - values.length, values.length];
  }

  addIntegers(values: Uint32Array): PoolRange {
    this.#integers.push(values);
    this.#integerLength += values.length;
    return [this.#integerLength - values.length, values.length];
  }

  floats(): Float32Array {
    const all = new Float32Array(this.#floatLength);
    let at = 0;
    for (const values of this.#floats) {
      all.set(values, at);
      at += values.length;
    }
    return all;
  }

  integers(): Uint32Array {
    const all = new Uint32Array(this.#integerLength);
    let at = 0;
    for (const values of this.#integers) {
      all.set(values, at);
      at += values.length;
    }
    return all;
  }
}

/** The other direction: copies of the stretches. */
export class NumberPoolReader {
  readonly #floats: Float32Array;
  readonly #integers: Uint32Array;

  constructor(floats: Float32Array, integers: Uint32Array) {
    this.#floats = floats;
    this.#integers = integers;
  }

  floatsOrNull(range: PoolRange): Float32Array | null {
    return range === null ? null : this.#floats.slice(range[0], range[0] + range[1]);
  }

  floats(range: PoolRange): Float32Array {
    return this.floatsOrNull(range) ?? new Float32Array(0);
  }

  integers(range: PoolRange): Uint32Array {
    return range === null ? new Uint32Array(0) : this.#integers.slice(range[0], range[0] + range[1]);
  }
}
