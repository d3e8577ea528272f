/** A stretch of a pool: where it starts and how long it is. */
export type PoolRange = readonly [start: number, length: number];

/** Many short arrays laid end to end in one, so that a document can hold any number of them. */
export class FloatPool {
  readonly #arrays: Float32Array[] = [];
  #length = 0;

  add(values: Float32Array): PoolRange {
    this.#arrays.push(values);
    this.#length += values.length;
    return [this.#length - values.length, values.length];
  }

  concatenated(): Float32Array {
    const all = new Float32Array(this.#length);
    let at = 0;
    for (const values of this.#arrays) {
      all.set(values, at);
      at += values.length;
    }
    return all;
  }
}
