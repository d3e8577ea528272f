import { EMPTY_SPARSE_VECTOR, type SparseVector } from '../../bandit/sparse-vector.ts';
import { TermTable } from './term-table.ts';
import type { Term } from './tokenise.ts';

export const BM25_K1 = 1.2;
export const BM25_B = 0.75;
/** Share of an unknown word's squared weight that its n-grams get. */
const GRAMS = 0.5;

/**
 * Scores the live tools with Okapi BM25 (Robertson & Zaragoza 2009, eq. 3.15, with the idf that is never negative):
 * Σ over query terms of ln(1 + (M − df + ½)/(df + ½)) · tf·(k1 + 1)/(tf + k1·(1 − b + b·length/average)).
 *
 * It is an inverted index with one typed posting list per term. Scores depend on what is indexed now, not on the order in
 * which it was added.
 */
export class Bm25Index {
  readonly #postings = new Map<number, Postings>();
  /** Of one text at a time. */
  readonly #counts = new TermTable();
  /** Distinct terms by slot; undefined where there is no document. */
  readonly #documents: (Uint32Array | undefined)[] = [];
  #lengths = new Float64Array(64);
  #scores = new Float64Array(64);
  /** k1·(1 − b + b·length/average) by slot; computed again after a change. */
  #norms = new Float64Array(64);
  #changed = false;
  #documentCount = 0;
  #totalLength = 0;

  /** Number of indexed documents, M. */
  get size(): number {
    return this.#documentCount;
  }

  /** Indexes a document; replaces the one at this slot. */
  put(slot: number, tokens: Uint32Array): void {
    this.remove(slot);
    this.#growTo(slot + 1);
    const { terms, values: repeats, size: distinct } = this.#count(tokens);
    for (let position = 0; position < distinct; position++) {
      const term = terms[position];
      let postings = this.#postings.get(term);
      if (postings === undefined) {
        postings = new Postings();
        this.#postings.set(term, postings);
      }
      postings.add(slot, repeats[position]);
    }
    this.#documents[slot] = terms.slice(0, distinct);
    this.#lengths[slot] = tokens.length;
    this.#totalLength += tokens.length;
    this.#documentCount++;
    this.#changed = true;
  }

  remove(slot: number): void {
    const terms = this.#documents[slot];
    if (terms === undefined) return;
    for (const term of terms) {
      const postings = this.#postings.get(term);
      postings?.remove(slot);
      if (postings?.size === 0) this.#postings.delete(term);
    }
    this.#documents[slot] = undefined;
    this.#totalLength -= this.#lengths[slot];
    this.#documentCount--;
    this.#changed = true;
  }

  /**
   * Returns the scores of the documents that share a term with the query. A term that the query repeats counts each time.
   * The result is valid until the next call.
   */
  search(query: Uint32Array): Bm25Hits {
    const scores = this.#scores.fill(0);
    const norms = this.#currentNorms();
    let maximum = 0;
    const { terms, values: repeats, size: distinct } = this.#count(query);
    for (let position = 0; position < distinct; position++) {
      const postings = this.#postings.get(terms[position]);
      if (postings === undefined) continue;
      const { slots, counts, size } = postings;
      const weight = repeats[position] * inverseDocumentFrequency(this.#documentCount, size) * (BM25_K1 + 1);
      for (let at = 0; at < size; at++) {
        const slot = slots[at];
        const score = scores[slot] + (weight * counts[at]) / (counts[at] + norms[slot]);
        scores[slot] = score;
        if (score > maximum) maximum = score;
      }
    }
    return { scores, maximum };
  }

  /**
   * Returns the tf–idf vector of a query, of unit length: weight tf·ln(1 + M/(1 + df)), df over the indexed documents. A word that
   * no document has shares its weight with its character n-grams, squares adding up to the same: so other forms of it are
   * similar, and nothing else becomes more or less so.
   * @param gramsOf the n-grams of these words, by their terms; is asked only if a word is unknown. Absent: words alone.
   */
  queryTerms(
    query: Uint32Array,
    gramsOf?: (words: ReadonlySet<Term>) => ReadonlyMap<Term, readonly Term[]>,
  ): SparseVector {
    const weights = this.#count(query);
    const unknown = new Set<Term>();
    for (let position = 0; position < weights.size; position++) {
      const term = weights.terms[position];
      const frequency = this.#postings.get(term)?.size ?? 0;
      weights.values[position] *= Math.log(1 + this.#documentCount / (1 + frequency));
      if (frequency === 0) unknown.add(term);
    }
    if (unknown.size > 0 && gramsOf !== undefined) {
      for (const [term, grams] of gramsOf(unknown)) {
        const position = weights.positionOf(term);
        const weight = weights.values[position];
        weights.values[position] = weight * Math.sqrt(1 - GRAMS);
        const share = weight * Math.sqrt(GRAMS / grams.length);
        for (const gram of grams) weights.add(gram, share);
      }
    }
    const terms = weights.terms.slice(0, weights.size).sort();
    const values = new Float64Array(terms.length);
    let squares = 0;
    for (let i = 0; i < terms.length; i++) {
      values[i] = weights.values[weights.positionOf(terms[i])];
      squares += values[i] * values[i];
    }
    if (squares === 0) return EMPTY_SPARSE_VECTOR;
    const norm = Math.sqrt(squares);
    for (let i = 0; i < values.length; i++) values[i] /= norm;
    return { terms, weights: new Float32Array(values) };
  }

  /** Returns how often a text has each of its terms; valid until the next call. */
  #count(tokens: Uint32Array): TermTable {
    this.#counts.clear();
    for (let at = 0; at < tokens.length; at++) this.#counts.add(tokens[at], 1);
    return this.#counts;
  }

  #currentNorms(): Float64Array {
    if (this.#changed) {
      const average = this.#totalLength / this.#documentCount;
      for (let slot = 0; slot < this.#documents.length; slot++) {
        this.#norms[slot] = BM25_K1 * (1 - BM25_B + (BM25_B * this.#lengths[slot]) / average);
      }
      this.#changed = false;
    }
    return this.#norms;
  }

  #growTo(length: number): void {
    if (length <= this.#lengths.length) return;
    const lengths = new Float64Array(Math.max(length, Math.ceil(this.#lengths.length * 1.5)));
    lengths.set(this.#lengths);
    this.#lengths = lengths;
    this.#scores = new Float64Array(lengths.length);
    this.#norms = new Float64Array(lengths.length);
  }
}

export interface Bm25Hits {
  /** By slot; 0 where nothing matches. At least as long as the highest slot in use. */
  readonly scores: Float64Array;
  /** The largest score, 0 if nothing matches. */
  readonly maximum: number;
}

/** The documents that have a term, and how often; in no particular order. */
class Postings {
  slots = new Int32Array(2);
  counts = new Int32Array(2);
  size = 0;

  add(slot: number, count: number): void {
    if (this.size === this.slots.length) {
      this.slots = enlarged(this.slots);
      this.counts = enlarged(this.counts);
    }
    this.slots[this.size] = slot;
    this.counts[this.size++] = count;
  }

  remove(slot: number): void {
    const at = this.slots.indexOf(slot);
    if (at < 0 || at >= this.size) return;
    this.size--;
    this.slots[at] = this.slots[this.size];
    this.counts[at] = this.counts[this.size];
  }
}

function enlarged(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(Math.ceil(array.length * 1.5));
  larger.set(array);
  return larger;
}

/** Of so many documents of which so many have the term; above 0. */
export function inverseDocumentFrequency(documents: number, frequency: number): number {
  return Math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5));
}

/** Returns the terms in order of first appearance, with their counts. */
export function countTerms(tokens: Uint32Array): Map<number, number> {
  const counts = new Map<number, number>();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  return counts;
}
