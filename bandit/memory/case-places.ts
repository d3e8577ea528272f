/** A case id is its place, plus this for every time the place was emptied before. */
export const PLACES_LIMIT = 2 ** 20;
const EMPTY = -1;

/**
 * Gives every case a place, which is its index into the arrays of outcome memory, and an id, which is never used again, so that
 * an id that was kept leads to the same case or to none.
 */
export class CasePlaces {
  /** Time of the newest decision of the case at this place, ms since the epoch; −1: the place is empty. */
  private lastSeen: number[] = [];
  /** How often this place was emptied. */
  private generations: number[] = [];
  private live = 0;
  /** No empty place lies below this. */
  private lowest = 0;

  /** Live cases. */
  get size(): number {
    return this.live;
  }

  /** All places lie below this. */
  get count(): number {
    return this.lastSeen.length;
  }

  /** Returns the lowest empty place, which is in use from now on. */
  open(): number {
    const hasEmpty = this.live < this.lastSeen.length;
    const place = hasEmpty ? this.lastSeen.indexOf(EMPTY, this.lowest) : this.lastSeen.length;
    this.lowest = place + 1;
    this.lastSeen[place] = 0;
    this.generations[place] ??= 0;
    this.live++;
    return place;
  }

  /** Empties this place. */
  close(place: number): void {
    this.lastSeen[place] = EMPTY;
    this.generations[place]++;
    this.live--;
    this.lowest = Math.min(this.lowest, place);
  }

  /** Sets the time of the newest decision of the case at this place, ms since the epoch. */
  see(place: number, at: number): void {
    this.lastSeen[place] = Math.max(this.lastSeen[place], at);
  }

  /** Gives the case at `into` the newer of its time and that of the case at `place`. */
  merge(place: number, into: number): void {
    this.see(into, this.lastSeen[place]);
  }

  has(place: number): boolean {
    return place >= 0 && place < this.lastSeen.length && this.lastSeen[place] !== EMPTY;
  }

  /** Returns the case whose newest decision is the oldest (ties: lowest place); −1 when there is none. */
  quietest(): number {
    let quietest = EMPTY;
    for (let place = 0; place < this.lastSeen.length; place++) {
      if (!this.has(place)) continue;
      if (quietest === EMPTY || this.lastSeen[place] < this.lastSeen[quietest]) quietest = place;
    }
    return quietest;
  }

  /** Returns the place of the case with this id; −1 when it is gone. */
  find(caseId: number): number {
    const place = caseId % PLACES_LIMIT;
    return this.has(place) && this.idOf(place) === caseId ? place : EMPTY;
  }

  idOf(place: number): number {
    return place + PLACES_LIMIT * this.generations[place];
  }

  save(): SavedPlaces {
    return { lastSeen: Float64Array.from(this.lastSeen), generations: Float64Array.from(this.generations) };
  }

  static load({ lastSeen, generations }: SavedPlaces): CasePlaces {
    const places = new CasePlaces();
    places.lastSeen = Array.from(lastSeen);
    places.generations = Array.from(generations);
    places.live = lastSeen.filter((at) => at !== EMPTY).length;
    return places;
  }

  get bytes(): number {
    return 16 * this.lastSeen.length;
  }
}

export interface SavedPlaces {
  readonly lastSeen: Float64Array;
  readonly generations: Float64Array;
}

/** Corrections come within a reward window; older merges can be forgotten. */
const REMEMBERED_MERGES = 1000;

/** Keeps which cases merged into which others, by id, so that a late correction finds them. */
export class MergedCases {
  private readonly into = new Map<number, number>();

  add(caseId: number, into: number): void {
    this.into.set(caseId, into);
    if (this.into.size <= REMEMBERED_MERGES) return;
    for (const oldest of this.into.keys()) {
      this.into.delete(oldest);
      return;
    }
  }

  /** Returns the id of the case that this one merged into; its own id if it never merged, or too long ago. */
  resolve(caseId: number): number {
    let id = caseId;
    for (let next = this.into.get(id); next !== undefined; next = this.into.get(id)) id = next;
    return id;
  }

  /** Returns pairs of ids, from and into, oldest first. */
  save(): Float64Array {
    return Float64Array.from([...this.into].flat());
  }

  static load(saved: Float64Array): MergedCases {
    const merged = new MergedCases();
    for (let i = 0; i < saved.length; i += 2) merged.into.set(saved[i], saved[i + 1]);
    return merged;
  }
}
