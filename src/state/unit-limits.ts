const HOUR_MS = 60 * 60 * 1000;

/** How much learning weight each unit has put on each tool in the current hour. Unit 0 (none named) is free. */
export class UnitLimits {
  #hour = 0;
  readonly #spent = new Map<string, number>();

  /** True, and the weight is spent, if the unit may still teach this tool. */
  spend(unit: number, slot: number, weight: number, at: number, limit: number): boolean {
    if (unit === 0) return true;
    const hour = Math.floor(at / HOUR_MS);
    if (hour > this.#hour) {
      this.#hour = hour;
      this.#spent.clear();
    }
    const key = `${unit}/${slot}`;
    const spent = this.#spent.get(key) ?? 0;
    if (spent + weight > limit) return false;
    this.#spent.set(key, spent + weight);
    return true;
  }

  save(): { hour: number; spent: [string, number][] } {
    return { hour: this.#hour, spent: [...this.#spent] };
  }

  restore(saved: { hour: number; spent: [string, number][] }): void {
    this.#hour = saved.hour;
    for (const [key, weight] of saved.spent) this.#spent.set(key, weight);
  }
}
