import type { SparseVector } from '../sparse-vector.ts';

/** The places that have a term, with their weights; in no particular order. */
interface Postings {
  readonly places: number[];
  /** Float32 values. */
  readonly weights: number[];
}

/**
 * An inverted index over the terms of the cases: for every term the places that have it, with their weights. The terms of cases
 * are kept only here; the vector of a case is collected from it when it is saved.
 *
 * The order inside a list never matters: a place occurs once per term, and sums run over the query's terms in
 * ascending order, so a product equals `sparseDot` bit for bit.
 */
export class TermPostings {
  private readonly lists = new Map<number, Postings>();
  /** Which lists a place is in. */
  private readonly termsOf: (Uint32Array | undefined)[] = [];
  private size = 0;

  add(place: number, vector: SparseVector): void {
    for (let i = 0; i < vector.terms.length; i++) {
      const term = vector.terms[i];
      let list = this.lists.get(term);
      if (list === undefined) {
        list = { places: [], weights: [] };
        this.lists.set(term, list);
      }
      list.places.push(place);
      list.weights.push(vector.weights[i]);
    }
    this.termsOf[place] = vector.terms.slice();
    this.size += vector.terms.length;
  }

  remove(place: number): void {
    for (const term of this.termsOf[place] ?? []) {
      const { places, weights } = this.lists.get(term)!;
      const at = places.indexOf(place);
      const lastPlace = places.pop()!;
      const lastWeight = weights.pop()!;
      if (at < places.length) {
        places[at] = lastPlace;
        weights[at] = lastWeight;
      }
      if (places.length === 0) this.lists.delete(term);
      this.size--;
    }
    this.termsOf[place] = undefined;
  }

  /** out[place] += t·t' for every place that shares a term. */
  addProducts(query: SparseVector, out: Float64Array): void {
    for (let i = 0; i < query.terms.length; i++) {
      const list = this.lists.get(query.terms[i]);
      if (list === undefined) continue;
      const { places, weights } = list;
      const weight = query.weights[i];
      for (let at = 0; at < places.length; at++) out[places[at]] += weight * weights[at];
    }
  }

  /** The vectors of the first `count` places, one after the other, terms ascending. */
  save(count: number): { offsets: Int32Array; terms: Uint32Array; weights: Float32Array } {
    const offsets = new Int32Array(count + 1);
    for (const { places } of this.lists.values()) for (const place of places) offsets[place + 1]++;
    for (let place = 0; place < count; place++) offsets[place + 1] += offsets[place];
    const terms = new Uint32Array(offsets[count]);
    const weights = new Float32Array(offsets[count]);
    const filled = offsets.slice(0, count);
    for (const term of Uint32Array.from(this.lists.keys()).sort()) {
      const list = this.lists.get(term)!;
      for (let i = 0; i < list.places.length; i++) {
        const at = filled[list.places[i]]++;
        terms[at] = term;
        weights[at] = list.weights[i];
      }
    }
    return { offsets, terms, weights };
  }

  /** About: 16 a posting, 160 a term for its lists and its place in the table, 100 a case for its list of terms. */
  get bytes(): number {
    return 16 * this.size + 160 * this.lists.size + 100 * this.termsOf.length;
  }
}
