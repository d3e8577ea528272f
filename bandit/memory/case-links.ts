const NONE = -1;

/**
 * What it would cost to give a case up: for each, how many decisions it stands for and which case is nearest.
 *
 * When memory is full, something has to merge. A case that merges into its nearest one leaves its decisions
 * under a query that is 1 − s away from theirs, so what is lost is decisions · (1 − s). Merging whatever costs
 * least keeps cases that stand for much, and still gives queries of a new kind a case of their own.
 *
 * Links are good guesses, not exact: they are found when a case is made, and follow when their end merges away.
 */
export class CaseLinks {
  private decisions: number[] = [];
  private nearest: number[] = [];
  private similarities: number[] = [];

  /** A case was made here; `nearest` is the one most like it, −1 if none is like it at all. */
  put(place: number, nearest: number, similarity: number): void {
    this.decisions[place] = 0;
    this.link(place, nearest, similarity);
    if (nearest !== NONE && similarity > this.similarities[nearest]) this.link(nearest, place, similarity);
  }

  /** One more decision went into the case at this place. */
  count(place: number): void {
    this.decisions[place]++;
  }

  /** The case whose merging loses least (ties: lowest place), where it would go, and what would be lost. */
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

  /** The case at `place` went into another: links that led to it lead there now. */
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

  /** The cases at these places are gone; so are the links to them. */
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
