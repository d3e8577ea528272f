import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kernels } from '../../../bandit/kernels/kernels.ts';
import type { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { BestSlots } from '../best-slots.ts';

/** Number of the nearest vectors that are compared. */
export const COMPARED = 50;
/** One of so many searches is compared with an exact scan. */
const ONE_IN = 100;
/** Smallest and largest number of comparisons that the mean is taken over. */
const FEWEST = 10;
const MOST = 50;
const ALARM_BELOW = 0.95;
const CALM_FROM = 0.97;

/**
 * Measures whether an approximate index finds the nearest vectors. Recall depends on the vectors: of uniformly random ones the
 * same graph finds half.
 */
export class RecallMonitor {
  readonly #onAlarm: (alarmed: boolean, recall: number) => void;
  readonly #recalls: number[] = [];
  #searches = 0;
  #alarmed = false;

  /** @param onAlarm is called when recall@50 has become too low, and when it is good again. */
  constructor(onAlarm: (alarmed: boolean, recall: number) => void) {
    this.#onAlarm = onAlarm;
  }

  /** True while too little is found. */
  get alarmed(): boolean {
    return this.#alarmed;
  }

  /** Mean recall@50 of the newest comparisons; null before the first. */
  get recall(): number | null {
    if (this.#recalls.length === 0) return null;
    return this.#recalls.reduce((sum, recall) => sum + recall, 0) / this.#recalls.length;
  }

  /** Returns whether this search is to be compared; the first one is. */
  isDue(): boolean {
    return this.#searches++ % ONE_IN === 0;
  }

  observe(recall: number): void {
    this.#recalls.push(recall);
    if (this.#recalls.length > MOST) this.#recalls.shift();
    if (this.#recalls.length < FEWEST) return;
    const mean = this.recall!;
    const alarmed = this.#alarmed ? mean < CALM_FROM : mean < ALARM_BELOW;
    if (alarmed === this.#alarmed) return;
    this.#alarmed = alarmed;
    this.#onAlarm(alarmed, mean);
  }

  /** Forgets all comparisons, because the index was built again. */
  restart(): void {
    this.#recalls.length = 0;
    this.#searches = 0;
    if (!this.#alarmed) return;
    this.#alarmed = false;
    this.#onAlarm(false, 1);
  }
}

/** Returns the share of the `COMPARED` nearest vectors that were found. Equally near ones are interchangeable. */
export function recallOf(found: Iterable<number>, all: Int32Array, cosine: (slot: number) => number): number {
  const wanted = Math.min(COMPARED, all.length);
  if (wanted === 0) return 1;
  const cosines = Float64Array.from(all, cosine).sort();
  const least = cosines[cosines.length - wanted] - 1e-6;
  let near = 0;
  for (const slot of found) if (cosine(slot) >= least) near++;
  return Math.min(1, near / wanted);
}

/** Rows that are compared in one turn of the event loop: about half a millisecond with 384 dimensions. */
const ROWS = 2_048;
/** Below every cosine. */
const UNKNOWN = -2;

export interface SearchToCheck {
  readonly query: Float32Array;
  /** The slots that the search found. */
  readonly slots: readonly number[];
}

/**
 * Compares the result of one search with an exact scan, in slices, so that requests do not wait. Slots that change meanwhile
 * are left out of both.
 */
export class RecallCheck {
  readonly #kernels: Kernels;
  readonly #vectors: ToolVectors;
  readonly #live: { readonly rows: number; has(slot: number): boolean };
  readonly #found: ReadonlySet<number>;
  readonly #changed = new Set<number>();
  readonly #best = new BestSlots(COMPARED);
  /** Cosines of the slots that were found, and of those that may be among the best. */
  readonly #cosines = new Map<number, number>();
  readonly #query: Float32Array;
  readonly #similarities: Float32Array;
  #freed = false;

  /** @param live all live slots, which are below `rows`. */
  constructor(
    kernels: Kernels,
    vectors: ToolVectors,
    live: { readonly rows: number; has(slot: number): boolean },
    { query, slots }: SearchToCheck,
  ) {
    this.#kernels = kernels;
    this.#vectors = vectors;
    this.#live = live;
    this.#found = new Set(slots);
    this.#query = kernels.allocateFloat32(vectors.stride);
    this.#query.set(query);
    this.#similarities = kernels.allocateFloat32(ROWS);
  }

  /** Leaves out a slot that was changed or removed. */
  forget(slot: number): void {
    this.#changed.add(slot);
  }

  /** Returns recall@50, or null when it was freed before the end. Frees its memory. */
  async run(): Promise<number | null> {
    for (let start = 0; start < this.#live.rows; start += ROWS) {
      await nextTurn();
      if (this.#freed) return null;
      this.#compare(start, Math.min(ROWS, this.#live.rows - start));
    }
    this.free();
    const unchanged = (slot: number): boolean => !this.#changed.has(slot);
    const cosine = (slot: number): number => this.#cosines.get(slot) ?? UNKNOWN;
    return recallOf([...this.#found].filter(unchanged), this.#best.list().filter(unchanged), cosine);
  }

  /** Ends the comparison early. */
  free(): void {
    if (this.#freed) return;
    this.#freed = true;
    this.#kernels.free(this.#query);
    this.#kernels.free(this.#similarities);
  }

  #compare(start: number, count: number): void {
    const { values, stride } = this.#vectors;
    const rows = values.subarray(start * stride, (start + count) * stride);
    this.#kernels.scan(rows, stride, count, this.#query, this.#similarities);
    for (let at = 0; at < count; at++) {
      const slot = start + at;
      const cosine = this.#similarities[at];
      const isNear = cosine >= this.#best.bar;
      if (!(isNear || this.#found.has(slot)) || !this.#live.has(slot) || this.#changed.has(slot)) continue;
      this.#cosines.set(slot, cosine);
      if (isNear) this.#best.offer(slot, cosine);
    }
  }
}
