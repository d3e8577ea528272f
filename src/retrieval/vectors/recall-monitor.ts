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
