/** A set of slots that lists its members without gaps. */
export class SlotSet {
  #members = new Int32Array(64);
  /** Position of each slot in `#members` plus one; 0 where it is no member. */
  #positions = new Int32Array(64);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(slot: number): boolean {
    return this.#positions[slot] > 0;
  }

  add(slot: number): void {
    if (this.has(slot)) return;
    if (slot >= this.#positions.length) this.#positions = enlarged(this.#positions, slot + 1);
    if (this.#size === this.#members.length) this.#members = enlarged(this.#members, this.#size + 1);
    this.#members[this.#size] = slot;
    this.#positions[slot] = ++this.#size;
  }

  delete(slot: number): void {
    if (!this.has(slot)) return;
    const position = this.#positions[slot];
    const last = this.#members[--this.#size];
    this.#members[position - 1] = last;
    this.#positions[last] = position;
    this.#positions[slot] = 0;
  }

  /** Returns the index of a member in `list`; −1 if the slot is no member. */
  positionOf(slot: number): number {
    return slot < this.#positions.length ? this.#positions[slot] - 1 : -1;
  }

  /** Returns the members in no particular order; valid until the next change. */
  list(): Int32Array {
    return this.#members.subarray(0, this.#size);
  }
}

function enlarged(array: Int32Array, atLeast: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(Math.max(atLeast, Math.ceil(array.length * 1.5)));
  larger.set(array);
  return larger;
}
