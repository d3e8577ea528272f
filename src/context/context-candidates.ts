import type { ContextCandidate, ContextMoment } from '../../bandit/ranking/context-features.ts';
import { bestRows } from '../../bandit/ranking/reciprocal-rank-fusion.ts';
import { hourOf, UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import type { ItemVectors } from './item-record.ts';
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

/** How each item was used, by row. */
type Usages = readonly (UsageSignals | undefined)[];

/** What a ranker of context is given. */
export interface ContextCandidates {
  /** Rows of the user's items: candidate i is item `rows[i]`. */
  readonly rows: Uint32Array;
  readonly candidates: readonly ContextCandidate[];
  readonly moment: Omit<ContextMoment, 'mapped'>;
}

/**
 * Returns the items of a user that are ranked for a query, at most 100: all, or the best by vector, words and use, in the order of the
 * items. Of a query whose vector another embedder made, the words alone are read, and no item has a vector. Pure, so that features of a past query can be derived
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
  const usages = user.index.usages(user.signals);
  const rows = preselected(user, embedding, words, usages, moment);
  return {
    rows,
    candidates: candidatesOf(user, rows, words, usages, moment, isComparable),
    moment: {
      query: embedding,
      products: (to) => user.index.products(rows, to),
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
  usages: Usages,
  { now, utcOffsetMinutes }: Moment,
): Uint32Array {
  const { items, index } = user;
  const n = items.length;
  if (n <= PRESELECTED) return Uint32Array.from(items.keys());
  const hour = hourOf(localSeconds(now, utcOffsetMinutes));
  const uses = new Float64Array(n);
  const then = new Float64Array(n);
  const lastUsed = new Float64Array(n);
  for (let row = 0; row < n; row++) {
    const usage = usages[row];
    if (usage === undefined) continue;
    uses[row] = usage.uses;
    then[row] = usage.hours[hour];
    lastUsed[row] = usage.lastUsed;
  }
  const near = new Float64Array(n);
  const { times } = index;
  // What comes next, and what came last.
  for (let row = 0; row < n; row++) if (times[row] !== 0) near[row] = 1 / (1 + Math.abs(times[row] - now));
  const lists = [words, uses, then, lastUsed, near];
  if (embedding !== null) lists.push(index.roughCosines(embedding));
  const sums = new Float64Array(n);
  for (const values of lists) {
    const { rows, places } = bestRows(values, RANKED);
    for (let i = 0; i < rows.length; i++) sums[rows[i]] += 1 / (PATIENCE + places[i] + 1);
  }
  return bestRows(sums, PRESELECTED).rows;
}

/** Of all items that were never used: making one for each takes as long as its features. Nothing of it is changed. */
const UNUSED = new UsageSignals();

function candidatesOf(
  { items, vectors }: LoadedContext,
  rows: Uint32Array,
  words: Float64Array,
  usages: Usages,
  { now, utcOffsetMinutes }: Moment,
  isComparable: boolean,
): ContextCandidate[] {
  const offset = utcOffsetMinutes * 60;
  const candidates: ContextCandidate[] = [];
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at];
    const { id, store, at: time = Number.NaN, putAt } = items[row];
    // Mails and calls come when they take place, and may be put long after.
    const put = (time <= now ? time : putAt) / 1000 + offset;
    const usage = usages[row] ?? UNUSED;
    const known = { id, store, words: words[row], at: time / 1000 + offset, put, usage };
    candidates.push(new Candidate(known, isComparable ? vectors : null, row));
  }
  return candidates;
}

/**
 * Makes its vector where one is asked for: all but those that are chosen are compared where they are. A class, since V8 makes an
 * object literal with a getter a dictionary, and keeps the getter until the next collection of the whole heap.
 */
class Candidate implements ContextCandidate {
  readonly id: string;
  readonly store: string;
  readonly words: number;
  readonly at: number;
  readonly put: number;
  readonly usage: UsageSignals;
  readonly #vectors: ItemVectors | null;
  readonly #row: number;

  constructor(known: Omit<Candidate, 'vector'>, vectors: ItemVectors | null, row: number) {
    this.id = known.id;
    this.store = known.store;
    this.words = known.words;
    this.at = known.at;
    this.put = known.put;
    this.usage = known.usage;
    this.#vectors = vectors;
    this.#row = row;
  }

  get vector(): Float32Array | null {
    return this.#vectors === null ? null : vectorOf(this.#vectors, this.#row);
  }
}

function justUsed({ signals }: LoadedContext, { now, utcOffsetMinutes }: Moment): string[] {
  const from = localSeconds(now, utcOffsetMinutes) - JUST_USED;
  return signals.newest >= from ? [...signals.used()].filter((id) => signals.of(id)!.lastUsed >= from) : [];
}

function vectorOf({ dimensions, values, scales }: ItemVectors, row: number): Float32Array | null {
  const scale = scales[row];
  if (!(scale > 0)) return null;
  return Float32Array.from(
    values.subarray(row * dimensions, (row + 1) * dimensions),
    (value) => scale * value,
  );
}
