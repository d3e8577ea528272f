import { enlarged } from '../columns.ts';

const INITIAL_ENTRIES = 256;
const NONE = -1;

/** Largest P + N of one tool in one case; more replaces what is older. */
export const TRIALS_LIMIT = 5;
/** Largest contribution of one unit, or one decision, to an entry in a row, so that no unit alone fills it. */
export const UNIT_TRIALS_LIMIT = 2;

/**
 * Keeps the counts per case and tool: P, the sum of rewards r, and N, the sum of 1 − r, and the part of both that comes from
 * the unit that reported last. Entries of a case form a list in the order in which its tools were added; all lists share
 * pooled arrays.
 */
export class CaseEntries {
  /** Read with the indices that `first`, `after` and `find` answer. */
  slots = new Int32Array(INITIAL_ENTRIES);
  positives = new Float32Array(INITIAL_ENTRIES);
  negatives = new Float32Array(INITIAL_ENTRIES);
  /** Hash of the unit that reported last, 0 for none, and its part of P and N. */
  private units = new Uint32Array(INITIAL_ENTRIES);
  private unitPositives = new Float32Array(INITIAL_ENTRIES);
  private unitNegatives = new Float32Array(INITIAL_ENTRIES);
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
   * Returns the entry of this tool, created with P = N = 0 if it is missing. In a full case it replaces the entry with the
   * least P, then the least N, then the oldest.
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
    this.turnTo(entry, 0);
    return entry;
  }

  /**
   * Adds `weight` times P += r, N += 1 − r, up to the limit of one decision. Older counts are scaled down to make room; if the
   * same unit reported last, its own counts are scaled down first. Unit 0 counts as a new unit each time.
   */
  count(entry: number, reward: number, weight: number, unit: number): void {
    this.turnTo(entry, unit);
    for (let left = Math.min(weight, UNIT_TRIALS_LIMIT); left > 0; left--) {
      const part = Math.min(1, left);
      this.shrinkUnit(entry, UNIT_TRIALS_LIMIT - part);
      const trials = this.positives[entry] + this.negatives[entry];
      if (trials + part > TRIALS_LIMIT) this.scale(entry, (TRIALS_LIMIT - part) / trials);
      this.put(entry, part * reward, part * (1 - reward));
    }
  }

  /** Adds P += positives, N += negatives, neither below 0; both limits hold afterwards (scaled down if need be). */
  add(entry: number, positives: number, negatives: number, unit: number): void {
    this.turnTo(entry, unit);
    this.put(entry, positives, negatives);
    this.shrinkUnit(entry, UNIT_TRIALS_LIMIT);
    this.limitTrials(entry);
  }

  /** Scales the counts of an entry. */
  scale(entry: number, factor: number): void {
    this.positives[entry] *= factor;
    this.negatives[entry] *= factor;
    this.unitPositives[entry] *= factor;
    this.unitNegatives[entry] *= factor;
  }

  private limitTrials(entry: number): void {
    const trials = this.positives[entry] + this.negatives[entry];
    if (trials > TRIALS_LIMIT) this.scale(entry, TRIALS_LIMIT / trials);
  }

  private put(entry: number, positives: number, negatives: number): void {
    this.positives[entry] = Math.max(0, this.positives[entry] + positives);
    this.negatives[entry] = Math.max(0, this.negatives[entry] + negatives);
    this.unitPositives[entry] = Math.max(0, this.unitPositives[entry] + positives);
    this.unitNegatives[entry] = Math.max(0, this.unitNegatives[entry] + negatives);
  }

  /** Sets the unit that reports. If it reported last, its part of the counts is kept. */
  private turnTo(entry: number, unit: number): void {
    if (unit !== 0 && unit === this.units[entry]) return;
    this.units[entry] = unit;
    this.unitPositives[entry] = 0;
    this.unitNegatives[entry] = 0;
  }

  /** Removes the contribution of the unit above `limit` trials. */
  private shrinkUnit(entry: number, limit: number): void {
    const trials = this.unitPositives[entry] + this.unitNegatives[entry];
    if (trials <= limit) return;
    const excess = 1 - limit / trials;
    const [positives, negatives] = [this.unitPositives[entry] * excess, this.unitNegatives[entry] * excess];
    this.put(entry, -positives, -negatives);
  }

  /** Adds the entries of the case at `place` to those of another. */
  merge(place: number, into: number): void {
    for (let entry = this.first(place); entry !== NONE; entry = this.next[entry]) {
      const target = this.findOrCreate(into, this.slots[entry]);
      this.positives[target] += this.positives[entry];
      this.negatives[target] += this.negatives[entry];
      this.limitTrials(target);
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
    const units = new Uint32Array(offsets[count]);
    const unitPositives = new Float32Array(offsets[count]);
    const unitNegatives = new Float32Array(offsets[count]);
    for (let place = 0, at = 0; place < count; place++) {
      for (let entry = this.first(place); entry !== NONE; entry = this.next[entry], at++) {
        slots[at] = this.slots[entry];
        positives[at] = this.positives[entry];
        negatives[at] = this.negatives[entry];
        units[at] = this.units[entry];
        unitPositives[at] = this.unitPositives[entry];
        unitNegatives[at] = this.unitNegatives[entry];
      }
    }
    return { offsets, slots, positives, negatives, units, unitPositives, unitNegatives };
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
        entries.units[last] = saved.units[i];
        entries.unitPositives[last] = saved.unitPositives[i];
        entries.unitNegatives[last] = saved.unitNegatives[i];
      }
    }
    return entries;
  }

  get bytes(): number {
    return this.heads.byteLength + 7 * this.next.byteLength;
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
      this.units = enlarged(this.units, new Uint32Array(length));
      this.unitPositives = enlarged(this.unitPositives, new Float32Array(length));
      this.unitNegatives = enlarged(this.unitNegatives, new Float32Array(length));
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
  readonly units: Uint32Array;
  readonly unitPositives: Float32Array;
  readonly unitNegatives: Float32Array;
}
