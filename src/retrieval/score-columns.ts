/**
 * Columns for scores of all tools, used again in each search, because the engine takes longer to allocate and to clear them than
 * to fill them.
 */
export class ScoreColumns {
  #length = 0;
  #columns: Float64Array[] = [];

  /** Returns columns of at least this length, with anything in them; valid until they are taken the next time. */
  take(count: number, length: number): Float64Array[] {
    if (length > this.#length) {
      this.#length = Math.ceil(length * 1.5);
      this.#columns = [];
    }
    while (this.#columns.length < count) this.#columns.push(new Float64Array(this.#length));
    return this.#columns.slice(0, count);
  }
}
