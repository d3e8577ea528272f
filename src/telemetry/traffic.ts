const HOUR_MS = 60 * 60 * 1000;
const DAY_HOURS = 24;

/** What this process was asked in the last 24 hours, by hour; forgotten when it stops. */
export class Traffic {
  readonly #now: () => number;
  readonly #routed = new Map<string, Map<number, number>>();
  readonly #unknownDecisions = new Map<number, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  countRoute(catalog: string): void {
    const hours = this.#routed.get(catalog) ?? new Map<number, number>();
    this.#routed.set(catalog, hours);
    this.#count(hours, 1);
  }

  countUnknownDecisions(count: number): void {
    this.#count(this.#unknownDecisions, count);
  }

  routed(catalog: string): number {
    return this.#total(this.#routed.get(catalog));
  }

  unknownDecisions(): number {
    return this.#total(this.#unknownDecisions);
  }

  #count(hours: Map<number, number>, count: number): void {
    const hour = Math.floor(this.#now() / HOUR_MS);
    hours.set(hour, (hours.get(hour) ?? 0) + count);
    for (const old of hours.keys()) if (old <= hour - DAY_HOURS) hours.delete(old);
  }

  #total(hours: ReadonlyMap<number, number> = new Map()): number {
    const hour = Math.floor(this.#now() / HOUR_MS);
    let sum = 0;
    for (const [at, count] of hours) if (at > hour - DAY_HOURS) sum += count;
    return sum;
  }
}
