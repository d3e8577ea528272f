import type { SparseVector } from '../sparse-vector.ts';
import { PostingPool } from './posting-pool.ts';

/** Numbers that the table has of each term: the term, where its list begins in the pool, the length of that, and its room. */
const WIDTH = 4;
const START = 1;
const LENGTH = 2;
/** 0: there is no term here. */
const ROOM = 3;
const FIRST_TERMS = 256;
/** Most terms have one or two postings. */
const FIRST_ROOM = 2;
/** The golden ratio (Knuth, The Art of Computer Programming, 6.4): low bits of terms are weak, so the table goes by the upper ones of a product. */
const MULTIPLIER = 0x9e3779b1;

/**
 * An inverted index over the terms of the cases: for every term the places that have it, with their weights. The terms of cases
 * are kept only here; the vector of a case is collected from it when it is saved.
 *
 * Each query looks up a few dozen of some ten thousand terms, and takes as long as memory takes to answer. So all terms are in one
 * array, an open hash table, and all lists in another one.
 *
 * The order inside a list never matters: a place occurs once per term, and sums run over the query's terms in
 * ascending order, so a product equals `sparseDot` bit for bit.
 */
export class TermPostings {
  #table = new Int32Array(WIDTH * FIRST_TERMS);
  #terms = 0;
  readonly #pool = new PostingPool();
  /** Which lists a place is in. */
  readonly #termsOf: (Uint32Array | undefined)[] = [];

  add(place: number, vector: SparseVector): void {
    for (let i = 0; i < vector.terms.length; i++) {
      const at = this.#listOf(vector.terms[i]);
      const end = this.#table[at + START] + this.#table[at + LENGTH]++;
      this.#pool.places[2 * end] = place;
      this.#pool.weights[2 * end + 1] = vector.weights[i];
    }
    this.#termsOf[place] = vector.terms.slice();
  }

  remove(place: number): void {
    for (const term of this.#termsOf[place] ?? []) {
      const at = this.#find(term);
      const start = this.#table[at + START];
      const last = start + --this.#table[at + LENGTH];
      const { places, weights } = this.#pool;
      let posting = start;
      while (places[2 * posting] !== place) posting++;
      places[2 * posting] = places[2 * last];
      weights[2 * posting + 1] = weights[2 * last + 1];
      if (last === start) this.#forget(at);
    }
    this.#termsOf[place] = undefined;
  }

  /** out[place] += t·t' for every place that shares a term. */
  addProducts(query: SparseVector, out: Float64Array): void {
    const { places, weights } = this.#pool;
    for (let i = 0; i < query.terms.length; i++) {
      const at = this.#find(query.terms[i]);
      const start = this.#table[at + START];
      const end = start + this.#table[at + LENGTH];
      const weight = query.weights[i];
      for (let posting = start; posting < end; posting++) {
        out[places[2 * posting]] += weight * weights[2 * posting + 1];
      }
    }
  }

  /** The vectors of the first `count` places, one after the other, terms ascending. */
  save(count: number): { offsets: Int32Array; terms: Uint32Array; weights: Float32Array } {
    const offsets = new Int32Array(count + 1);
    for (let place = 0; place < count; place++) {
      offsets[place + 1] = offsets[place] + (this.#termsOf[place]?.length ?? 0);
    }
    const terms = new Uint32Array(offsets[count]);
    const weights = new Float32Array(offsets[count]);
    const filled = offsets.slice(0, count);
    const { places, weights: values } = this.#pool;
    for (const term of this.#ascending()) {
      const at = this.#find(term);
      const start = this.#table[at + START];
      const end = start + this.#table[at + LENGTH];
      for (let posting = start; posting < end; posting++) {
        const to = filled[places[2 * posting]]++;
        terms[to] = term;
        weights[to] = values[2 * posting + 1];
      }
    }
    return { offsets, terms, weights };
  }

  /** About: 100 a case for its list of terms. */
  get bytes(): number {
    return this.#table.byteLength + this.#pool.bytes + 100 * this.#termsOf.length;
  }

  #ascending(): Uint32Array {
    const terms = new Uint32Array(this.#terms);
    let count = 0;
    for (let at = 0; at < this.#table.length; at += WIDTH) {
      if (this.#table[at + ROOM] !== 0) terms[count++] = this.#table[at];
    }
    return terms.sort();
  }

  /** Returns where the table has this term, or would have it: then everything there is 0. */
  #find(term: number): number {
    const table = this.#table;
    const key = term | 0;
    let at = this.#home(key);
    while (table[at + ROOM] !== 0 && table[at] !== key) at = this.#next(at);
    return at;
  }

  /** Returns where the table has this term, from now on at the latest, with room for one more posting. */
  #listOf(term: number): number {
    const at = this.#find(term);
    const table = this.#table;
    const length = table[at + LENGTH];
    const room = table[at + ROOM];
    if (length < room) return at;
    if (room === 0) {
      if (2 * WIDTH * (this.#terms + 1) > table.length) {
        this.#grow();
        return this.#listOf(term);
      }
      this.#terms++;
      table[at] = term;
      table[at + START] = this.#pool.take(FIRST_ROOM);
      table[at + ROOM] = FIRST_ROOM;
      return at;
    }
    const start = table[at + START];
    const larger = this.#pool.take(2 * room);
    this.#pool.places.copyWithin(2 * larger, 2 * start, 2 * (start + length));
    this.#pool.giveBack(start, room);
    table[at + START] = larger;
    table[at + ROOM] = 2 * room;
    return at;
  }

  /** Forgets the term that is here, and moves up what is not where it belongs because of it. */
  #forget(at: number): void {
    const table = this.#table;
    this.#pool.giveBack(table[at + START], table[at + ROOM]);
    this.#terms--;
    let hole = at;
    for (let next = this.#next(hole); table[next + ROOM] !== 0; next = this.#next(next)) {
      const isBehind = this.#distance(this.#home(table[next]), next) >= this.#distance(hole, next);
      if (!isBehind) continue;
      table.copyWithin(hole, next, next + WIDTH);
      hole = next;
    }
    table.fill(0, hole, hole + WIDTH);
  }

  #grow(): void {
    const before = this.#table;
    this.#table = new Int32Array(2 * before.length);
    for (let at = 0; at < before.length; at += WIDTH) {
      if (before[at + ROOM] !== 0) this.#table.set(before.subarray(at, at + WIDTH), this.#find(before[at]));
    }
  }

  #home(key: number): number {
    const shift = Math.clz32(this.#table.length / WIDTH) + 1;
    return (Math.imul(key, MULTIPLIER) >>> shift) * WIDTH;
  }

  #next(at: number): number {
    return at + WIDTH === this.#table.length ? 0 : at + WIDTH;
  }

  /** How far it is from one place of the table on to another. */
  #distance(from: number, to: number): number {
    return to >= from ? to - from : to - from + this.#table.length;
  }
}
