import type { Kernels } from '../kernels/kernels.ts';
import { LoggedInverse } from './logged-inverse.ts';

/** What is kept for replaying, in updates and in elements; more, and A⁻¹ is better computed another time. */
const MOST_MISSED = 4096;
const MOST_MISSED_ELEMENTS = 2 ** 21;
/** How far the new log begins beyond the old one: further than it can grow meanwhile. */
const LEAP = 2 ** 20;

/**
 * A⁻¹ computed anew from A, somewhere else and without haste: A is copied, updates that come meanwhile are kept
 * and replayed on the answer, and then it takes the place of the old one. Rounding errors of tens of thousands
 * of updates (relative 1e-11) end there.
 */
export class Refactorisation {
  readonly size: number;
  /** A as it was at the beginning, packed: what is to be inverted. */
  readonly matrix: Float64Array;
  readonly #kernels: Kernels;
  readonly #rows: Float64Array[] = [];
  readonly #weights: number[] = [];
  #inverse: LoggedInverse | null = null;
  #replayed = 0;
  #abandoned = false;

  constructor(kernels: Kernels, size: number, matrix: Float64Array) {
    this.#kernels = kernels;
    this.size = size;
    this.matrix = matrix;
  }

  get abandoned(): boolean {
    return this.#abandoned;
  }

  /** Updates that came after the beginning. */
  get missed(): number {
    return this.#rows.length;
  }

  /** A += w·xxᵀ, after the beginning. */
  record(x: Float64Array, weight: number): void {
    if (this.#abandoned) return;
    if (this.#rows.length >= Math.min(MOST_MISSED, MOST_MISSED_ELEMENTS / this.size)) {
      this.abandon();
    } else {
      this.#rows.push(x.slice());
      this.#weights.push(weight);
    }
  }

  /** The answer: A⁻¹ of `matrix`, packed. `head` is where the log of the old one is now. */
  receive(inverse: Float64Array, head: number): void {
    if (this.#abandoned) return;
    this.#inverse = new LoggedInverse(this.#kernels, this.size, head + LEAP);
    this.#inverse.replace(inverse);
  }

  /** Replays at most this many updates. Answers the new A⁻¹ once it has them all, null before. */
  replay(most: number): LoggedInverse | null {
    if (this.#inverse === null) return null;
    const end = Math.min(this.#rows.length, this.#replayed + most);
    while (this.#replayed < end) {
      const place = this.#replayed++;
      if (Number.isNaN(this.#inverse.add(this.#rows[place], this.#weights[place]))) {
        this.abandon();
        return null;
      }
    }
    return this.#replayed === this.#rows.length ? this.#inverse : null;
  }

  /** Gives up; the old A⁻¹ stays. */
  abandon(): void {
    this.#abandoned = true;
    this.#inverse?.free();
    this.#inverse = null;
    this.#rows.length = 0;
  }
}
