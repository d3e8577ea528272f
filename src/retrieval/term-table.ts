const FIRST_ROOM = 64;
/** Spreads neighbours over the table. */
const SPREAD = 0x9e3779b1;

/**
 * A number for each term of one text, in order of first appearance. It is used for one text after the other, because a `Map` of
 * large numbers takes several times as long, and queries are made of few terms.
 */
export class TermTable {
  /** Number of different terms. */
  size = 0;
  /** The first `size` elements, in order of first appearance. */
  terms = new Uint32Array(FIRST_ROOM);
  /** Of the terms with the same positions. */
  values = new Float64Array(FIRST_ROOM);
  /** Position plus one, by open addressing; 0: free. At least half of the places are free. */
  #places = new Int32Array(2 * FIRST_ROOM);
  /** In which place each position is. */
  #placeOf = new Int32Array(FIRST_ROOM);

  /** Forgets all terms. */
  clear(): void {
    for (let position = 0; position < this.size; position++) this.#places[this.#placeOf[position]] = 0;
    this.size = 0;
  }

  /** Adds to the value of a term, which is 0 at first. */
  add(term: number, value: number): void {
    const place = this.#find(term);
    const position = this.#places[place] - 1;
    if (position >= 0) {
      this.values[position] += value;
      return;
    }
    this.terms[this.size] = term;
    this.values[this.size] = value;
    this.#placeOf[this.size] = place;
    this.#places[place] = ++this.size;
    if (this.size === this.terms.length) this.#grow();
  }

  /** −1: it is not there. */
  positionOf(term: number): number {
    return this.#places[this.#find(term)] - 1;
  }

  /** The place of a term, or the free one where it belongs. */
  #find(term: number): number {
    const places = this.#places;
    const last = places.length - 1;
    let place = (Math.imul(term, SPREAD) >>> 7) & last;
    while (places[place] > 0 && this.terms[places[place] - 1] !== term) place = (place + 1) & last;
    return place;
  }

  #grow(): void {
    const room = 2 * this.terms.length;
    const { terms, values } = this;
    this.terms = new Uint32Array(room);
    this.terms.set(terms);
    this.values = new Float64Array(room);
    this.values.set(values);
    this.#places = new Int32Array(2 * room);
    this.#placeOf = new Int32Array(room);
    for (let position = 0; position < this.size; position++) {
      const place = this.#find(this.terms[position]);
      this.#placeOf[position] = place;
      this.#places[place] = position + 1;
    }
  }
}
