import type { SparseVector } from '../sparse-vector.ts';

const INITIAL_POSTINGS = 1024;

/**
 * An inverted index over the terms of the cases: for every term the places that have it, with their weights.
 * It is also where the terms themselves are kept; a case's vector is gathered from it when it is saved.
 *
 * Postings are linked lists in pooled arrays. Their order inside a list never matters: a place occurs once per
 * term, and sums run over the query's terms in ascending order, so a product equals `sparseDot` bit for bit.
 */
export class TermPostings {
  private readonly heads = new Map<number, number>();
  private next = new Int32Array(INITIAL_POSTINGS);
  private places = new Int32Array(INITIAL_POSTINGS);
  private weights = new Float32Array(INITIAL_POSTINGS);
  private used = 0;
  private freed = -1;

  add(place: number, vector: SparseVector): void {
    for (let i = 0; i < vector.terms.length; i++) {
      const posting = this.allocate();
      this.places[posting] = place;
      this.weights[posting] = vector.weights[i];
      this.next[posting] = this.heads.get(vector.terms[i]) ?? -1;
      this.heads.set(vector.terms[i], posting);
    }
  }

  /** Walks all postings; erasing a case is rare. */
  remove(place: number): void {
    for (const [term, head] of this.heads) {
      let previous = -1;
      for (let posting = head; posting >= 0; previous = posting, posting = this.next[posting]) {
        if (this.places[posting] !== place) continue;
        const after = this.next[posting];
        if (previous >= 0) this.next[previous] = after;
        else if (after >= 0) this.heads.set(term, after);
        else this.heads.delete(term);
        this.next[posting] = this.freed;
        this.freed = posting;
        break;
      }
    }
  }

  /** out[place] += t·t' for every place that shares a term. */
  addProducts(query: SparseVector, out: Float64Array): void {
    const { next, places, weights } = this;
    for (let i = 0; i < query.terms.length; i++) {
      const weight = query.weights[i];
      for (let posting = this.heads.get(query.terms[i]) ?? -1; posting >= 0; posting = next[posting]) {
        out[places[posting]] += weight * weights[posting];
      }
    }
  }

  /** The vectors of the first `count` places, one after the other, terms ascending. */
  save(count: number): { offsets: Int32Array; terms: Uint32Array; weights: Float32Array } {
    const offsets = new Int32Array(count + 1);
    for (const head of this.heads.values()) {
      for (let posting = head; posting >= 0; posting = this.next[posting])
        offsets[this.places[posting] + 1]++;
    }
    for (let place = 0; place < count; place++) offsets[place + 1] += offsets[place];
    const terms = new Uint32Array(offsets[count]);
    const weights = new Float32Array(offsets[count]);
    const filled = offsets.slice(0, count);
    for (const term of Uint32Array.from(this.heads.keys()).sort()) {
      for (let posting = this.heads.get(term) as number; posting >= 0; posting = this.next[posting]) {
        const at = filled[this.places[posting]]++;
        terms[at] = term;
        weights[at] = this.weights[posting];
      }
    }
    return { offsets, terms, weights };
  }

  /** Bytes of the arrays, and some 40 a term for the table of heads. */
  get bytes(): number {
    return this.next.byteLength + this.places.byteLength + this.weights.byteLength + 40 * this.heads.size;
  }

  private allocate(): number {
    if (this.freed >= 0) {
      const posting = this.freed;
      this.freed = this.next[posting];
      return posting;
    }
    if (this.used === this.next.length) {
      const length = this.used * 2;
      this.next = enlarged(this.next, new Int32Array(length));
      this.places = enlarged(this.places, new Int32Array(length));
      this.weights = enlarged(this.weights, new Float32Array(length));
    }
    return this.used++;
  }
}

function enlarged<T extends Int32Array | Float32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
