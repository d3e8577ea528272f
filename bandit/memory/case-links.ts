import { enlarged } from '../columns.ts';

const NONE = -1;
const FIRST_PLACES = 64;
/** Places whose least cost is kept. */
const BLOCK = 64;

/**
 * Keeps, for each case, how many decisions it stands for and which case is nearest, to find the case whose merging costs least.
 *
 * When memory is full, two cases have to merge. The decisions of a case that merges into its nearest one get a query that is
 * 1 − s away from theirs, so the cost is decisions · (1 − s). Merging the case of the least cost keeps cases of many decisions,
 * and leaves room for queries of a new kind.
 *
 * Links are approximate: they are found when a case is added, and follow the nearest case when it merges into another one.
 */
export class CaseLinks {
  /** All places lie below this. */
  private places = 0;
  private decisions = new Float64Array(FIRST_PLACES);
  private nearest = new Int32Array(FIRST_PLACES).fill(NONE);
  private similarities = new Float64Array(FIRST_PLACES);
  /** decisions · (1 − similarity); ∞ without a link. */
  private costs = new Float64Array(FIRST_PLACES).fill(Number.POSITIVE_INFINITY);
  /** By block of places: the one of the least cost (the lowest of several), NONE where costs have changed since. */
  private cheapestOf = new Int32Array(FIRST_PLACES / BLOCK).fill(NONE);

  /** Adds a case; `nearest` is the most similar one, −1 if none is similar. */
  put(place: number, nearest: number, similarity: number): void {
    this.reserve(place + 1);
    this.decisions[place] = 0;
    this.link(place, nearest, similarity);
    if (nearest !== NONE && similarity > this.similarities[nearest]) this.link(nearest, place, similarity);
  }

  /** Counts one more decision of the case at this place. */
  count(place: number): void {
    this.decisions[place]++;
    this.link(place, this.nearest[place], this.similarities[place]);
  }

  /** Returns the case whose merging costs least (ties: lowest place), the case that it would merge into, and the cost. */
  cheapest(): { readonly place: number; readonly into: number; readonly loss: number } | null {
    const { costs, places } = this;
    let place = NONE;
    let loss = Number.POSITIVE_INFINITY;
    for (let block = 0; block * BLOCK < places; block++) {
      const candidate = this.cheapestIn(block);
      if (costs[candidate] >= loss) continue;
      place = candidate;
      loss = costs[candidate];
    }
    return place === NONE ? null : { place, into: this.nearest[place], loss };
  }

  private cheapestIn(block: number): number {
    const { costs, cheapestOf, places } = this;
    if (cheapestOf[block] !== NONE) return cheapestOf[block];
    let place = block * BLOCK;
    const end = Math.min(place + BLOCK, places);
    for (let other = place + 1; other < end; other++) if (costs[other] < costs[place]) place = other;
    cheapestOf[block] = place;
    return place;
  }

  /** Removes the case at `place`, which merged into another: links to it lead to that one now. */
  merge(place: number, into: number): void {
    const similarity = this.similarities[place];
    this.decisions[into] += this.decisions[place];
    this.link(into, this.nearest[into], this.similarities[into]);
    this.clear(place);
    const { nearest } = this;
    for (let other = nearest.indexOf(place); other !== NONE; other = nearest.indexOf(place, other + 1)) {
      if (other === into) this.link(other, NONE, 0);
      else this.link(other, into, Math.min(similarity, this.similarities[other]));
    }
  }

  /** Removes the cases at these places, and the links to them. */
  remove(places: readonly number[]): void {
    const gone = new Uint8Array(this.places);
    for (const place of places) {
      gone[place] = 1;
      this.clear(place);
    }
    for (let other = 0; other < this.places; other++) {
      if (this.nearest[other] !== NONE && gone[this.nearest[other]] === 1) this.link(other, NONE, 0);
    }
  }

  save(): SavedLinks {
    const { places } = this;
    return {
      decisions: this.decisions.slice(0, places),
      nearest: this.nearest.slice(0, places),
      similarities: this.similarities.slice(0, places),
    };
  }

  static load({ decisions, nearest, similarities }: SavedLinks): CaseLinks {
    const links = new CaseLinks();
    links.reserve(nearest.length);
    links.decisions.set(decisions);
    for (let place = 0; place < nearest.length; place++) {
      links.link(place, nearest[place], similarities[place]);
    }
    return links;
  }

  get bytes(): number {
    return 28 * this.nearest.length;
  }

  private link(place: number, nearest: number, similarity: number): void {
    this.nearest[place] = nearest;
    this.similarities[place] = similarity;
    this.cheapestOf[Math.floor(place / BLOCK)] = NONE;
    this.costs[place] =
      nearest === NONE ? Number.POSITIVE_INFINITY : this.decisions[place] * (1 - similarity);
  }

  private clear(place: number): void {
    this.decisions[place] = 0;
    this.link(place, NONE, 0);
  }

  private reserve(places: number): void {
    this.places = Math.max(this.places, places);
    if (places <= this.nearest.length) return;
    const room = Math.max(places, 2 * this.nearest.length);
    this.decisions = enlarged(this.decisions, new Float64Array(room));
    this.nearest = enlarged(this.nearest, new Int32Array(room).fill(NONE));
    this.similarities = enlarged(this.similarities, new Float64Array(room));
    this.costs = enlarged(this.costs, new Float64Array(room).fill(Number.POSITIVE_INFINITY));
    this.cheapestOf = new Int32Array(Math.ceil(room / BLOCK)).fill(NONE);
  }
}

export interface SavedLinks {
  readonly decisions: Float64Array;
  readonly nearest: Int32Array;
  readonly similarities: Float64Array;
}
