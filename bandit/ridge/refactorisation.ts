import type { Kernels } from '../kernels/kernels.ts';
import { LoggedInverse } from './logged-inverse.ts';

/** Limits of the updates that are kept for replaying, in updates and in elements; beyond them the computation is abandoned. */
const MOST_MISSED = 4096;
const MOST_MISSED_ELEMENTS = 2 ** 21;
/** How far the new log begins beyond the old one: further than it can grow meanwhile. */
const LEAP = 2 ** 20;

/**
 * Computes A⁻¹ again from A, in another thread. A is copied, updates are kept meanwhile and replayed on the result, and then it
 * replaces the old inverse. That removes the rounding errors of tens of thousands of updates (relative 1e-11).
 */
export class Refactorisation {
  readonly size: number;
  /** A at the beginning, packed: the matrix that is to be inverted. */
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

  /** Updates since the beginning. */
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

  /** Replays at most this many updates. Returns the new A⁻¹ when all are replayed, null before. */
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

  /** Abandons the computation; the old A⁻¹ stays. */
  abandon(): void {
    this.#abandoned = true;
    this.#inverse?.free();
    this.#inverse = null;
    this.#rows.length = 0;
    this.#weights.length = 0;
  }
}
