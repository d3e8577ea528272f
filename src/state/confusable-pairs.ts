/** Two tools of which one was called where the other was shown, for queries that both fit. */
export interface ConfusablePair {
  /** The lower slot first. */
  readonly slots: readonly [number, number];
  /** How often, both ways together. */
  readonly confused: number;
}

/** Most pairs that are counted; when there are more, all counts are halved, and those that come to nothing go. */
const MAX_PAIRS = 4096;
/** Least number of confusions that are taken for more than chance. */
const LEAST_CONFUSED = 4;
/** Most pairs that are looked at when merges are looked for, the most confused ones. */
const MOST_ANSWERED = 500;
/** A number larger than any slot. */
const SLOTS = 2 ** 26;

/** Returns one number for a pair of slots, whatever their order. */
export function pairKey(a: number, b: number): number {
  return Math.min(a, b) * SLOTS + Math.max(a, b);
}

/**
 * Counts which tools agents take one of where another one was shown: now the one, now the other. Tools that do the same are used like
 * that, whatever their texts say; so are some that do not, so this only says which pairs to compare.
 */
export class ConfusablePairs {
  /** Of each pair how often its lower slot was called and the other one shown, and the other way round. */
  readonly #counts = new Map<number, [lower: number, higher: number]>();

  /** Notes that a tool was called with success, and another one was shown and not called. */
  note(called: number, shown: number): void {
    if (called === shown) return;
    const key = pairKey(called, shown);
    let counts = this.#counts.get(key);
    if (counts === undefined) {
      if (this.#counts.size >= MAX_PAIRS) this.#halve();
      counts = [0, 0];
      this.#counts.set(key, counts);
    }
    counts[called < shown ? 0 : 1]++;
  }

  /** Returns the pairs that were confused both ways and often enough, the most confused first. */
  pairs(): ConfusablePair[] {
    return Array.from(this.#counts, ([key, [lower, higher]]) => ({
      slots: slotsOf(key),
      confused: lower > 0 && higher > 0 ? lower + higher : 0,
    }))
      .filter(({ confused }) => confused >= LEAST_CONFUSED)
      .sort((a, b) => b.confused - a.confused || a.slots[0] - b.slots[0] || a.slots[1] - b.slots[1])
      .slice(0, MOST_ANSWERED);
  }

  /** Forgets the pairs of a tool. */
  forget(slot: number): void {
    for (const key of this.#counts.keys()) if (slotsOf(key).includes(slot)) this.#counts.delete(key);
  }

  save(): Int32Array {
    return Int32Array.from([...this.#counts].flatMap(([key, counts]) => [...slotsOf(key), ...counts]));
  }

  restore(saved: Int32Array): void {
    for (let at = 0; at < saved.length; at += 4) {
      this.#counts.set(pairKey(saved[at], saved[at + 1]), [saved[at + 2], saved[at + 3]]);
    }
  }

  #halve(): void {
    while (this.#counts.size >= MAX_PAIRS) {
      for (const [key, counts] of this.#counts) {
        counts[0] >>= 1;
        counts[1] >>= 1;
        if (counts[0] + counts[1] === 0) this.#counts.delete(key);
      }
    }
  }
}

function slotsOf(key: number): [number, number] {
  return [Math.floor(key / SLOTS), key % SLOTS];
}
