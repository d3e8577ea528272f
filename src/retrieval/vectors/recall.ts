import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kernels } from '../../../bandit/kernels/kernels.ts';
import type { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { BestSlots } from '../best-slots.ts';

/** How many of the nearest are compared. */
export const COMPARED = 50;
/** One search in so many is compared with the exact scan. */
const ONE_IN = 100;
/** Comparisons that count, at least and at most. */
const FEWEST = 10;
const MOST = 50;
const ALARM_BELOW = 0.95;
const CALM_FROM = 0.97;

/**
 * Watches whether an approximate index still finds what is nearest. Recall cannot be taken for granted: it depends
 * on the vectors (of uniformly random ones the same graph finds half).
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

  /** Whether this search is one to compare; the very first is. */
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

  /** The index was built anew: what was seen before says nothing about it. */
  restart(): void {
    this.#recalls.length = 0;
    this.#searches = 0;
    if (!this.#alarmed) return;
    this.#alarmed = false;
    this.#onAlarm(false, 1);
  }
}

/** Share of the `COMPARED` nearest that were found. Of equally near ones any will do. */
export function recallOf(found: Iterable<number>, all: Int32Array, cosine: (slot: number) => number): number {
  const wanted = Math.min(COMPARED, all.length);
  if (wanted === 0) return 1;
  const cosines = Float64Array.from(all, cosine).sort();
  const least = cosines[cosines.length - wanted] - 1e-6;
  let near = 0;
  for (const slot of found) if (cosine(slot) >= least) near++;
  return Math.min(1, near / wanted);
}

/** Compared in one turn of the event loop: with 384 dimensions half a millisecond or so. */
const ROWS = 2_048;
/** Farther away than anything. */
const UNKNOWN = -2;

export interface SearchToCheck {
  readonly query: Float32Array;
  /** What it found. */
  readonly slots: readonly number[];
}

/**
 * Compares what one search found with an exact scan, in slices, so that requests do not wait for it. Slots that change
 * meanwhile are left out on both sides.
 */
export class RecallCheck {
  readonly #kernels: Kernels;
  readonly #vectors: ToolVectors;
  readonly #live: { readonly rows: number; has(slot: number): boolean };
  readonly #found: ReadonlySet<number>;
  readonly #changed = new Set<number>();
  readonly #best = new BestSlots(COMPARED);
  /** Of what was found, and of what may be among the best. */
  readonly #cosines = new Map<number, number>();
  readonly #query: Float32Array;
  readonly #similarities: Float32Array;
  #freed = false;

  /** @param live the slots that there are, all of them below `rows`. */
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

  /** This slot changed or went. */
  forget(slot: number): void {
    this.#changed.add(slot);
  }

  /** Recall@50; null when it was freed before the end. Frees what it used. */
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

  /** Ends it early. */
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
