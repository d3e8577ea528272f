/** Keeps the slots with the largest scores, best first; of equal scores the lower slot is the better one. */
export class BestSlots {
  readonly #limit: number;
  readonly #slots: Int32Array;
  readonly #scores: Float64Array;
  #size = 0;

  /** The score that a slot needs to be among the best. */
  get bar(): number {
    return this.#size < this.#limit || this.#limit === 0
      ? Number.NEGATIVE_INFINITY
      : this.#scores[this.#limit - 1];
  }

  constructor(limit: number) {
    this.#limit = limit;
    this.#slots = new Int32Array(limit);
    this.#scores = new Float64Array(limit);
  }

  /** Moves those that are worse down: they are few, so a heap takes longer. */
  offer(slot: number, score: number): void {
    const slots = this.#slots;
    const scores = this.#scores;
    let at = this.#size;
    if (at < this.#limit) this.#size++;
    else if (--at < 0 || !(scores[at] < score || (scores[at] === score && slots[at] > slot))) return;
    for (; at > 0; at--) {
      const before = scores[at - 1];
      if (!(before < score || (before === score && slots[at - 1] > slot))) break;
      slots[at] = slots[at - 1];
      scores[at] = before;
    }
    slots[at] = slot;
    scores[at] = score;
  }

  list(): Int32Array {
    return this.#slots.subarray(0, this.#size);
  }
}

export interface ProposalRequest {
  /** How many slots are wanted. */
  readonly limit: number;
  /** Slots that must not be proposed. */
  readonly exclude?: ReadonlySet<number>;
}

/** Returns the slots with the largest scores, best first. @param scores one for each slot of `found`; what comes after them does not count. */
export function proposals(
  found: Int32Array,
  scores: Float64Array,
  { limit, exclude = NOTHING }: ProposalRequest,
): Int32Array {
  const best = new BestSlots(limit);
  const least = leastBin(scores, found.length, limit + exclude.size);
  for (let i = 0; i < found.length; i++) {
    if (binOf(scores[i]) >= least && !exclude.has(found[i])) best.offer(found[i], scores[i]);
  }
  return best.list();
}

/** Of equal width, for scores of 0…1; those below and above are in the first and the last one. */
const BINS = 256;

function binOf(score: number): number {
  return Math.max(0, Math.min(BINS - 1, score * BINS) | 0);
}

/** Returns the bin that has the `count`-th largest of so many scores: counting all takes less than moving those that are not kept in the end. */
function leastBin(scores: Float64Array, length: number, count: number): number {
  const counts = new Int32Array(BINS);
  for (let i = 0; i < length; i++) counts[binOf(scores[i])]++;
  let bin = BINS - 1;
  for (let above = counts[bin]; bin > 0 && above < count; above += counts[bin]) bin--;
  return bin;
}

const NOTHING: ReadonlySet<number> = new Set();

/** So many scores say what is needed at least, where there are many. */
const SAMPLE = 512;

/**
 * Returns the slots that can be among the proposals, in no particular order, if no score is further than `margin` from the one
 * that counts.
 * @param scores one for each slot of `found`; they are written over.
 */
export function withinReach(
  found: Int32Array,
  scores: Float64Array,
  margin: number,
  request: ProposalRequest,
): Int32Array {
  const { limit, exclude = NOTHING } = request;
  if (limit === 0) return found.subarray(0, 0);
  const count = limit + exclude.size;
  // What some of the slots need is never more than what all of them do, so few of the others have to be looked at again.
  const isSampled = found.length > 2 * SAMPLE;
  const first = reachOf(scores, isSampled ? SAMPLE : found.length, count, margin);
  const near: number[] = [];
  for (let i = 0; i < found.length; i++) {
    const score = scores[i];
    if (score >= first) {
      scores[near.length] = score;
      near.push(found[i]);
    }
  }
  if (isSampled) {
    const least = reachOf(scores, near.length, count, margin);
    let size = 0;
    for (let i = 0; i < near.length; i++) if (scores[i] >= least) near[size++] = near[i];
    near.length = size;
  }
  return Int32Array.from(near);
}

/** Returns what `count` of so many slots reach for certain, less what a score may be away from it: the bin that has the last of them begins there. */
function reachOf(scores: Float64Array, length: number, count: number, margin: number): number {
  const bin = leastBin(scores, length, count);
  return bin === 0 ? Number.NEGATIVE_INFINITY : bin / BINS - 2 * margin;
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
