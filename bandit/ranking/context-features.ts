import { product } from './semantic-map.ts';
import { hourOf, type ItemUsage, weekdayOf } from './usage-signals.ts';

/** Stores whose names have a meaning of their own; of any other name the feature is missing. */
const KNOWN_STORES = ['mail', 'calendar', 'google', 'notes', 'music', 'reminders', 'phone'];

/** Places among so many values are counted; sorting fewer takes longer. */
const MANY = 50;

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

export type ContextFeature = (typeof CONTEXT_FEATURES)[number];

/** The column of each feature. */
export const COLUMNS = Object.fromEntries(CONTEXT_FEATURES.map((name, at) => [name, at])) as Readonly<
  Record<ContextFeature, number>
>;

/** One item of a user's context, with what is known of it before the query. */
export interface ContextCandidate {
  readonly id: string;
  readonly store: string;
  readonly usage: ItemUsage;
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
  /** Returns the `product` of each candidate's vector with a query, NaN without one; absent: vectors are read one by one. */
  readonly products?: (query: Float32Array) => Float64Array;
  /** Seconds since 1970, as a clock shows where the user is. */
  readonly now: number;
  /** Where the user is, in the words that uses were noted with; null: not known. */
  readonly place: string | null;
  /** Tools that look right from the query alone, with weights that add up to at most 1. */
  readonly tools: ReadonlyMap<string, number>;
  /** Items that were used just now, in the same session. */
  readonly recent: readonly string[];
}

/** Numbers of each candidate that do not depend on the others: one per candidate. */
interface Known {
  readonly cosine: Float64Array;
  readonly mapped: Float64Array;
  readonly asked: Float64Array;
  /** Counted as of now. */
  readonly uses: Float64Array;
  readonly atHour: Float64Array;
  readonly atPlace: Float64Array;
  readonly withTools: Float64Array;
  /** Counted as of the last use. */
  readonly aroundHour: Float64Array;
  readonly besideTools: Float64Array;
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
  const known = knownOf(candidates, moment);
  const { cosine, mapped, asked, uses, atHour, atPlace, withTools, aroundHour, besideTools } = known;
  const everyone = Uint32Array.from(candidates.keys());
  const stores = new Map<string, number[]>();
  for (const at of everyone) {
    const own = stores.get(candidates[at].store);
    if (own === undefined) stores.set(candidates[at].store, [at]);
    else own.push(at);
  }
  const [allUses, allAtHour, allAtPlace, allWithTools] = [uses, atHour, atPlace, withTools].map((values) =>
    sumOf(values, everyone),
  );
  const [bestCosine, bestMapped] = [cosine, mapped].map((values) => values[best(values, everyone)]);
  const nearestAt = best(asked, everyone);
  const bestAsked = asked[nearestAt];
  const nearest = candidates[nearestAt] ?? null;
  const { now, place, recent } = moment;
  const weekday = weekdayOf(now);
  for (const [store, members] of stores) {
    const [storeCosine, storeMapped, storeAsked] = [cosine, mapped, asked].map(
      (values) => values[best(values, members)],
    );
    const storeAtHour = share(sumOf(atHour, members), allAtHour);
    const storeWithTools = share(sumOf(withTools, members), allWithTools);
    const [times, puts, lastUses] = [0, 1, 2].map(() => new Float64Array(members.length));
    for (let member = 0; member < members.length; member++) {
      const { at, put, usage } = candidates[members[member]];
      times[member] = at >= now ? at : Number.NaN;
      puts[member] = -put;
      lastUses[member] = -usage.lastUsed;
    }
    const [next, newest, lastUsed] = [places(times), places(puts), places(lastUses)];
    const code = KNOWN_STORES.indexOf(store);
    for (let member = 0; member < members.length; member++) {
      const at = members[member];
      const { id, usage, put, at: time, words } = candidates[at];
      let column = at * d;
      // In the order of CONTEXT_FEATURES.
      features[column++] = cosine[at];
      features[column++] = bestCosine - cosine[at];
      features[column++] = words;
      features[column++] = mapped[at];
      features[column++] = bestMapped - mapped[at];
      features[column++] = storeMapped;
      features[column++] = asked[at];
      features[column++] = bestAsked - asked[at];
      features[column++] = storeAsked;
      features[column++] = bestCosine - storeCosine;
      features[column++] = Math.log2(1 + uses[at]);
      features[column++] = share(uses[at], allUses);
      features[column++] = hours(now - usage.lastUsed);
      features[column++] = hours(now - put);
      features[column++] = hours(time - now);
      features[column++] = next[member];
      features[column++] = newest[member];
      features[column++] = lastUsed[member];
      features[column++] = members.length;
      features[column++] = share(aroundHour[at], usage.uses);
      features[column++] = share(atHour[at], allAtHour);
      features[column++] = share(usage.weekdays[weekday], usage.uses);
      features[column++] = share(onSuchDays(usage.weekdays, weekday), usage.uses);
      features[column++] = place === null ? Number.NaN : share(usage.places.get(place) ?? 0, usage.uses);
      features[column++] = share(atPlace[at], allAtPlace);
      features[column++] = storeAtHour;
      features[column++] = share(besideTools[at], usage.uses);
      features[column++] = storeWithTools;
      let withRecent = 0;
      for (let i = 0; i < recent.length; i++) withRecent += usage.items.get(recent[i]) ?? 0;
      features[column++] = share(withRecent, usage.uses);
      features[column++] =
        nearest === null || nearest.id === id
          ? Number.NaN
          : share(nearest.usage.items.get(id) ?? 0, nearest.usage.uses);
      features[column] = code < 0 ? Number.NaN : code;
    }
  }
  return features;
}

function knownOf(candidates: readonly ContextCandidate[], moment: ContextMoment): Known {
  const { query, mapped, now, place } = moment;
  const tools = [...moment.tools];
  const hour = hourOf(now);
  const [before, after] = [(hour + 23) % 24, (hour + 1) % 24];
  const n = candidates.length;
  const known: Known = {
    cosine: productsOf(candidates, query, moment),
    mapped: productsOf(candidates, mapped, moment),
    asked: new Float64Array(n).fill(Number.NaN),
    uses: new Float64Array(n),
    atHour: new Float64Array(n),
    atPlace: new Float64Array(n),
    withTools: new Float64Array(n),
    aroundHour: new Float64Array(n),
    besideTools: new Float64Array(n),
  };
  for (let at = 0; at < n; at++) {
    const { usage } = candidates[at];
    // Nothing is known of what was never used: all is 0.
    if (Number.isNaN(usage.lastUsed)) continue;
    const uses = usage.usesAt(now);
    // Counts are as old as the last use; this makes them of now.
    const aged = usage.uses > 0 ? uses / usage.uses : 0;
    const aroundHour = usage.hours[hour] + (usage.hours[before] + usage.hours[after]) / 2;
    let besideTools = 0;
    for (let i = 0; i < tools.length; i++) besideTools += tools[i][1] * (usage.tools.get(tools[i][0]) ?? 0);
    if (query !== null) known.asked[at] = usage.cosineWith(query);
    known.uses[at] = uses;
    known.atHour[at] = aged * aroundHour;
    known.atPlace[at] = place === null ? 0 : aged * (usage.places.get(place) ?? 0);
    known.withTools[at] = aged * besideTools;
    known.aroundHour[at] = aroundHour;
    known.besideTools[at] = besideTools;
  }
  return known;
}

/** NaN for all without a query, and for those without a vector. */
function productsOf(
  candidates: readonly ContextCandidate[],
  query: Float32Array | null,
  { products }: ContextMoment,
): Float64Array {
  if (query === null) return new Float64Array(candidates.length).fill(Number.NaN);
  if (products !== undefined) return products(query);
  return Float64Array.from(candidates, ({ vector }) =>
    vector === null ? Number.NaN : product(query, vector),
  );
}

function sumOf(values: Float64Array, members: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < members.length; i++) sum += values[members[i]];
  return sum;
}

/** The member with the largest value, the first one of equals; −1 if none has a value. */
function best(values: Float64Array, members: ArrayLike<number>): number {
  let at = -1;
  for (let i = 0; i < members.length; i++) {
    const value = values[members[i]];
    if (!Number.isNaN(value) && (at < 0 || value > values[at])) at = members[i];
  }
  return at;
}

/** Uses from Monday to Friday, or on Saturday and Sunday. */
function onSuchDays(uses: ArrayLike<number>, weekday: number): number {
  if (weekday === 0 || weekday === 6) return uses[0] + uses[6];
  return uses[1] + uses[2] + uses[3] + uses[4] + uses[5];
}

/** NaN where there is nothing to have a share of. */
function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : Number.NaN;
}

/** log₂(1 + hours), with the sign of the seconds; NaN stays NaN. */
function hours(seconds: number): number {
  return Math.sign(seconds) * Math.log2(1 + Math.abs(seconds) / 3600);
}

/** The place of each in the order of the values, the smallest first, from 0; NaN for a value of NaN. Equals share a place. */
function places(values: Float64Array): Float64Array {
  const n = values.length;
  const found = new Float64Array(n);
  const sorted = n > MANY ? values.slice().sort() : null;
  for (let i = 0; i < n; i++) {
    const value = values[i];
    if (Number.isNaN(value)) found[i] = Number.NaN;
    else if (sorted !== null) found[i] = lowerBound(sorted, value);
    else for (let j = 0; j < n; j++) found[i] += values[j] < value ? 1 : 0;
  }
  return found;
}

/** How many are smaller. */
function lowerBound(sorted: Float64Array, value: number): number {
  let [begin, end] = [0, sorted.length];
  while (begin < end) {
    const middle = (begin + end) >>> 1;
    // Not "≥", so that those of NaN, which come last, are not counted.
    if (sorted[middle] < value) begin = middle + 1;
    else end = middle;
  }
  return begin;
}
