import { Moments, type MomentsState } from './moments.ts';

/** Plain JSON; units in the order in which they came. */
export interface UnitTotalsState {
  readonly moments: MomentsState;
  readonly units: readonly string[];
  /** Row-major units × columns. */
  readonly totals: readonly number[];
}

/**
 * Statistics over units, not over decisions. A session or a user makes many decisions, and those resemble each other;
 * counting each as if it were independent makes every interval too narrow. Here a unit is one vector, the sums of its
 * columns so far, and it is replaced whenever the unit does something more.
 */
export class UnitTotals {
  readonly moments: Moments;
  readonly #totals = new Map<string, Float64Array>();

  constructor(columns: number, moments: Moments = new Moments(columns)) {
    this.moments = moments;
  }

  /** Units whose totals are still kept, and may therefore grow. */
  get open(): number {
    return this.#totals.size;
  }

  /**
   * Adds to the totals of a unit. `null` is a unit of its own that never comes back: the decision is the unit, and
   * nothing but the moments is kept.
   * @throws RangeError for NaN or ±∞; nothing changed then.
   */
  add(unit: string | null, values: ArrayLike<number>): void {
    const before = unit === null ? undefined : this.#totals.get(unit);
    if (before === undefined) {
      this.moments.add(values);
      // 0 + (−0) is 0: what is saved is JSON, which knows no −0.
      if (unit !== null)
        this.#totals.set(
          unit,
          Float64Array.from(values, (value) => 0 + value),
        );
      return;
    }
    const after = Float64Array.from(before, (total, i) => total + values[i]);
    this.moments.replace(before, after);
    before.set(after);
  }

  /**
   * Forgets the totals of a unit and keeps what it contributed. Bounds memory when units end, as sessions do; a unit
   * that comes back after that counts as a new one.
   */
  release(unit: string): void {
    this.#totals.delete(unit);
  }

  /** Nothing will be added any more: all totals are forgotten, and what they contributed is kept. */
  releaseAll(): void {
    this.#totals.clear();
  }

  save(): UnitTotalsState {
    const units = [...this.#totals.keys()];
    return {
      moments: this.moments.save(),
      units,
      totals: [...this.#totals.values()].flatMap((row) => [...row]),
    };
  }

  static load(state: UnitTotalsState): UnitTotals {
    const columns = state.moments.sums.length;
    const loaded = new UnitTotals(columns, Moments.load(state.moments));
    state.units.forEach((unit, i) => {
      loaded.#totals.set(unit, Float64Array.from(state.totals.slice(i * columns, (i + 1) * columns)));
    });
    return loaded;
  }
}
