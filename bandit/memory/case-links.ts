const NONE = -1;

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
  private decisions: number[] = [];
  private nearest: number[] = [];
  private similarities: number[] = [];

  /** Adds a case; `nearest` is the most similar one, −1 if none is similar. */
  put(place: number, nearest: number, similarity: number): void {
    this.decisions[place] = 0;
    this.link(place, nearest, similarity);
    if (nearest !== NONE && similarity > this.similarities[nearest]) this.link(nearest, place, similarity);
  }

  /** Counts one more decision of the case at this place. */
  count(place: number): void {
    this.decisions[place]++;
  }

  /** Returns the case whose merging costs least (ties: lowest place), the case that it would merge into, and the cost. */
  cheapest(): { readonly place: number; readonly into: number; readonly loss: number } | null {
    let place = NONE;
    let loss = Number.POSITIVE_INFINITY;
    for (let candidate = 0; candidate < this.nearest.length; candidate++) {
      if (this.nearest[candidate] === NONE) continue;
      const cost = this.decisions[candidate] * (1 - this.similarities[candidate]);
      if (cost >= loss) continue;
      place = candidate;
      loss = cost;
    }
    return place === NONE ? null : { place, into: this.nearest[place], loss };
  }

  /** Removes the case at `place`, which merged into another: links to it lead to that one now. */
  merge(place: number, into: number): void {
    const similarity = this.similarities[place];
    this.decisions[into] += this.decisions[place];
    this.clear(place);
    for (let other = 0; other < this.nearest.length; other++) {
      if (this.nearest[other] !== place) continue;
      if (other === into) this.link(other, NONE, 0);
      else this.link(other, into, Math.min(similarity, this.similarities[other]));
    }
  }

  /** Removes the cases at these places, and the links to them. */
  remove(places: readonly number[]): void {
    const gone = new Uint8Array(this.nearest.length);
    for (const place of places) {
      gone[place] = 1;
      this.clear(place);
    }
    for (let other = 0; other < this.nearest.length; other++) {
      if (this.nearest[other] !== NONE && gone[this.nearest[other]] === 1) this.link(other, NONE, 0);
    }
  }

  save(): SavedLinks {
    return {
      decisions: Float64Array.from(this.decisions),
      nearest: Int32Array.from(this.nearest),
      similarities: Float64Array.from(this.similarities),
    };
  }

  static load(saved: SavedLinks): CaseLinks {
    const links = new CaseLinks();
    links.decisions = Array.from(saved.decisions);
    links.nearest = Array.from(saved.nearest);
    links.similarities = Array.from(saved.similarities);
    return links;
  }

  get bytes(): number {
    return 24 * this.nearest.length;
  }

  private link(place: number, nearest: number, similarity: number): void {
    this.nearest[place] = nearest;
    this.similarities[place] = similarity;
  }

  private clear(place: number): void {
    this.decisions[place] = 0;
    this.link(place, NONE, 0);
  }
}

export interface SavedLinks {
  readonly decisions: Float64Array;
  readonly nearest: Int32Array;
  readonly similarities: Float64Array;
}
