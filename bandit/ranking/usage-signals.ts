import { product } from './semantic-map.ts';

/** Seconds after which a use counts half. */
const HALF_LIFE = 30 * 86_400;
/** Places, tools and other items that are counted per item; the rarest makes room. */
const MOST_COUNTED = 16;

/** One use of an item: it was part of what answered a query. */
export interface ItemUse {
  /** Seconds since 1970, as a clock shows where the user is. */
  readonly time: number;
  /** Where the user was, in the caller's words; null: not known. */
  readonly place: string | null;
  /** Tools that were called. */
  readonly tools: readonly string[];
  /** Other items that were used with it. */
  readonly items: readonly string[];
  /** The embedding of the query, of unit length; null: none. */
  readonly query: Float32Array | null;
}

/**
 * How one item was used, as its features read it. Counts are in any unit, the same for all of them. Hours are 24, weekdays 7 from
 * Sunday.
 */
export interface ItemUsage {
  readonly uses: number;
  /** Seconds; NaN: never. */
  readonly lastUsed: number;
  readonly hours: ArrayLike<number>;
  readonly weekdays: ArrayLike<number>;
  readonly places: ReadonlyMap<string, number>;
  readonly tools: ReadonlyMap<string, number>;
  readonly items: ReadonlyMap<string, number>;
  /** The cosine of a query with the sum of those that it was used for; NaN: there are none. */
  cosineWith(query: Float32Array): number;
  /** Uses, each counted by its age at `now`, in seconds. */
  usesAt(now: number): number;
}

/**
 * What is known about how one item is used: how often, when, where, with which tools and items, for which queries. Every count halves
 * in 30 days, so that habits that were given up fade. Bounded: 16 places, tools and items each. Deterministic; the same uses in the
 * same order give the same bits. A use from before the last one counts in full and fades nothing.
 */
export class UsageSignals implements ItemUsage {
  /** Uses, each counted by its age at the last use. */
  uses = 0;
  /** Seconds; NaN: never used. */
  lastUsed = Number.NaN;
  /** Uses by hour of the day, 24, and by day of the week, 7, from Sunday. */
  readonly hours = new Float64Array(24);
  readonly weekdays = new Float64Array(7);
  readonly places = new Map<string, number>();
  readonly tools = new Map<string, number>();
  readonly items = new Map<string, number>();
  /** The sum of the queries it was used for; null: none yet. */
  queries: Float32Array | null = null;
  /** Of that sum; null: to be computed. */
  #length: number | null = null;

  /** @throws RangeError when the time is not finite; nothing is noted then */
  note({ time, place, tools, items, query }: ItemUse): void {
    if (!Number.isFinite(time)) throw new RangeError(`A use has a finite time, not ${time}.`);
    this.#fade(time);
    this.#length = null;
    this.uses++;
    this.hours[hourOf(time)]++;
    this.weekdays[weekdayOf(time)]++;
    if (place !== null) count(this.places, place);
    for (const tool of tools) count(this.tools, tool);
    for (const item of items) count(this.items, item);
    if (query === null) return;
    this.queries ??= new Float32Array(query.length);
    for (let i = 0; i < query.length; i++) this.queries[i] += query[i];
  }

  /** Uses, each counted by its age at `now`, which may be before the last of them. */
  usesAt(now: number): number {
    return this.uses * keptOver(now - this.lastUsed);
  }

  cosineWith(query: Float32Array): number {
    const { queries } = this;
    if (queries === null) return Number.NaN;
    this.#length ??= Math.sqrt(product(queries, queries));
    return this.#length > 0 ? product(query, queries) / this.#length : Number.NaN;
  }

  #fade(time: number): void {
    const kept = keptOver(time - this.lastUsed);
    this.lastUsed = Number.isNaN(this.lastUsed) ? time : Math.max(this.lastUsed, time);
    if (kept === 1) return;
    this.uses *= kept;
    for (const counts of [this.hours, this.weekdays, this.queries ?? []]) {
      for (let i = 0; i < counts.length; i++) counts[i] *= kept;
    }
    for (const counts of [this.places, this.tools, this.items]) {
      for (const [name, uses] of counts) counts.set(name, uses * kept);
    }
  }
}

/** 0…23. */
export function hourOf(time: number): number {
  return Math.floor(remainder(time, 86_400) / 3600);
}

/** 0…6, from Sunday. */
export function weekdayOf(time: number): number {
  return remainder(Math.floor(time / 86_400) + 4, 7);
}

function remainder(value: number, of: number): number {
  return ((value % of) + of) % of;
}

/** 1 for what is now, yet to come, or of unknown age. */
function keptOver(seconds: number): number {
  return seconds > 0 ? 2 ** (-seconds / HALF_LIFE) : 1;
}

function count(counts: Map<string, number>, name: string): void {
  if (!counts.has(name) && counts.size >= MOST_COUNTED) {
    let [rarest, least] = ['', Number.POSITIVE_INFINITY];
    for (const [one, uses] of counts) if (uses < least) [rarest, least] = [one, uses];
    counts.delete(rarest);
  }
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
