/** The few slots with the largest scores; of equal scores the lower slot is the better one. */
export class BestSlots {
  readonly #limit: number;
  readonly #slots: Int32Array;
  readonly #scores: Float64Array;
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#slots = new Int32Array(limit);
    this.#scores = new Float64Array(limit);
  }

  offer(slot: number, score: number): void {
    const full = this.#size === this.#limit;
    if (full && !this.#isBetter(slot, score, this.#limit - 1)) return;
    let place = full ? this.#limit - 1 : this.#size++;
    for (; place > 0 && this.#isBetter(slot, score, place - 1); place--) {
      this.#slots[place] = this.#slots[place - 1];
      this.#scores[place] = this.#scores[place - 1];
    }
    this.#slots[place] = slot;
    this.#scores[place] = score;
  }

  /** Best first. */
  list(): Int32Array {
    return this.#slots.subarray(0, this.#size);
  }

  #isBetter(slot: number, score: number, place: number): boolean {
    if (place < 0) return false;
    return score > this.#scores[place] || (score === this.#scores[place] && slot < this.#slots[place]);
  }
}
