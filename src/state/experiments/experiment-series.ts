const HOUR_MS = 60 * 60 * 1000;
/** A month of hours. */
const KEPT_HOURS = 31 * 24;

/** Counts of one variant in one hour. */
export interface SeriesPoint {
  decisions: number;
  rewards: number;
  rewardSum: number;
  successes: number;
}

export interface SeriesHour {
  /** Hours since the epoch. */
  readonly hour: number;
  readonly variants: Readonly<Record<string, SeriesPoint>>;
}

export type SeriesState = readonly SeriesHour[];

/** Keeps counts by hour, for plots. */
export class ExperimentSeries {
  readonly #variants: readonly string[];
  #hours: SeriesHour[] = [];

  constructor(variants: readonly string[]) {
    this.#variants = variants;
  }

  hours(): readonly SeriesHour[] {
    return this.#hours;
  }

  /** Adds to the hour of this time; ms since the epoch. */
  add(variant: string, at: number, more: SeriesPoint): void {
    const point = this.#at(at).variants[variant];
    point.decisions += more.decisions;
    point.rewards += more.rewards;
    point.rewardSum += more.rewardSum;
    point.successes += more.successes;
  }

  save(): SeriesState {
    return this.#hours;
  }

  restore(hours: SeriesState): void {
    this.#hours = hours.map(({ hour, variants }) => ({ hour, variants: structuredClone(variants) }));
  }

  #at(time: number): SeriesHour {
    const hour = Math.floor(time / HOUR_MS);
    const known = this.#hours.findLast((other) => other.hour === hour);
    if (known !== undefined) return known;
    const empty = (): SeriesPoint => ({ decisions: 0, rewards: 0, rewardSum: 0, successes: 0 });
    const fresh = {
      hour,
      variants: Object.fromEntries(this.#variants.map((variant) => [variant, empty()])),
    };
    this.#hours.push(fresh);
    this.#hours.sort((a, b) => a.hour - b.hour);
    if (this.#hours.length > KEPT_HOURS) this.#hours.shift();
    return fresh;
  }
}
