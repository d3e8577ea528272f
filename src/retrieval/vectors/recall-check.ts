import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kernels } from '../../../bandit/kernels/kernels.ts';
import type { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { BestSlots } from '../best-slots.ts';
import { COMPARED, recallOf } from './recall-monitor.ts';

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
 * Compares what one search found with all there is, little by little, so that nobody waits for it. What changes
 * meanwhile counts on neither side.
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
