import type { RecalledCase } from '../policy.ts';

/** The best of many offers with a positive value, in whatever order they come. Ties: lower place first. */
export class NearestCases {
  private readonly places: Int32Array;
  private readonly values: Float64Array;
  private readonly limit: number;
  private found = 0;

  constructor(limit: number) {
    this.limit = limit;
    this.places = new Int32Array(limit);
    this.values = new Float64Array(limit);
  }

  /** What an offer must not fall below. */
  get bar(): number {
    return this.found < this.limit ? 0 : this.values[this.limit - 1];
  }

  /** Each place at most once. */
  offer(place: number, value: number): void {
    if (!(value > 0)) return;
    const { places, values, limit } = this;
    const last = limit - 1;
    if (this.found === limit && (value < values[last] || (value === values[last] && place > places[last])))
      return;
    let at = this.found < limit ? this.found++ : last;
    for (; at > 0; at--) {
      const before = values[at - 1];
      if (before > value || (before === value && places[at - 1] < place)) break;
      values[at] = before;
      places[at] = places[at - 1];
    }
    values[at] = value;
    places[at] = place;
  }

  list(): RecalledCase[] {
    const { places, values } = this;
    return Array.from({ length: this.found }, (_, at) => ({ caseId: places[at], similarity: values[at] }));
  }
}
