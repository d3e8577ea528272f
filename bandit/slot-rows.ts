import { enlarged } from './columns.ts';

/** Finds the row of a slot in one list of slots after the other, without a table that is made anew for each. */
export class SlotRows {
  /** By slot: its row, and the number of the list that it is in. */
  #rows = new Int32Array(0);
  #lists = new Float64Array(0);
  #list = 0;

  /** Reads these slots; a row with a negative one is passed over. Of equal slots the last one counts. */
  read(slots: Int32Array): void {
    this.#list++;
    for (let row = 0; row < slots.length; row++) {
      const slot = slots[row];
      if (slot < 0) continue;
      if (slot >= this.#rows.length) this.#grow(slot + 1);
      this.#rows[slot] = row;
      this.#lists[slot] = this.#list;
    }
  }

  /** Returns the row of a slot in the list that was read last; −1: it is not in it. */
  of(slot: number): number {
    return this.#lists[slot] === this.#list ? this.#rows[slot] : -1;
  }

  #grow(slots: number): void {
    this.#rows = enlarged(this.#rows, new Int32Array(2 * slots));
    this.#lists = enlarged(this.#lists, new Float64Array(2 * slots));
  }
}
