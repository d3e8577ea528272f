import type { Kernels } from '../kernels/kernels.ts';
import type { QueryFeatures, RecalledCase } from '../policy.ts';
import { type CaseIndex, comparableEmbedding, queriesOf, type SavedQueries, strideOf } from './case-index.ts';
import { NearestCases } from './nearest-cases.ts';
import { TermPostings } from './term-postings.ts';

const INITIAL_PLACES = 64;
const EMPTY = 0;
const LEXICAL = 1;
const DENSE = 2;

/** Compares the query with every case: one dense scan, and one walk over the postings of the query's terms. */
export class ExactCaseIndex implements CaseIndex {
  private readonly kernels: Kernels;
  private readonly dimensions: number;
  private readonly stride: number;
  private readonly postings = new TermPostings();
  private readonly query: Float32Array;
  private rows: Float32Array;
  private cosines: Float32Array;
  private similarities = new Float64Array(INITIAL_PLACES);
  /** By what the case at this place can be compared. */
  private kinds = new Uint8Array(INITIAL_PLACES);
  private places = 0;

  constructor(kernels: Kernels, dimensions: number) {
    this.kernels = kernels;
    this.dimensions = dimensions;
    this.stride = strideOf(dimensions);
    this.query = kernels.allocateFloat32(this.stride);
    this.rows = kernels.allocateFloat32(this.stride * INITIAL_PLACES);
    this.cosines = kernels.allocateFloat32(INITIAL_PLACES);
  }

  static load(kernels: Kernels, dimensions: number, saved: SavedQueries): ExactCaseIndex {
    const index = new ExactCaseIndex(kernels, dimensions);
    for (const [place, query] of queriesOf(saved, dimensions)) index.put(place, query);
    return index;
  }

  put(place: number, query: QueryFeatures): void {
    this.reserve(place + 1);
    const row = this.rows.subarray(place * this.stride, (place + 1) * this.stride).fill(0);
    const embedding = comparableEmbedding(query, this.dimensions);
    if (embedding !== null) row.set(embedding);
    this.kinds[place] = embedding === null ? LEXICAL : DENSE;
    this.postings.add(place, query.terms);
    this.places = Math.max(this.places, place + 1);
  }

  remove(place: number): void {
    this.kinds[place] = EMPTY;
    this.rows.fill(0, place * this.stride, (place + 1) * this.stride);
    this.postings.remove(place);
  }

  nearest(query: QueryFeatures, limit: number): RecalledCase[] {
    const { places, similarities } = this;
    similarities.fill(0, 0, places);
    this.postings.addProducts(query.terms, similarities);
    const embedding = comparableEmbedding(query, this.dimensions);
    if (embedding !== null) {
      this.query.set(embedding);
      this.kernels.scan(this.rows, this.stride, places, this.query, this.cosines);
      addCosines(similarities, this.cosines, this.kinds, places);
    }
    const best = new NearestCases(limit);
    let { bar } = best;
    for (let place = 0; place < places; place++) {
      // One that only equals the bar comes after those that are there.
      if (similarities[place] <= bar) continue;
      best.offer(place, similarities[place]);
      bar = best.bar;
    }
    return best.list();
  }

  save(places: number): SavedQueries {
    const embeddings = new Float32Array(places * this.dimensions);
    for (let place = 0; place < Math.min(places, this.places); place++) {
      const start = place * this.stride;
      embeddings.set(this.rows.subarray(start, start + this.dimensions), place * this.dimensions);
    }
    return { embeddings, ...this.postings.save(places) };
  }

  get bytes(): number {
    const { rows, cosines, similarities, kinds } = this;
    return (
      rows.byteLength + cosines.byteLength + similarities.byteLength + kinds.length + this.postings.bytes
    );
  }

  dispose(): void {
    for (const array of [this.query, this.rows, this.cosines]) this.kernels.free(array);
  }

  private reserve(places: number): void {
    let room = this.kinds.length;
    if (places <= room) return;
    while (room < places) room *= 2;
    const rows = this.kernels.allocateFloat32(this.stride * room);
    rows.set(this.rows);
    this.kernels.free(this.rows);
    this.kernels.free(this.cosines);
    this.rows = rows;
    this.cosines = this.kernels.allocateFloat32(room);
    this.similarities = new Float64Array(room);
    const kinds = new Uint8Array(room);
    kinds.set(this.kinds);
    this.kinds = kinds;
  }
}

/** ½·cosine + ½·lexical wherever there is a cosine. */
function addCosines(
  similarities: Float64Array,
  cosines: Float32Array,
  kinds: Uint8Array,
  count: number,
): void {
  for (let place = 0; place < count; place++) {
    if (kinds[place] === DENSE) similarities[place] = 0.5 * cosines[place] + 0.5 * similarities[place];
  }
}
