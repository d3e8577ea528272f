import {
  CONTEXT_FEATURES,
  type ContextCandidate,
  type ContextMoment,
} from '../../bandit/ranking/context-features.ts';
import { type ContextRanker, type RankedItem, rankBySignals } from '../../bandit/ranking/context-ranker.ts';
import { hourOf, UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import { Bm25Index } from '../retrieval/bm25.ts';
import { tokenise } from '../retrieval/tokenise.ts';
import { reasonsOf } from './context-reasons.ts';
import type { StoredItem } from './item.ts';
import { type ItemVectors, quantise } from './item-record.ts';
import type { LoadedContext } from './user-contexts.ts';
import { localSeconds } from './user-signals.ts';

/** Items that the trees look at; a user may have 2,000. */
const PRESELECTED = 100;
/** Of each list by which they are preselected this many count, with k of reciprocal rank fusion. */
const [RANKED, PATIENCE] = [200, 60];
/** Items that were used in this time count as just used, in seconds. */
const JUST_USED = 15 * 60;

/**
 * How a score becomes the probability that an item is needed, σ(at + Σ weight·value), and from which probability on it is served. With the
 * model it was fitted to the best five of each query of the validation part of bench/context.ts and, as a model of queries that need nothing,
 * to as many that say all that they want ("convert 20 dollars to euros"). At .25, precision and recall of three items are .75 and .60 on the
 * test part, and a query that needs nothing gets .42 items; by the score alone they are .77, .62 and 1.31. Without a model scores say less.
 */
const BY_MODEL = { at: -3.6, score: 0.73, cosine: 4.39, mapped: 0.73, asked: 3.41, threshold: 0.25 };
const BY_SIGNALS = { at: -9.5, score: 100, cosine: 0, mapped: 0, asked: 0, threshold: 0.38 };

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

export interface ChosenItem {
  /** What decisions keep in place of the id. */
  readonly number: number;
  readonly id: string;
  readonly text: string;
  /** The estimated probability that the query needs it, 0…1. */
  readonly score: number;
  /** Why, in words. */
  readonly reasons: readonly string[];
  /** Its `CONTEXT_FEATURES`; NaN where nothing is known. */
  readonly features: Float32Array;
  readonly store: string;
  /** Its vector, by the embedder of the query; null: none. */
  readonly vector: Float32Array | null;
}

/**
 * Chooses the items of a user that a query needs, at most k, the best first (Context Tuning, §3): the best hundred by vector, words and
 * use are ranked by the model, or by signals alone where it was trained with another embedder. None, if none is likely enough. Pure.
 */
export function chooseContext(
  user: LoadedContext,
  query: ContextQuery,
  moment: Moment,
  k: number,
  ranker: ContextRanker | null,
): ChosenItem[] {
  if (k === 0 || user.items.length === 0) return [];
  const isComparable = query.embedding !== null && user.vectors.fingerprint === query.fingerprint;
  const embedding = isComparable ? query.embedding : null;
  const isRanked = ranker !== null && embedding !== null && ranker.embedder === query.fingerprint;
  const words = wordScores(user, query.tokens);
  const rows = preselected(user, embedding, words, moment);
  const candidates = Array.from(rows, (row) => candidateOf(user, row, words[row], moment));
  const asked: Omit<ContextMoment, 'mapped'> = {
    query: embedding,
    now: localSeconds(moment.now, moment.utcOffsetMinutes),
    ...{ place: moment.place, tools: moment.tools, recent: justUsed(user, moment) },
  };
  const ranked = isRanked ? ranker.rank(candidates, asked) : rankBySignals(candidates, asked);
  const scale = isRanked ? BY_MODEL : BY_SIGNALS;
  const chosen: ChosenItem[] = [];
  for (const one of ranked.slice(0, k)) {
    const score = probability(one, scale);
    if (score < scale.threshold) continue;
    chosen.push(chosenItem(user, rows[one.item], candidates[one.item], one, score, asked));
  }
  return chosen;
}

/** What is not known counts as 0. */
function probability({ score, features }: RankedItem, scale: typeof BY_MODEL): number {
  const known = (name: keyof typeof FEATURE): number => features[FEATURE[name]] || 0;
  const sum =
    scale.at +
    scale.score * score +
    scale.cosine * known('cosine') +
    scale.mapped * known('mapped product') +
    scale.asked * known('asked cosine');
  return 1 / (1 + Math.exp(-sum));
}

function chosenItem(
  user: LoadedContext,
  row: number,
  { usage, vector }: ContextCandidate,
  { features }: RankedItem,
  score: number,
  moment: Omit<ContextMoment, 'mapped'>,
): ChosenItem {
  const { id, text, store } = user.items[row];
  return {
    ...{ number: user.key.numberOf(id), id, text, store, score, vector },
    reasons: reasonsOf(features, usage, moment),
    features: Float32Array.from(features),
  };
}

/** BM25 among the items of the user, by row. */
function wordScores({ items }: LoadedContext, tokens: Uint32Array): Float64Array {
  let index = INDICES.get(items);
  if (index === undefined) {
    index = new Bm25Index();
    for (const [row, { text }] of items.entries()) index.put(row, tokenise(text));
    INDICES.set(items, index);
  }
  return index.search(tokens).scores;
}

/** As long as the items are in memory. */
const INDICES = new WeakMap<readonly StoredItem[], Bm25Index>();

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

/** Numbers that a policy reads of what was chosen: whether there is anything, how sure and how many, and of what kinds. */
export const POLICY_FEATURES = 16;
const KINDS = POLICY_FEATURES - 8;
const FEATURE = Object.fromEntries(CONTEXT_FEATURES.map((name, at) => [name, at])) as Record<
  (typeof CONTEXT_FEATURES)[number],
  number
>;

/** Returns `POLICY_FEATURES` numbers, 0…1, all 0 where nothing was chosen. Stores count at places that their names hash to. */
export function policyFeatures(chosen: readonly ChosenItem[]): Float32Array {
  const features = new Float32Array(POLICY_FEATURES);
  if (chosen.length === 0) return features;
  const [{ score, features: best }] = chosen;
  const known = (name: keyof typeof FEATURE): number => Math.min(1, Math.max(0, best[FEATURE[name]] || 0));
  features.set([
    1,
    score,
    1 - 1 / (1 + chosen.length),
    known('cosine'),
    known('its uses at this hour'),
    known('its uses on this weekday'),
    known('its uses with the tools'),
    known('share of all uses'),
  ]);
  const total = chosen.reduce((sum, one) => sum + one.score, 0);
  for (const { store, score: own } of chosen) features[8 + placeOf(store)] += own / total;
  return features.map((value) => Math.min(1, value));
}

function placeOf(store: string): number {
  let hash = 0;
  for (let i = 0; i < store.length; i++) hash = (Math.imul(hash, 31) + store.charCodeAt(i)) >>> 0;
  return hash % KINDS;
}
