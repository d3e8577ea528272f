import type { Kernels } from '../kernels/kernels.ts';
import type { QueryFeatures, RecalledCase } from '../policy.ts';
import { type SparseVector, sparseDot } from '../sparse-vector.ts';
import { VectorCodes } from '../vector-codes.ts';
import { RecentQueries } from './recent-queries.ts';
import { TermPostings } from './term-postings.ts';

const INITIAL_PLACES = 64;
/** Rows of embeddings start on 64-byte boundaries. */
const ROW_MULTIPLE = 16;

/** First queries of all cases in place order; empty places have no terms and a zero vector. */
export interface SavedQueries {
  /** Row-major places × D. */
  readonly embeddings: Float32Array;
  /** Terms of the case at place i: offsets[i] … offsets[i + 1]. */
  readonly offsets: Int32Array;
  readonly terms: Uint32Array;
  readonly weights: Float32Array;
}

/**
 * Finds the cases whose first query resembles a query: one scan over the codes of all of them, one walk over the postings
 * of the query's terms, and then the exact products of those that can be among the nearest. Results depend only on the
 * calls and their order, and are the same after saving and loading.
 *
 * Similarity of queries: s(q, q') = ½·e(q)·e(q') + ½·t(q)·t(q'); where one of the two has no embedding (or the
 * zero vector, a text without known tokens), s = t(q)·t(q').
 */
export class CaseIndex {
  private readonly kernels: Kernels;
  private readonly dimensions: number;
  private readonly stride: number;
  private readonly postings = new TermPostings();
  private readonly recent = new RecentQueries();
  private readonly query: Float32Array;
  private rows: Float32Array;
  private readonly codes: VectorCodes;
  /** The places that can be among the nearest, and their products. */
  private near: Int32Array;
  private cosines: Float32Array;
  private similarities = new Float64Array(INITIAL_PLACES);
  private readonly best = new NearestCases();
  private readonly roughly = new NearestCases();
  /** Places of the cases without an embedding. */
  private readonly lexical = new Set<number>();
  private places = 0;

  constructor(kernels: Kernels, dimensions: number) {
    this.kernels = kernels;
    this.dimensions = dimensions;
    this.stride = strideOf(dimensions);
    this.query = kernels.allocateFloat32(this.stride);
    this.rows = kernels.allocateFloat32(this.stride * INITIAL_PLACES);
    this.codes = new VectorCodes(kernels, dimensions, INITIAL_PLACES);
    this.near = kernels.allocateInt32(INITIAL_PLACES);
    this.cosines = kernels.allocateFloat32(INITIAL_PLACES);
  }

  static load(kernels: Kernels, dimensions: number, saved: SavedQueries): CaseIndex {
    const index = new CaseIndex(kernels, dimensions);
    for (const [place, query] of queriesOf(saved, dimensions)) index.put(place, query);
    return index;
  }

  /** Adds the case at this place, with its first query. */
  put(place: number, query: QueryFeatures): void {
    this.reserve(place + 1);
    const embedding = comparableEmbedding(query, this.dimensions);
    if (embedding === null) this.lexical.add(place);
    else {
      this.rows.set(embedding, place * this.stride);
      this.codes.put(place, embedding);
    }
    this.postings.add(place, query.terms);
    this.recent.put(place, query.terms);
    this.places = Math.max(this.places, place + 1);
  }

  /** Removes the case at this place. */
  remove(place: number): void {
    this.lexical.delete(place);
    this.rows.fill(0, place * this.stride, (place + 1) * this.stride);
    this.codes.clear(place);
    this.postings.remove(place);
    this.recent.remove(place);
  }

  /** Returns the nearest cases with s > 0, best first (ties: lower place first), at most `limit`; `caseId` is the place. */
  nearest(query: QueryFeatures, limit: number): RecalledCase[] {
    const embedding = comparableEmbedding(query, this.dimensions);
    const nearest = this.nearestOfAll(embedding, query.terms, limit);
    this.recent.keep({ embedding, terms: query.terms }, nearest[0]);
    return nearest;
  }

  /** Returns the first of them, which is known already of a query that was asked for lately; null: there is none. */
  nearestOne({ embedding: own, terms }: QueryFeatures): RecalledCase | null {
    const embedding = comparableEmbedding({ embedding: own, terms }, this.dimensions);
    const known = this.recent.find({ embedding, terms });
    if (known === null) return this.nearestOfAll(embedding, terms, 1)[0] ?? null;
    let { nearest } = known;
    const { newer } = known;
    for (let i = 0; i < newer.length; i++) this.near[i] = newer[i].place;
    if (embedding !== null) this.scanNear(embedding, newer.length);
    for (let i = 0; i < newer.length; i++) {
      const { place, terms: its } = newer[i];
      const words = sparseDot(terms, its);
      const isLexical = embedding === null || this.lexical.has(place);
      const similarity = isLexical ? words : 0.5 * this.cosines[i] + 0.5 * words;
      const best = nearest?.similarity ?? 0;
      if (similarity > best || (nearest !== null && similarity === best && place < nearest.caseId))
        nearest = { caseId: place, similarity };
    }
    return nearest;
  }

  private nearestOfAll(embedding: Float32Array | null, terms: SparseVector, limit: number): RecalledCase[] {
    const { places, similarities } = this;
    similarities.fill(0, 0, places);
    this.postings.addProducts(terms, similarities);
    if (embedding !== null) return this.nearestWith(embedding, limit);
    const { best } = this;
    best.begin(limit);
    for (let place = 0; place < places; place++) {
      // One that only equals the bar comes after those that are there.
      if (similarities[place] > best.bar) best.offer(place, similarities[place]);
    }
    return best.list();
  }

  /** Nearest cases with t·t' in `similarities`: exact products are computed only where codes say that they matter. */
  private nearestWith(embedding: Float32Array, limit: number): RecalledCase[] {
    const { places, similarities, near, cosines, roughly, best } = this;
    // Their vector is zero: ½·0 + ½·2·t·t' is what is wanted.
    for (const place of this.lexical) similarities[place] *= 2;
    const { products, margin } = this.codes.scan(embedding, places);
    roughly.begin(limit);
    let { bar } = roughly;
    // As many as were asked for have at least bar − margin, and the bar only rises.
    let least = bar - 2 * margin;
    let met = 0;
    for (let place = 0; place < places; place++) {
      // Twice the similarity, here and below. Written so that what is not a number is looked at.
      const about = products[place] + similarities[place];
      if (about < least) continue;
      near[met++] = place;
      if (!(about > bar)) continue;
      roughly.offer(place, about);
      bar = roughly.bar;
      least = bar - 2 * margin;
    }
    let count = 0;
    for (let i = 0; i < met; i++) {
      const place = near[i];
      if (!(products[place] + similarities[place] < least)) near[count++] = place;
    }
    this.scanNear(embedding, count);
    best.begin(limit);
    for (let i = 0; i < count; i++) {
      const similarity = 0.5 * cosines[i] + 0.5 * similarities[near[i]];
      if (similarity > best.bar) best.offer(near[i], similarity);
    }
    return best.list();
  }

  /** Sets the first `count` cosines to those of the first so many places in `near`. */
  private scanNear(embedding: Float32Array, count: number): void {
    this.query.set(embedding);
    this.kernels.scanRows(this.rows, this.stride, this.near, count, this.query, this.cosines);
  }

  /** Returns everything needed to build the same index again, for the first `places` places. */
  save(places: number): SavedQueries {
    const embeddings = new Float32Array(places * this.dimensions);
    for (let place = 0; place < Math.min(places, this.places); place++) {
      const start = place * this.stride;
      embeddings.set(this.rows.subarray(start, start + this.dimensions), place * this.dimensions);
    }
    return { embeddings, ...this.postings.save(places) };
  }

  get bytes(): number {
    const { rows, codes, similarities, postings, recent } = this;
    return rows.byteLength + codes.bytes + similarities.byteLength + postings.bytes + recent.bytes;
  }

  /** Frees kernel memory. */
  dispose(): void {
    for (const array of [this.query, this.rows, this.near, this.cosines]) this.kernels.free(array);
    this.codes.dispose();
  }

  private reserve(places: number): void {
    let room = this.similarities.length;
    if (places <= room) return;
    while (room < places) room *= 2;
    const rows = this.kernels.allocateFloat32(this.stride * room);
    rows.set(this.rows);
    for (const array of [this.rows, this.near, this.cosines]) this.kernels.free(array);
    this.rows = rows;
    this.near = this.kernels.allocateInt32(room);
    this.cosines = this.kernels.allocateFloat32(room);
    this.codes.reserve(room);
    this.similarities = new Float64Array(room);
  }
}

/** Elements from one row of embeddings to the next. */
function strideOf(dimensions: number): number {
  return Math.max(1, Math.ceil(dimensions / ROW_MULTIPLE)) * ROW_MULTIPLE;
}

/** The places that are not empty, with their queries; these are views of the arrays. */
function* queriesOf(
  saved: SavedQueries,
  dimensions: number,
): Generator<readonly [place: number, query: QueryFeatures]> {
  for (let place = 0; place + 1 < saved.offsets.length; place++) {
    const from = saved.offsets[place];
    const to = saved.offsets[place + 1];
    const embedding = saved.embeddings.subarray(place * dimensions, (place + 1) * dimensions);
    if (from === to && !hasDirection(embedding)) continue;
    const terms = { terms: saved.terms.subarray(from, to), weights: saved.weights.subarray(from, to) };
    yield [place, { embedding, terms }];
  }
}

/** Returns whether there is a vector that is not zero. */
export function hasDirection(embedding: Float32Array | null): embedding is Float32Array {
  if (embedding === null) return false;
  for (let i = 0; i < embedding.length; i++) if (embedding[i] !== 0) return true;
  return false;
}

/** Returns the embedding, if it can be compared. @throws RangeError when it has other dimensions. */
function comparableEmbedding({ embedding }: QueryFeatures, dimensions: number): Float32Array | null {
  if (dimensions === 0 || !hasDirection(embedding)) return null;
  if (embedding.length !== dimensions) {
    throw new RangeError(`This memory compares ${dimensions} dimensions, not ${embedding.length}.`);
  }
  return embedding;
}

/** Returns whether this query has a term or an embedding by which it can be found. */
export function isComparable(query: QueryFeatures): boolean {
  return query.terms.terms.length > 0 || hasDirection(query.embedding);
}

/** Keeps the best of many offers with a positive value, in any order, for one search after the other. Ties: lower place first. */
class NearestCases {
  private places = new Int32Array(0);
  private values = new Float64Array(0);
  private limit = 0;
  private found = 0;

  /** Begins a search for so many. */
  begin(limit: number): void {
    this.limit = limit;
    this.found = 0;
    if (limit <= this.places.length) return;
    this.places = new Int32Array(limit);
    this.values = new Float64Array(limit);
  }

  /** The smallest value that is accepted. */
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
    const list: RecalledCase[] = [];
    // No Array.from: it takes several times as long.
    for (let at = 0; at < this.found; at++) list.push({ caseId: places[at], similarity: values[at] });
    return list;
  }
}
