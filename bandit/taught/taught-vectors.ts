import type { Kernels } from '../kernels/kernels.ts';
import { completed, savedArray } from '../learner-codec.ts';
import type { LearnerState, QueryFeatures, TaughtScores, TermShare } from '../policy.ts';
import { formOf } from '../shared-query.ts';
import { bucketOf, TaughtQueries, type TaughtQuery } from './taught-query.ts';

/** Rows that are kept at most: 21 MB at D = 256 and B = 1,024. */
const TAUGHT_TOOLS = 4096;
const WEIGHT_LIMIT = 2;
/** Where rewards are 0 … 1, an expected one outside of this says nothing more. */
const LEAST_EXPECTED = -1;
const MOST_EXPECTED = 2;
const FIRST_ROWS = 64;
const FREE = -1;
/** Most queries have fewer. */
const BUCKETS_AT_ONCE = 64;
/** Rows or buckets that are copied between two pauses: less than a millisecond. */
const SAVED_AT_ONCE = 128;

export interface TaughtOptions {
  /** D of the embeddings; 0 without an embedder. */
  readonly dimensions: number;
  /** B, the number of buckets for words. */
  readonly buckets: number;
  /** Step of a success, 0…0.5; 0: nothing is ever taught. */
  readonly rate: number;
  /** Step of a failure, as a share of the step of a success, 0…1. */
  readonly failures: number;
  /** Most tools with a vector. */
  readonly tools?: number;
}

/** ψ(q) whose numbers are finite. */
interface CheckedQuery extends TaughtQuery {
  /** |ψ|². */
  readonly square: number;
}

/**
 * One vector w_a per tool: what queries should call it, in vectors and in words, beyond what the rest of the policy
 * says already (learning.md, version 2). Its score is w_a·ψ(q). Every learned event moves it by a normalised LMS
 * step (Widrow & Hoff 1960) on the residual r − m − w_a·ψ(q), where m is the mean that the policy gave at decision time.
 *
 * A tool has no row until its first event, and then scores 0. When all rows are taken, a further tool takes the row
 * whose last event is the oldest. Deterministic: the same calls in the same order give the same bits.
 */
export class TaughtVectors {
  readonly #kernels: Kernels;
  readonly #options: Required<TaughtOptions>;
  readonly #stride: number;
  /** The first half of w of each row, float32, `#stride` elements a row. */
  #dense: Float32Array;
  /** The second half, bucket by bucket, one element a row: a query reads a dozen buckets of all rows. */
  #hashed: Float32Array;
  #scores: Float32Array;
  /** What `score` adds up: a sum for each row, and some buckets with their weights. */
  #sums: Float64Array;
  readonly #columns: Int32Array;
  readonly #weights: Float64Array;
  /** Of each row: its tool, and its last event. */
  #slots: Int32Array;
  /** A copy of those in use, for what reads scores; null: rows changed since it was made. */
  #slotsNow: Int32Array | null = null;
  #lastEvents: Float64Array;
  readonly #query: Float32Array;
  readonly #queries: TaughtQueries;
  /** Row of each slot. */
  #rows = new Int32Array(0);
  /** Rows below this were in use at some time. */
  #used = 0;
  #events = 0;

  /** @param room for how many tools there is room at first. */
  constructor(kernels: Kernels, options: TaughtOptions, room = FIRST_ROWS) {
    this.#kernels = kernels;
    this.#options = { tools: TAUGHT_TOOLS, ...options };
    this.#stride = (options.dimensions + 3) & ~3;
    const rows = Math.min(room, this.#options.tools);
    this.#dense = kernels.allocateFloat32(rows * this.#stride);
    this.#hashed = kernels.allocateFloat32(rows * options.buckets);
    this.#scores = kernels.allocateFloat32(rows);
    this.#sums = kernels.allocateFloat64(rows);
    this.#columns = kernels.allocateInt32(BUCKETS_AT_ONCE);
    this.#weights = kernels.allocateFloat64(BUCKETS_AT_ONCE);
    this.#slots = new Int32Array(rows).fill(FREE);
    this.#lastEvents = new Float64Array(rows);
    this.#query = kernels.allocateFloat32(options.dimensions);
    this.#queries = new TaughtQueries(options.buckets);
  }

  /** w_a·ψ(q) of every tool that has a row, by row. */
  score(query: QueryFeatures): TaughtScores {
    const count = this.#used;
    this.#slotsNow ??= this.#slots.slice(0, count);
    const slots = this.#slotsNow;
    const sums = this.#sums.subarray(0, count).fill(0);
    if (count === 0) return { slots, values: new Float64Array(0) };
    const { embedding, buckets, weights } = this.#queries.of(query);
    if (embedding !== null) {
      this.#query.set(embedding);
      this.#kernels.scan(this.#dense, this.#stride, count, this.#query, this.#scores);
      for (let row = 0; row < count; row++) sums[row] = this.#scores[row];
    }
    this.#addBuckets(buckets, weights, count);
    return { slots, values: sums.slice() };
  }

  /** sums += Σ weight · bucket, in the order of the buckets for every row. */
  #addBuckets(buckets: readonly number[], weights: readonly number[], count: number): void {
    for (let from = 0; from < buckets.length; from += BUCKETS_AT_ONCE) {
      const width = Math.min(BUCKETS_AT_ONCE, buckets.length - from);
      for (let i = 0; i < width; i++) {
        this.#columns[i] = buckets[from + i];
        this.#weights[i] = weights[from + i];
      }
      this.#kernels.addColumns(
        this.#hashed,
        this.#capacity,
        this.#columns,
        this.#weights,
        width,
        count,
        this.#sums,
      );
    }
  }

  /** Where `score` puts this tool; −1: it was taught nothing. */
  rowOf(slot: number): number {
    return slot < this.#rows.length ? this.#rows[slot] : FREE;
  }

  /** What each term of a query adds to the score of a tool; empty if that was taught nothing. */
  termShares({ terms }: QueryFeatures, slot: number): TermShare[] {
    const row = this.rowOf(slot);
    const { buckets } = this.#options;
    if (row === FREE || buckets === 0) return [];
    return Array.from(terms.terms, (term, i) => {
      const { bucket, sign } = bucketOf(term, buckets);
      return { term, share: sign * terms.weights[i] * this.#hashed[bucket * this.#capacity + row] };
    });
  }

  /**
   * A tool had this outcome: w_a += rate · min(weight, 2) · (failures + (1 − failures)·r) · (r − m − w_a·ψ(q)) · ψ(q),
   * where rate · min(weight, 2) is 1/|ψ|² at the most: w_a·ψ(q) comes nearer to r − m and never goes past it.
   * @param reward r, 0…1. @param mean m, what the policy expected at decision time. @throws RangeError on NaN or ±∞.
   */
  learn(slot: number, query: QueryFeatures, reward: number, weight: number, mean: number): void {
    if (this.#options.rate === 0) return;
    if (!Number.isFinite(mean)) throw new RangeError(`An expected reward is finite, not ${mean}.`);
    const psi = this.#checked(query);
    const row = this.#rowFor(slot);
    this.#lastEvents[row] = ++this.#events;
    const { failures } = this.#options;
    const expected = Math.min(MOST_EXPECTED, Math.max(LEAST_EXPECTED, mean));
    const step = this.#rate(psi, weight) * (failures + (1 - failures) * reward);
    this.#add(row, psi, step * (reward - expected - this.#dot(row, psi)));
  }

  /**
   * A learned outcome turns out to be another one: w_a += rate · min(weight, 2) · (F(to) − F(from)) · ψ(q), with
   * F(r) = (failures + (1 − failures)·r)·r, what learning r moves where nothing was expected. So corrections that end
   * where they began change nothing, whatever lay between.
   */
  correct(slot: number, query: QueryFeatures, from: number, to: number, weight: number): void {
    const row = this.rowOf(slot);
    if (row === FREE) return;
    const { failures } = this.#options;
    const share = (reward: number): number => (failures + (1 - failures) * reward) * reward;
    const psi = this.#checked(query);
    this.#add(row, psi, this.#rate(psi, weight) * (share(to) - share(from)));
  }

  /** Scales what a tool was taught; 0 gives its row back. */
  scale(slot: number, factor: number): void {
    const row = this.rowOf(slot);
    if (row === FREE) return;
    const { buckets } = this.#options;
    // 0 and not times 0: that leaves −0 behind, which a row that was never used does not have.
    const scaled = (value: number): number => (factor === 0 ? 0 : value * factor);
    const dense = this.#dense.subarray(row * this.#stride, (row + 1) * this.#stride);
    for (let i = 0; i < dense.length; i++) dense[i] = scaled(dense[i]);
    for (let bucket = 0, at = row; bucket < buckets; bucket++, at += this.#capacity) {
      this.#hashed[at] = scaled(this.#hashed[at]);
    }
    if (factor === 0) this.#release(row);
  }

  save(): LearnerState['arrays'] {
    return completed(this.saveInSteps());
  }

  /** In ascending order of slots, so that the bits do not depend on which row a tool got; the second half bucket by bucket. */
  *saveInSteps(): Generator<void, LearnerState['arrays']> {
    const { dimensions, buckets } = this.#options;
    const slots = this.#slots
      .subarray(0, this.#used)
      .filter((slot) => slot !== FREE)
      .sort();
    const count = slots.length;
    const rows = slots.map((slot) => this.#rows[slot]);
    const dense = new Float32Array(count * dimensions);
    for (let i = 0; i < count; i++) {
      const start = rows[i] * this.#stride;
      dense.set(this.#dense.subarray(start, start + dimensions), i * dimensions);
      if (i % SAVED_AT_ONCE === 0) yield;
    }
    const hashed = new Float32Array(count * buckets);
    for (let bucket = 0; bucket < buckets; bucket++) {
      const column = this.#hashed.subarray(bucket * this.#capacity, (bucket + 1) * this.#capacity);
      for (let i = 0, at = bucket * count; i < count; i++) hashed[at++] = column[rows[i]];
      if (bucket % SAVED_AT_ONCE === 0) yield;
    }
    const lastEvents = Float64Array.from(rows, (row) => this.#lastEvents[row]);
    return {
      'taught.slots': slots,
      'taught.lastEvents': lastEvents,
      'taught.events': Float64Array.of(this.#events),
      'taught.dense': dense,
      'taught.hashed': hashed,
    };
  }

  /** @throws Error when the arrays do not fit each other or the options. */
  static load(kernels: Kernels, options: TaughtOptions, arrays: LearnerState['arrays']): TaughtVectors {
    const { dimensions, buckets } = options;
    const slots = savedArray(arrays, 'taught.slots', Int32Array);
    const count = slots.length;
    const lastEvents = savedArray(arrays, 'taught.lastEvents', Float64Array, count);
    const dense = savedArray(arrays, 'taught.dense', Float32Array, count * dimensions);
    const hashed = savedArray(arrays, 'taught.hashed', Float32Array, count * buckets);
    let room = FIRST_ROWS;
    while (room < count) room *= 2;
    const taught = new TaughtVectors(kernels, options, room);
    const rows = slots.map((slot) => taught.#rowFor(slot));
    for (let i = 0; i < count; i++) {
      taught.#dense.set(dense.subarray(i * dimensions, (i + 1) * dimensions), rows[i] * taught.#stride);
      taught.#lastEvents[rows[i]] = lastEvents[i];
    }
    const columns = taught.#hashed;
    for (let bucket = 0, at = 0; bucket < buckets; bucket++) {
      const start = bucket * taught.#capacity;
      for (let i = 0; i < count; i++) columns[start + rows[i]] = hashed[at++];
    }
    taught.#events = savedArray(arrays, 'taught.events', Float64Array, 1)[0];
    return taught;
  }

  get bytes(): number {
    const arrays = [this.#dense, this.#hashed, this.#scores, this.#slots, this.#lastEvents, this.#rows];
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Gives the memory back. The object must not be used afterwards. */
  free(): void {
    const scratch = [this.#scores, this.#sums, this.#columns, this.#weights, this.#query];
    for (const array of [this.#dense, this.#hashed, ...scratch]) this.#kernels.free(array);
  }

  get #capacity(): number {
    return this.#slots.length;
  }

  /** rate · min(weight, 2), and never more than 1/|ψ|². */
  #rate({ square }: CheckedQuery, weight: number): number {
    const rate = this.#options.rate * Math.min(weight, WEIGHT_LIMIT);
    return rate * square > 1 ? 1 / square : rate;
  }

  #checked(query: QueryFeatures): CheckedQuery {
    return formOf(query, this, () => this.#checkedAnew(query));
  }

  #checkedAnew(query: QueryFeatures): CheckedQuery {
    const { dimensions } = this.#options;
    const psi = this.#queries.of(query);
    if (psi.embedding !== null && psi.embedding.length !== dimensions) {
      throw new RangeError(`a query has ${dimensions} dimensions here, got ${psi.embedding.length}`);
    }
    // Squares of float32 numbers cannot overflow a float64.
    const square = squareOf(psi.embedding, squareOf(psi.weights, 0));
    if (!Number.isFinite(square)) throw new RangeError('the features of a query are finite numbers');
    return { embedding: psi.embedding, buckets: psi.buckets, weights: psi.weights, square };
  }

  /** w·ψ in float64: the first half, then the buckets in ascending order. */
  #dot(row: number, { embedding, buckets, weights }: TaughtQuery): number {
    const dense = this.#dense;
    const start = row * this.#stride;
    const hashed = this.#hashed;
    const capacity = this.#capacity;
    let sum = 0;
    if (embedding !== null) for (let i = 0; i < embedding.length; i++) sum += dense[start + i] * embedding[i];
    for (let i = 0; i < buckets.length; i++) sum += hashed[buckets[i] * capacity + row] * weights[i];
    return sum;
  }

  #add(row: number, { embedding, buckets, weights }: TaughtQuery, factor: number): void {
    const dense = this.#dense;
    const start = row * this.#stride;
    const hashed = this.#hashed;
    const capacity = this.#capacity;
    if (embedding !== null)
      for (let i = 0; i < embedding.length; i++) dense[start + i] += factor * embedding[i];
    for (let i = 0; i < buckets.length; i++) hashed[buckets[i] * capacity + row] += factor * weights[i];
  }

  /** The row of this tool: its own, a free one, or that of the tool whose last event is the oldest. */
  #rowFor(slot: number): number {
    const known = this.rowOf(slot);
    if (known !== FREE) return known;
    let row = this.#slots.subarray(0, this.#used).indexOf(FREE);
    if (row < 0 && this.#used < this.#options.tools) row = this.#used++;
    if (row < 0) {
      row = 0;
      for (let i = 1; i < this.#used; i++) if (this.#lastEvents[i] < this.#lastEvents[row]) row = i;
      this.scale(this.#slots[row], 0);
    }
    this.#reserve(row, slot);
    this.#slots[row] = slot;
    this.#rows[slot] = row;
    this.#slotsNow = null;
    return row;
  }

  #release(row: number): void {
    this.#rows[this.#slots[row]] = FREE;
    this.#slots[row] = FREE;
    this.#slotsNow = null;
  }

  #reserve(row: number, slot: number): void {
    if (slot >= this.#rows.length) {
      const rows = new Int32Array(Math.max(FIRST_ROWS, 2 * slot)).fill(FREE);
      rows.set(this.#rows);
      this.#rows = rows;
    }
    if (row < this.#capacity) return;
    const before = this.#capacity;
    const capacity = Math.min(2 * before, this.#options.tools);
    const columns = this.#kernels.allocateFloat32(capacity * this.#options.buckets);
    for (let bucket = 0; bucket < this.#options.buckets; bucket++) {
      columns.set(this.#hashed.subarray(bucket * before, (bucket + 1) * before), bucket * capacity);
    }
    this.#kernels.free(this.#hashed);
    this.#hashed = columns;
    this.#dense = this.#grown(this.#dense, capacity * this.#stride);
    this.#scores = this.#grown(this.#scores, capacity);
    this.#kernels.free(this.#sums);
    this.#sums = this.#kernels.allocateFloat64(capacity);
    const slots = new Int32Array(capacity).fill(FREE);
    slots.set(this.#slots);
    this.#slots = slots;
    const lastEvents = new Float64Array(capacity);
    lastEvents.set(this.#lastEvents);
    this.#lastEvents = lastEvents;
  }

  #grown(array: Float32Array, length: number): Float32Array {
    const larger = this.#kernels.allocateFloat32(length);
    larger.set(array);
    this.#kernels.free(array);
    return larger;
  }
}

/** `sum` and the squares of these numbers, added one after the other. */
function squareOf(values: ArrayLike<number> | null, sum: number): number {
  let square = sum;
  if (values !== null) for (let i = 0; i < values.length; i++) square += values[i] * values[i];
  return square;
}
