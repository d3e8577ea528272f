import { BM25_B, BM25_K1, countTerms, inverseDocumentFrequency } from './bm25.ts';

/** Terms of a query by their last bits: most tokens of documents are none of its terms, and seen to be none at once. */
const BITS = 1023;

/**
 * Okapi BM25 of a few short documents that never change, as of `Bm25Index`, bit for bit. Their tokens lie side by side and a query reads
 * them all: of a thousand notes that takes microseconds, and making an inverted index of them takes longer than all that is asked of it.
 */
export class ShortDocuments {
  /** Tokens of document i are those from `#starts[i]` to `#starts[i + 1]`. */
  readonly #tokens: Uint32Array;
  readonly #starts: Uint32Array;
  /** k1·(1 − b + b·length/average). */
  readonly #norms: Float64Array;
  readonly #isTerm = new Uint8Array(BITS + 1);

  /** @param documents their tokens, of `tokenise` */
  constructor(documents: readonly Uint32Array[]) {
    this.#starts = new Uint32Array(documents.length + 1);
    for (const [at, { length }] of documents.entries()) this.#starts[at + 1] = this.#starts[at] + length;
    const total = this.#starts[documents.length];
    this.#tokens = new Uint32Array(total);
    for (const [at, tokens] of documents.entries()) this.#tokens.set(tokens, this.#starts[at]);
    const average = total / documents.length;
    this.#norms = Float64Array.from(
      documents,
      ({ length }) => BM25_K1 * (1 - BM25_B + (BM25_B * length) / average),
    );
  }

  /** Returns the score of each document; 0: it shares no term with the query. A term that the query repeats counts each time. */
  scores(query: Uint32Array): Float64Array {
    const n = this.#norms.length;
    const scores = new Float64Array(n);
    const terms = [...countTerms(query)];
    const numbers = new Map(terms.map(([term], number) => [term, number]));
    for (const [term] of terms) this.#isTerm[term & BITS] = 1;
    const frequencies = new Uint32Array(terms.length);
    const found: { readonly document: number; readonly counts: Map<number, number> }[] = [];
    for (let document = 0; document < n; document++) {
      const counts = this.#countIn(document, numbers);
      if (counts === null) continue;
      for (const number of counts.keys()) frequencies[number]++;
      found.push({ document, counts });
    }
    for (const [term] of terms) this.#isTerm[term & BITS] = 0;
    const weights = terms.map(
      ([, repeats], number) => repeats * inverseDocumentFrequency(n, frequencies[number]) * (BM25_K1 + 1),
    );
    for (const { document, counts } of found) {
      // In the order of the query, as sums depend on it.
      const inOrder = counts.size > 1 ? [...counts].sort(([a], [b]) => a - b) : counts;
      for (const [number, count] of inOrder) {
        scores[document] += (weights[number] * count) / (count + this.#norms[document]);
      }
    }
    return scores;
  }

  /** How often a document has each term, by the term's number; null: it has none. */
  #countIn(document: number, numbers: ReadonlyMap<number, number>): Map<number, number> | null {
    let counts: Map<number, number> | null = null;
    for (let at = this.#starts[document]; at < this.#starts[document + 1]; at++) {
      const token = this.#tokens[at];
      if (this.#isTerm[token & BITS] === 0) continue;
      const number = numbers.get(token);
      if (number === undefined) continue;
      counts ??= new Map();
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    return counts;
  }
}
