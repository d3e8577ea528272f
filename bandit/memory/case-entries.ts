const INITIAL_ENTRIES = 256;
const NONE = -1;

/**
 * What is known per case and tool: P, the sum of rewards, and N, the sum of what was missing to 1. Entries of a
 * case form a list in the order in which its tools came; all lists share pooled arrays.
 */
export class CaseEntries {
  /** Read with the indices that `first`, `after` and `find` answer. */
  slots = new Int32Array(INITIAL_ENTRIES);
  positives = new Float32Array(INITIAL_ENTRIES);
  negatives = new Float32Array(INITIAL_ENTRIES);
  private next = new Int32Array(INITIAL_ENTRIES);
  private heads = new Int32Array(0);
  private used = 0;
  private freed = NONE;
  private readonly toolsPerCase: number;

  constructor(toolsPerCase: number) {
    this.toolsPerCase = toolsPerCase;
  }

  /** Index of the first entry of this case, or −1. */
  first(place: number): number {
    return place < this.heads.length ? this.heads[place] : NONE;
  }

  /** Index of the entry after this one, or −1. */
  after(entry: number): number {
    return this.next[entry];
  }

  find(place: number, slot: number): number {
    for (let entry = this.first(place); entry !== NONE; entry = this.next[entry]) {
      if (this.slots[entry] === slot) return entry;
    }
    return NONE;
  }

  /**
   * The entry of this tool, created with P = N = 0 if it is missing. In a full case it takes the place of the
   * entry with the least P, then the least N, then the oldest.
   */
  findOrCreate(place: number, slot: number): number {
    let last = NONE;
    let least = NONE;
    let count = 0;
    for (let entry = this.first(place); entry !== NONE; entry = this.next[entry]) {
      if (this.slots[entry] === slot) return entry;
      if (least === NONE || this.isLess(entry, least)) least = entry;
      last = entry;
      count++;
    }
    const entry = count < this.toolsPerCase ? this.append(place, last) : least;
    this.slots[entry] = slot;
    this.positives[entry] = 0;
    this.negatives[entry] = 0;
    return entry;
  }

  /**
   * P += positives, N += negatives, neither below 0, P + N at most `limit` (scaled down if need be).
   */
  add(entry: number, positives: number, negatives: number, limit: number): void {
    const p = Math.max(0, this.positives[entry] + positives);
    const n = Math.max(0, this.negatives[entry] + negatives);
    const scale = p + n > limit ? limit / (p + n) : 1;
    this.positives[entry] = p * scale;
    this.negatives[entry] = n * scale;
  }

  /** Adds the entries of the case at `place` to those of another. */
  merge(place: number, into: number, limit: number): void {
    for (let entry = this.first(place); entry !== NONE; entry = this.next[entry]) {
      const slot = this.slots[entry];
      this.add(this.findOrCreate(into, slot), this.positives[entry], this.negatives[entry], limit);
    }
  }

  /** Removes the entry of this tool, if it is there. */
  remove(place: number, slot: number): void {
    let previous = NONE;
    for (let entry = this.first(place); entry !== NONE; previous = entry, entry = this.next[entry]) {
      if (this.slots[entry] !== slot) continue;
      if (previous === NONE) this.heads[place] = this.next[entry];
      else this.next[previous] = this.next[entry];
      this.next[entry] = this.freed;
      this.freed = entry;
      return;
    }
  }

  clear(place: number): void {
    while (this.first(place) !== NONE) this.remove(place, this.slots[this.first(place)]);
  }

  /** Entries of the first `count` cases, one case after the other, in list order. */
  save(count: number): SavedEntries {
    const offsets = new Int32Array(count + 1);
    for (let place = 0; place < count; place++) {
      let length = 0;
      for (let entry = this.first(place); entry !== NONE; entry = this.next[entry]) length++;
      offsets[place + 1] = offsets[place] + length;
    }
    const slots = new Int32Array(offsets[count]);
    const positives = new Float32Array(offsets[count]);
    const negatives = new Float32Array(offsets[count]);
    for (let place = 0, at = 0; place < count; place++) {
      for (let entry = this.first(place); entry !== NONE; entry = this.next[entry], at++) {
        slots[at] = this.slots[entry];
        positives[at] = this.positives[entry];
        negatives[at] = this.negatives[entry];
      }
    }
    return { offsets, slots, positives, negatives };
  }

  static load(toolsPerCase: number, saved: SavedEntries): CaseEntries {
    const entries = new CaseEntries(toolsPerCase);
    for (let place = 0; place + 1 < saved.offsets.length; place++) {
      let last = NONE;
      for (let i = saved.offsets[place]; i < saved.offsets[place + 1]; i++) {
        last = entries.append(place, last);
        entries.slots[last] = saved.slots[i];
        entries.positives[last] = saved.positives[i];
        entries.negatives[last] = saved.negatives[i];
      }
    }
    return entries;
  }

  get bytes(): number {
    return this.heads.byteLength + 4 * this.next.byteLength;
  }

  private isLess(a: number, b: number): boolean {
    if (this.positives[a] !== this.positives[b]) return this.positives[a] < this.positives[b];
    return this.negatives[a] < this.negatives[b];
  }

  private append(place: number, last: number): number {
    let entry = this.freed;
    if (entry !== NONE) this.freed = this.next[entry];
    else entry = this.allocate();
    this.next[entry] = NONE;
    if (last !== NONE) {
      this.next[last] = entry;
      return entry;
    }
    if (place >= this.heads.length) {
      const heads = new Int32Array(Math.max(64, 2 * place)).fill(NONE);
      heads.set(this.heads);
      this.heads = heads;
    }
    this.heads[place] = entry;
    return entry;
  }

  private allocate(): number {
    if (this.used === this.next.length) {
      const length = 2 * this.used;
      this.slots = enlarged(this.slots, new Int32Array(length));
      this.next = enlarged(this.next, new Int32Array(length));
      this.positives = enlarged(this.positives, new Float32Array(length));
      this.negatives = enlarged(this.negatives, new Float32Array(length));
    }
    return this.used++;
  }
}

/** Entries of the case at place i: offsets[i] … offsets[i + 1]. */
export interface SavedEntries {
  readonly offsets: Int32Array;
  readonly slots: Int32Array;
  readonly positives: Float32Array;
  readonly negatives: Float32Array;
}

function enlarged<T extends Int32Array | Float32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
