import type { ContextCandidate, ContextMoment } from '../../bandit/ranking/context-features.ts';
import { hourOf, UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import { type ItemVectors, quantise } from './item-record.ts';
import type { LoadedContext } from './user-contexts.ts';
import { localSeconds } from './user-signals.ts';

/** Items that the trees look at; a user may have 2,000. */
const PRESELECTED = 100;
/** Of each list by which they are preselected this many count, with k of reciprocal rank fusion. */
const [RANKED, PATIENCE] = [200, 60];
/** Items that were used in this time count as just used, in seconds. */
const JUST_USED = 15 * 60;

/** The query as items are compared with it. */
export interface ContextQuery {
  /** Of unit length; null: not embedded. */
  readonly embedding: Float32Array | null;
  /** Of the embedder that made it. */
  readonly fingerprint: string | null;
  /** Its terms, of `tokenise`. */
  readonly tokens: Uint32Array;
}

/** When and where it is asked. */
export interface Moment {
  /** ms since the epoch. */
  readonly now: number;
  /** Of the user's clock, by which habits are read. */
  readonly utcOffsetMinutes: number;
  /** Where the user is, in the words of uses; null: not known. */
  readonly place: string | null;
  /** Tools that look right from the query alone, with weights that add up to at most 1. */
  readonly tools: ReadonlyMap<string, number>;
}

/** What a ranker of context is given. */
export interface ContextCandidates {
  /** Rows of the user's items: candidate i is item `rows[i]`. */
  readonly rows: ArrayLike<number>;
  readonly candidates: readonly ContextCandidate[];
  readonly moment: Omit<ContextMoment, 'mapped'>;
}

/**
 * Returns the items of a user that are ranked for a query, at most 100: all, or the best by vector, words and use, in the order of the
 * items. Of a query whose vector another embedder made, the words alone are read. Pure, so that features of a past query can be derived
 * again from what is known of the user.
 */
export function contextCandidates(
  user: LoadedContext,
  query: ContextQuery,
  moment: Moment,
): ContextCandidates {
  const isComparable = query.embedding !== null && user.vectors.fingerprint === query.fingerprint;
  const embedding = isComparable ? query.embedding : null;
  const words = user.index.wordScores(query.tokens);
  const rows = preselected(user, embedding, words, moment);
  return {
    rows,
    candidates: Array.from(rows, (row) => candidateOf(user, row, words[row], moment)),
    moment: {
      query: embedding,
      now: localSeconds(moment.now, moment.utcOffsetMinutes),
      place: moment.place,
      tools: moment.tools,
      recent: justUsed(user, moment),
    },
  };
}

/** Rows of items, in order; all of them, unless they are many: then the best by reciprocal ranks of what is cheap to compare. */
function preselected(
  user: LoadedContext,
  embedding: Float32Array | null,
  words: Float64Array,
  { now, utcOffsetMinutes }: Moment,
): ArrayLike<number> {
  const { items, vectors, signals } = user;
  const n = items.length;
  if (n <= PRESELECTED) return Uint32Array.from(items.keys());
  const hour = hourOf(localSeconds(now, utcOffsetMinutes));
  const [uses, then, lastUsed, near] = [0, 0, 0, 0].map(() => new Float64Array(n));
  for (let row = 0; row < n; row++) {
    const { id, at = 0 } = items[row];
    const usage = signals.of(id);
    if (usage !== undefined) {
      uses[row] = usage.uses;
      then[row] = usage.hours[hour];
      lastUsed[row] = usage.lastUsed;
    }
    // What comes next, and what came last.
    if (at !== 0) near[row] = 1 / (1 + Math.abs(at - now));
  }
  const lists = [words.subarray(0, n), uses, then, lastUsed, near];
  if (embedding !== null) lists.push(roughCosines(vectors, embedding));
  const ranks = new Float64Array(n);
  for (const values of lists) {
    for (const [place, row] of bestRows(values, RANKED).entries()) ranks[row] += 1 / (PATIENCE + place + 1);
  }
  return bestRows(ranks, PRESELECTED).sort();
}

/** Rows of the largest values above 0, at most so many, the best first; of equals the first. */
function bestRows(values: Float64Array, most: number): Uint32Array {
  const n = values.length;
  // Numbers are sorted many times faster than rows by their numbers, and only the best need an order.
  const least = n > most ? values.toSorted()[n - most] : 0;
  const rows: number[] = [];
  for (let row = 0; row < n; row++) if (values[row] > 0 && values[row] >= least) rows.push(row);
  rows.sort((a, b) => values[b] - values[a] || a - b);
  return Uint32Array.from(rows.slice(0, most));
}

/** Cosines of the items with the query in eight bits, up to a factor; 0 where there is no vector. */
function roughCosines({ dimensions, values, scales }: ItemVectors, query: Float32Array): Float64Array {
  const rough = new Int8Array(dimensions);
  quantise(query, rough);
  const cosines = new Float64Array(scales.length);
  for (let row = 0, from = 0; row < cosines.length; row++, from += dimensions) {
    let [first, second, third, fourth] = [0, 0, 0, 0];
    let i = 0;
    for (; i + 4 <= dimensions; i += 4) {
      first = (first + Math.imul(values[from + i], rough[i])) | 0;
      second = (second + Math.imul(values[from + i + 1], rough[i + 1])) | 0;
      third = (third + Math.imul(values[from + i + 2], rough[i + 2])) | 0;
      fourth = (fourth + Math.imul(values[from + i + 3], rough[i + 3])) | 0;
    }
    for (; i < dimensions; i++) first = (first + Math.imul(values[from + i], rough[i])) | 0;
    cosines[row] = (first + second + third + fourth) * scales[row];
  }
  return cosines;
}

/** Of all items that were never used: making one for each takes as long as its features. Nothing of it is changed. */
const UNUSED = new UsageSignals();

function candidateOf(
  { items, vectors, signals }: LoadedContext,
  row: number,
  words: number,
  { now, utcOffsetMinutes }: Moment,
): ContextCandidate {
  const { id, store, at, putAt } = items[row];
  return {
    ...{ id, store, words },
    at: at === undefined ? Number.NaN : localSeconds(at, utcOffsetMinutes),
    // Mails and calls come when they take place, and may be put long after.
    put: localSeconds(at !== undefined && at <= now ? at : putAt, utcOffsetMinutes),
    usage: signals.of(id) ?? UNUSED,
    vector: vectorOf(vectors, row),
  };
}

function justUsed({ signals }: LoadedContext, { now, utcOffsetMinutes }: Moment): string[] {
  const from = localSeconds(now, utcOffsetMinutes) - JUST_USED;
  return signals.newest >= from ? [...signals.used()].filter((id) => signals.of(id)!.lastUsed >= from) : [];
}

function vectorOf({ dimensions, values, scales }: ItemVectors, row: number): Float32Array | null {
  if (!(scales[row] > 0)) return null;
  const vector = new Float32Array(dimensions);
  for (let i = 0; i < dimensions; i++) vector[i] = scales[row] * values[row * dimensions + i];
  return vector;
}
