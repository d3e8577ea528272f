/** Upper ends of the classes by own impressions; the last class is open. */
const CLASSES = [1, 20, 100] as const;

export interface ExposureShare {
  /** Class: this many impressions of its own or fewer; null: more than that. */
  readonly impressions: number | null;
  /** Times a tool of this class fitted a query. */
  readonly fitted: number;
  /** How often it was in the slate then; 0…1. */
  readonly share: number;
}

/** Follows certain tools from their first impression on: are they shown when they fit? */
export class Exposures {
  readonly #impressions: Map<string, number>;
  readonly #fitted = new Array<number>(CLASSES.length + 1).fill(0);
  readonly #shown = new Array<number>(CLASSES.length + 1).fill(0);

  constructor(followed: ReadonlySet<string>) {
    this.#impressions = new Map([...followed].map((name) => [name, 0]));
  }

  /** A slate was shown for a query that these tools fit. */
  count(shown: readonly string[], fitting: ReadonlySet<string>): void {
    if (this.#impressions.size === 0) return;
    for (const name of shown) {
      const impressions = this.#impressions.get(name);
      if (impressions !== undefined) this.#impressions.set(name, impressions + 1);
    }
    for (const name of fitting) {
      const impressions = this.#impressions.get(name);
      if (impressions === undefined) continue;
      const found = CLASSES.findIndex((end) => impressions <= end);
      const at = found < 0 ? CLASSES.length : found;
      this.#fitted[at]++;
      if (shown.includes(name)) this.#shown[at]++;
    }
  }

  shares(): ExposureShare[] {
    if (this.#impressions.size === 0) return [];
    return [...CLASSES, null].map((impressions, at) => ({
      impressions,
      fitted: this.#fitted[at],
      share: this.#fitted[at] === 0 ? 0 : this.#shown[at] / this.#fitted[at],
    }));
  }
}
