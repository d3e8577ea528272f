import { product } from './semantic-map.ts';
import { hourOf, type UsageSignals, weekdayOf } from './usage-signals.ts';

/** Stores whose names have a meaning of their own; of any other name the feature is missing. */
const KNOWN_STORES = ['mail', 'calendar', 'google', 'notes', 'music', 'reminders', 'phone'];

/**
 * What an item of a user's context is judged by, in the order of the columns. NaN where nothing is known. Shares are 0…1; "hour" is
 * the hour of the query with half of the one before and after. Gaps are below the best candidate, so 0 is the best.
 */
export const CONTEXT_FEATURES = [
  // Semantic: the query beside the text of the item, and beside the queries that it was used for.
  'cosine',
  'cosine gap',
  'words',
  'mapped product',
  'mapped gap',
  'best mapped product of its store',
  'asked cosine',
  'asked gap',
  'best asked cosine of its store',
  'gap of its store',
  // Numerical: log₂(1 + uses); hours as log₂(1 + h), before now negative; places in an order from 0.
  'uses',
  'share of all uses',
  'hours since its use',
  'hours since it was put',
  'hours until its time',
  'place among what comes next in its store',
  'place among the newest of its store',
  'place among the last used of its store',
  'items of its store',
  // Habitual: of the uses of this item, and of all uses then or there, those of this item.
  'its uses at this hour',
  'uses at this hour that are its',
  'its uses on this weekday',
  'its uses on such days',
  'its uses at this place',
  'uses at this place that are its',
  'uses at this hour in its store',
  // Correlation: with tools that look right for the query, with items that were just used, with the item asked for most alike.
  'its uses with the tools',
  'uses with the tools in its store',
  'its uses with recent items',
  'uses of the nearest that are with it',
  // Categorical.
  'store',
] as const;

/** One item of a user's context, with what is known of it before the query. */
export interface ContextCandidate {
  readonly id: string;
  readonly store: string;
  readonly usage: UsageSignals;
  /** When it was put, in seconds as a clock shows where the user is. */
  readonly put: number;
  /** When what it is about takes place, likewise; NaN: at no time. */
  readonly at: number;
  /** The embedding of its text, of unit length; null: none. */
  readonly vector: Float32Array | null;
  /** Its BM25 score, 0…. */
  readonly words: number;
}

/** The query, and what surrounds it. */
export interface ContextMoment {
  /** Of unit length; null: not embedded. */
  readonly query: Float32Array | null;
  /** The query as a `SemanticMap` maps it; null: without one. */
  readonly mapped: Float32Array | null;
  /** Seconds since 1970, as a clock shows where the user is. */
  readonly now: number;
  /** Where the user is, in the words that uses were noted with; null: not known. */
  readonly place: string | null;
  /** Tools that look right from the query alone, with weights that add up to at most 1. */
  readonly tools: ReadonlyMap<string, number>;
  /** Items that were used just now, in the same session. */
  readonly recent: readonly string[];
}

/** What is computed of one candidate before it is compared with the others. */
interface Known {
  readonly cosine: number;
  readonly mapped: number;
  readonly uses: number;
  readonly asked: number;
  readonly atHour: number;
  readonly atPlace: number;
  readonly withTools: number;
}

/**
 * Returns the features of all candidates of one query, n × d row by row; O(n log n). Pure.
 * @param candidates all of one user, from all stores: shares and places are among these
 */
export function contextFeatures(
  candidates: readonly ContextCandidate[],
  moment: ContextMoment,
): Float64Array {
  const d = CONTEXT_FEATURES.length;
  const features = new Float64Array(candidates.length * d);
  const known = candidates.map((candidate) => knownOf(candidate, moment));
  const whole = totalsOf(known);
  const stores = new Map<string, number[]>();
  for (const [at, { store }] of candidates.entries()) {
    const own = stores.get(store);
    if (own === undefined) stores.set(store, [at]);
    else own.push(at);
  }
  const bestCosine = best(known.map(({ cosine }) => cosine));
  const bestMapped = best(known.map(({ mapped }) => mapped));
  const bestAsked = best(known.map(({ asked }) => asked));
  const nearest = bestAsked.at < 0 ? null : candidates[bestAsked.at];
  const { now } = moment;
  for (const [store, members] of stores) {
    const ofStore = totalsOf(members.map((at) => known[at]));
    const storeCosine = best(members.map((at) => known[at].cosine)).value;
    const storeMapped = best(members.map((at) => known[at].mapped)).value;
    const storeAsked = best(members.map((at) => known[at].asked)).value;
    const next = places(members, (at) => (candidates[at].at >= now ? candidates[at].at : Number.NaN));
    const newest = places(members, (at) => -candidates[at].put);
    const lastUsed = places(members, (at) => -candidates[at].usage.lastUsed);
    const code = KNOWN_STORES.indexOf(store);
    for (const [place, at] of members.entries()) {
      const { id, usage, put, at: time, words } = candidates[at];
      const own = known[at];
      features.set(
        [
          own.cosine,
          bestCosine.value - own.cosine,
          words,
          own.mapped,
          bestMapped.value - own.mapped,
          storeMapped,
          own.asked,
          bestAsked.value - own.asked,
          storeAsked,
          bestCosine.value - storeCosine,
          Math.log2(1 + own.uses),
          share(own.uses, whole.uses),
          hours(now - usage.lastUsed),
          hours(now - put),
          hours(time - now),
          next[place],
          newest[place],
          lastUsed[place],
          members.length,
          share(aroundHour(usage.hours, now), usage.uses),
          share(own.atHour, whole.atHour),
          share(usage.weekdays[weekdayOf(now)], usage.uses),
          share(onSuchDays(usage.weekdays, now), usage.uses),
          moment.place === null ? Number.NaN : share(usage.places.get(moment.place) ?? 0, usage.uses),
          share(own.atPlace, whole.atPlace),
          share(ofStore.atHour, whole.atHour),
          share(sumOver(usage.tools, moment.tools), usage.uses),
          share(ofStore.withTools, whole.withTools),
          share(
            moment.recent.reduce((sum, item) => sum + (usage.items.get(item) ?? 0), 0),
            usage.uses,
          ),
          nearest === null || nearest.id === id
            ? Number.NaN
            : share(nearest.usage.items.get(id) ?? 0, nearest.usage.uses),
          code < 0 ? Number.NaN : code,
        ],
        at * d,
      );
    }
  }
  return features;
}

function knownOf({ usage, vector }: ContextCandidate, moment: ContextMoment): Known {
  const { query, mapped, now, place, tools } = moment;
  const uses = usage.usesAt(now);
  // Counts are as old as the last use; this makes them of now.
  const aged = usage.uses > 0 ? uses / usage.uses : 0;
  return {
    cosine: query === null || vector === null ? Number.NaN : product(query, vector),
    mapped: mapped === null || vector === null ? Number.NaN : product(mapped, vector),
    uses,
    asked: query === null || usage.queries === null ? Number.NaN : cosineOf(query, usage.queries),
    atHour: aged * aroundHour(usage.hours, now),
    atPlace: place === null ? 0 : aged * (usage.places.get(place) ?? 0),
    withTools: aged * sumOver(usage.tools, tools),
  };
}

function totalsOf(all: readonly Known[]): Omit<Known, 'cosine' | 'mapped' | 'asked'> {
  const sum = (value: (one: Known) => number): number => all.reduce((total, one) => total + value(one), 0);
  return {
    uses: sum(({ uses }) => uses),
    atHour: sum(({ atHour }) => atHour),
    atPlace: sum(({ atPlace }) => atPlace),
    withTools: sum(({ withTools }) => withTools),
  };
}

/** Uses at this hour of the day, with half of those an hour earlier and later. */
function aroundHour(uses: Float64Array, now: number): number {
  const hour = hourOf(now);
  return uses[hour] + (uses[(hour + 23) % 24] + uses[(hour + 1) % 24]) / 2;
}

/** Uses from Monday to Friday, or on Saturday and Sunday. */
function onSuchDays(uses: Float64Array, now: number): number {
  const isWeekend = (day: number): boolean => day === 0 || day === 6;
  const such = isWeekend(weekdayOf(now));
  return uses.reduce((sum, count, day) => (isWeekend(day) === such ? sum + count : sum), 0);
}

function sumOver(counts: ReadonlyMap<string, number>, weights: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const [name, weight] of weights) sum += weight * (counts.get(name) ?? 0);
  return sum;
}

/** NaN where there is nothing to have a share of. */
function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : Number.NaN;
}

/** log₂(1 + hours), with the sign of the seconds; NaN stays NaN. */
function hours(seconds: number): number {
  return Math.sign(seconds) * Math.log2(1 + Math.abs(seconds) / 3600);
}

/** The largest value and where it is, the first one of equals; NaN and −1 if there is none. */
function best(values: readonly number[]): { readonly value: number; readonly at: number } {
  let at = -1;
  for (const [i, value] of values.entries()) {
    if (!Number.isNaN(value) && (at < 0 || value > values[at])) at = i;
  }
  return { value: at < 0 ? Number.NaN : values[at], at };
}

/** The place of each member in the order of its value, the smallest first, from 0; NaN for a value of NaN. Equals share a place. */
function places(members: readonly number[], value: (at: number) => number): number[] {
  const values = members.map(value);
  const sorted = Float64Array.from(values).sort();
  return values.map((one) => (Number.isNaN(one) ? Number.NaN : sorted.indexOf(one)));
}

function cosineOf(query: Float32Array, sum: Float32Array): number {
  const length = Math.sqrt(product(sum, sum));
  return length > 0 ? product(query, sum) / length : Number.NaN;
}
