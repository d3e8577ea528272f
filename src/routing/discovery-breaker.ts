/** The time that is looked at; ms. */
const WINDOW_MS = 60_000;
const BUCKETS = 12;
/** Fewer discoveries in a window are no storm, whatever their share: of one caller, and of all together. */
const FEW_OF_ONE = 30;
const FEW = 60;
/** More of them than this for each decision are one: nothing that is routed suffices, or agents ask in a loop. */
const MOST_SHARE = 0.8;
/** Of one caller so many decisions, and so many discoveries, count for the catalog: no one caller is a storm of all. */
const COUNTED_OF_ONE = 10;
const OPEN_MS = 15_000;
/** Callers that asked for more lately and are told apart; of more than that, those are forgotten that asked longest ago. */
const MOST_CALLERS = 10_000;

export interface BreakerState {
  /** Open: discoveries of all callers are refused until `closesAt`. */
  readonly open: boolean;
  /** ms since the epoch; null: it is closed. */
  readonly closesAt: number | null;
  /** In the last minute, as far as they are judged. */
  readonly decisions: number;
  readonly discoveries: number;
  /** Callers that are refused by themselves. */
  readonly callers: number;
}

/** For how long to wait, ms, and whether it is this caller alone that has to. */
export interface BreakerRefusal {
  readonly waitMs: number;
  readonly isCaller: boolean;
}

/**
 * Stops storms of discovery: an agent that asks in a loop, or a catalog in which nothing fits, so that every step would carry the whole
 * catalog after all. A caller, where it is known, is judged by itself: it is refused for 15 seconds when within a minute it asked 30 times,
 * and more than four times for five of its decisions. All are, when all together asked 60 times and with that share, of which one caller
 * is counted only up to ten times. To ask once about a slate of which the answer said that it does not suffice is no sign of a storm, and
 * is not counted. After the pause it begins anew. One per catalog and process; deterministic by the times that it is given (ms, of a clock that may step back).
 */
export class DiscoveryBreaker {
  readonly #all = new Circuit(FEW);
  /** By key, those that asked for more, in the order in which they last did. */
  readonly #callers = new Map<string, Caller>();

  /** Call it for every decision. @param caller key of who asked; undefined: it is not known */
  decided(now: number, caller: string | undefined): void {
    const known = caller === undefined ? undefined : this.#callers.get(caller);
    known?.circuit.decided(now);
    if (known !== undefined) known.counts = known.decisions.addUpTo(COUNTED_OF_ONE, now);
    if (known?.counts !== false) this.#all.decided(now);
  }

  /**
   * Lets a discovery through and counts it; or says why not.
   * @param isAdvised it is the first one about a slate that was said not to suffice
   */
  ask(now: number, caller: string | undefined, isAdvised: boolean): BreakerRefusal | null {
    const known = caller === undefined ? undefined : this.#callerOf(caller, now);
    const own = known?.circuit.refuses(now) ?? null;
    if (own !== null) return { waitMs: own, isCaller: true };
    const all = this.#all.refuses(now);
    if (all !== null) return { waitMs: all, isCaller: false };
    if (isAdvised) return null;
    known?.circuit.asked(now);
    const counts = known === undefined || (known.counts && known.discoveries.addUpTo(COUNTED_OF_ONE, now));
    if (counts) this.#all.asked(now);
    return null;
  }

  state(now: number): BreakerState {
    let callers = 0;
    for (const { circuit } of this.#callers.values()) if (circuit.waitMs(now) !== null) callers++;
    const wait = this.#all.waitMs(now);
    return {
      open: wait !== null,
      closesAt: wait === null ? null : now + wait,
      decisions: this.#all.decisions.count(now),
      discoveries: this.#all.discoveries.count(now),
      callers,
    };
  }

  #callerOf(key: string, now: number): Caller {
    const known = this.#callers.get(key) ?? new Caller(now);
    this.#callers.delete(key);
    this.#callers.set(key, known);
    if (this.#callers.size > MOST_CALLERS) this.#callers.delete(this.#callers.keys().next().value!);
    return known;
  }
}

/** What one caller did, and what of it counts for the catalog. */
class Caller {
  readonly circuit = new Circuit(FEW_OF_ONE);
  readonly decisions = new Window();
  readonly discoveries = new Window();
  /** Whether its last decision was counted: what it asks about others is not counted either, so that shares stay as they are. */
  counts = true;

  /** It made a decision before it could ask for more. */
  constructor(now: number) {
    this.circuit.decided(now);
  }
}

/** Closed until there is a storm, then open for a time, in which nothing is let through, and nothing counted. */
class Circuit {
  readonly decisions = new Window();
  readonly discoveries = new Window();
  readonly #few: number;
  #openedAt = Number.NEGATIVE_INFINITY;

  constructor(few: number) {
    this.#few = few;
  }

  decided(now: number): void {
    this.decisions.add(now);
  }

  asked(now: number): void {
    this.discoveries.add(now);
  }

  /** Opens in a storm. Returns for how long to wait, ms; null: it is closed. */
  refuses(now: number): number | null {
    const wait = this.waitMs(now);
    const discoveries = this.discoveries.count(now);
    if (wait !== null || discoveries < this.#few) return wait;
    if (discoveries <= MOST_SHARE * this.decisions.count(now)) return null;
    this.#openedAt = now;
    // What comes after the pause is judged by itself.
    this.discoveries.clear();
    return OPEN_MS;
  }

  waitMs(now: number): number | null {
    return now >= this.#openedAt && now < this.#openedAt + OPEN_MS ? this.#openedAt + OPEN_MS - now : null;
  }
}

/** Counts what happened in the last minute, in steps of five seconds. */
class Window {
  readonly #counts = new Float64Array(BUCKETS);
  readonly #times = new Float64Array(BUCKETS).fill(-1);

  add(now: number): void {
    const time = bucketOf(now);
    const at = time % BUCKETS;
    if (this.#times[at] !== time) {
      this.#times[at] = time;
      this.#counts[at] = 0;
    }
    this.#counts[at]++;
  }

  /** Adds one, if there are fewer than this; or returns false. */
  addUpTo(most: number, now: number): boolean {
    if (this.count(now) >= most) return false;
    this.add(now);
    return true;
  }

  count(now: number): number {
    const newest = bucketOf(now);
    let sum = 0;
    for (let at = 0; at < BUCKETS; at++) {
      if (this.#times[at] > newest - BUCKETS && this.#times[at] <= newest) sum += this.#counts[at];
    }
    return sum;
  }

  clear(): void {
    this.#times.fill(-1);
  }
}

function bucketOf(now: number): number {
  return Math.max(0, Math.floor((now * BUCKETS) / WINDOW_MS));
}
