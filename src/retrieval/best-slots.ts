/** Keeps the slots with the largest scores; of equal scores the lower slot is the better one. */
export class BestSlots {
  readonly #limit: number;
  /** A heap, with the worst on top, until `list` puts them in order. */
  readonly #slots: Int32Array;
  readonly #scores: Float64Array;
  #size = 0;

  /** The score that a slot needs to be among the best. */
  get bar(): number {
    return this.#size < this.#limit || this.#limit === 0 ? Number.NEGATIVE_INFINITY : this.#scores[0];
  }

  constructor(limit: number) {
    this.#limit = limit;
    this.#slots = new Int32Array(limit);
    this.#scores = new Float64Array(limit);
  }

  offer(slot: number, score: number): void {
    if (this.#size < this.#limit) this.#rise(this.#size++, slot, score);
    else if (this.#limit > 0 && this.#isWorse(0, slot, score)) this.#sink(this.#limit, slot, score);
  }

  /** Returns the slots, best first. Call it once, after everything was offered. */
  list(): Int32Array {
    for (let last = this.#size - 1; last > 0; last--) {
      const slot = this.#slots[0];
      const score = this.#scores[0];
      this.#sink(last, this.#slots[last], this.#scores[last]);
      this.#slots[last] = slot;
      this.#scores[last] = score;
    }
    return this.#slots.subarray(0, this.#size);
  }

  /** Returns whether the member at this position of the heap is worse than the given one. */
  #isWorse(position: number, slot: number, score: number): boolean {
    return (
      this.#scores[position] < score || (this.#scores[position] === score && this.#slots[position] > slot)
    );
  }

  /** Adds a slot at the end of the heap and moves it up to its position. */
  #rise(position: number, slot: number, score: number): void {
    let at = position;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (this.#isWorse(parent, slot, score)) break;
      this.#slots[at] = this.#slots[parent];
      this.#scores[at] = this.#scores[parent];
      at = parent;
    }
    this.#slots[at] = slot;
    this.#scores[at] = score;
  }

  /** Replaces the top of the heap, whose size is `size`, and moves the slot down to its position. */
  #sink(size: number, slot: number, score: number): void {
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const right = child + 1;
      if (right < size && this.#isWorse(right, this.#slots[child], this.#scores[child])) child = right;
      if (!this.#isWorse(child, slot, score)) break;
      this.#slots[at] = this.#slots[child];
      this.#scores[at] = this.#scores[child];
      at = child;
    }
    this.#slots[at] = slot;
    this.#scores[at] = score;
  }
}

export interface ProposalRequest {
  /** How many slots are wanted. */
  readonly limit: number;
  /** Slots that must not be proposed. */
  readonly exclude?: ReadonlySet<number>;
}

/** Returns the slots with the largest scores, best first. @param scores one for each slot of `found`. */
export function proposals(found: Int32Array, scores: Float64Array, request: ProposalRequest): Int32Array {
  return bestOf(found, scores, request).list();
}

function bestOf(
  found: Int32Array,
  scores: Float64Array,
  { limit, exclude = NOTHING }: ProposalRequest,
): BestSlots {
  const best = new BestSlots(limit);
  let { bar } = best;
  for (let i = 0; i < found.length; i++) {
    if (scores[i] < bar || exclude.has(found[i])) continue;
    best.offer(found[i], scores[i]);
    bar = best.bar;
  }
  return best;
}

const NOTHING: ReadonlySet<number> = new Set();

/**
 * Returns the slots that can be among the proposals, in no particular order, if no score is further than `margin` from the one
 * that counts.
 */
export function withinReach(
  found: Int32Array,
  scores: Float64Array,
  margin: number,
  request: ProposalRequest,
): Int32Array {
  if (request.limit === 0) return found.subarray(0, 0);
  // So many slots have at least bar − margin for certain.
  const least = bestOf(found, scores, request).bar - 2 * margin;
  const near: number[] = [];
  for (let i = 0; i < found.length; i++) if (scores[i] >= least) near.push(found[i]);
  return Int32Array.from(near);
}

/**
 * Returns slots of several lists in turns: the best of each, then the second of each, and so on, so that each list is
 * represented.
 * @param lists best first.
 */
export function inTurns(lists: readonly Int32Array[], limit: number): Iterable<number> {
  if (lists.length === 1) return lists[0].subarray(0, limit);
  const chosen = new Set<number>();
  for (let rank = 0; rank < limit; rank++) {
    for (const list of lists) {
      if (chosen.size < limit && rank < list.length) chosen.add(list[rank]);
    }
  }
  return chosen;
}
