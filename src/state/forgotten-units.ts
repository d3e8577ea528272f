import { LONGEST_WINDOW_MS, RECORD_GRACE_MS } from './observed/observed-decisions.ts';

const MINUTE_MS = 60_000;
/** So long outcomes of a decision can be learned, whatever its contract says. */
const KEPT_MS = LONGEST_WINDOW_MS + RECORD_GRACE_MS.learn;
/** More are not kept at a time; the oldest go first. */
const MOST_UNITS = 65_536;

export interface ForgottenUnitsState {
  readonly droppedThrough: number;
  readonly units: Uint32Array;
  readonly times: Float64Array;
}

/**
 * Keeps which units were forgotten, and when, as long as outcomes of earlier decisions can come in: they teach nothing any more. Where
 * a unit had to be dropped, outcomes of decisions from before that time teach nothing, whoever they came from.
 */
export class ForgottenUnits {
  /** The latest time of a unit that was dropped. */
  #droppedThrough = Number.NEGATIVE_INFINITY;
  /** When each was forgotten, in that order. */
  readonly #units = new Map<number, number>();

  /**
   * Notes that a unit is forgotten. Its decisions may have been made by a clock that is ahead; such a clock counts for a minute at most, so that one
   * that is wrong by years does not keep the unit from being learned from again.
   * @param at of the entry
   * @param clock of the fold
   */
  add(unit: number, at: number, clock: number): void {
    const through = Math.max(this.#units.get(unit) ?? at, Math.min(clock, at + MINUTE_MS));
    this.#units.delete(unit);
    this.#units.set(unit, through);
    if (this.#units.size > MOST_UNITS) this.#dropOldest();
  }

  /**
   * Returns whether a decision may have been made before its unit was forgotten; of one that is ahead of the clock of the fold nobody can tell.
   */
  has({ unit, at }: { readonly unit: number; readonly at: number }, clock: number): boolean {
    if (unit === 0) return false;
    const through = this.#units.get(unit);
    if (through === undefined) return at <= this.#droppedThrough;
    return at <= Math.max(through, this.#droppedThrough) || at > clock;
  }

  /** Drops the units of whose earlier decisions nothing can come in any more. @param at of an entry */
  expire(at: number): void {
    for (const through of this.#units.values()) {
      if (through + KEPT_MS >= at) return;
      this.#dropOldest();
    }
  }

  save(): ForgottenUnitsState {
    const units = Uint32Array.from(this.#units.keys());
    return {
      droppedThrough: this.#droppedThrough,
      units,
      times: Float64Array.from(this.#units.values()),
    };
  }

  restore({ droppedThrough, units, times }: ForgottenUnitsState): void {
    this.#droppedThrough = droppedThrough;
    for (const [i, unit] of units.entries()) this.#units.set(unit, times[i]);
  }

  #dropOldest(): void {
    for (const [unit, through] of this.#units) {
      this.#droppedThrough = Math.max(this.#droppedThrough, through);
      this.#units.delete(unit);
      return;
    }
  }
}
