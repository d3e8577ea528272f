/** A unit that may still get decisions: its variant, and when it is taken to have ended, ms since the epoch. */
export type OpenUnit = readonly [unit: string, variant: string, until: number];

/** So many are remembered per experiment; the one that was seen least recently is dropped first. */
export const MAX_OPEN_UNITS = 100_000;

/**
 * Keeps the units whose totals an experiment still holds, those seen least recently first, and bounds their number. A unit
 * that appears again after it was dropped counts as another one.
 */
export class OpenUnits {
  readonly #units = new Map<string, { variant: string; until: number }>();

  get size(): number {
    return this.#units.size;
  }

  /** Remembers that this unit was seen; `release` is called for one that is dropped for it. */
  touch(
    unit: string,
    variant: string,
    until: number,
    release: (unit: string, variant: string) => void,
  ): void {
    const known = this.#units.get(unit);
    this.#units.delete(unit);
    this.#units.set(unit, { variant, until: Math.max(until, known?.until ?? 0) });
    if (this.#units.size <= MAX_OPEN_UNITS) return;
    const [oldest, { variant: of }] = this.#units.entries().next().value!;
    this.#units.delete(oldest);
    release(oldest, of);
  }

  /** Drops units that have ended. They are nearly in the order of their ends, so it looks at few. */
  expire(clock: number, release: (unit: string, variant: string) => void): void {
    for (const [unit, { variant, until }] of this.#units) {
      if (until >= clock) return;
      this.#units.delete(unit);
      release(unit, variant);
    }
  }

  /** Drops the units whose keys begin with one of these prefixes, calls `release` for each, and returns how many there were. */
  forget(prefixes: readonly string[], release: (unit: string, variant: string) => void): number {
    let forgotten = 0;
    for (const [unit, { variant }] of [...this.#units]) {
      if (!prefixes.some((prefix) => unit.startsWith(prefix))) continue;
      this.#units.delete(unit);
      release(unit, variant);
      forgotten++;
    }
    return forgotten;
  }

  clear(): void {
    this.#units.clear();
  }

  save(): OpenUnit[] {
    return [...this.#units].map(([unit, { variant, until }]) => [unit, variant, until]);
  }

  restore(units: readonly OpenUnit[]): void {
    this.#units.clear();
    for (const [unit, variant, until] of units) this.#units.set(unit, { variant, until });
  }
}
