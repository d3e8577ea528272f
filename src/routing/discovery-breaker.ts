/** The time that is looked at; ms. */
const WINDOW_MS = 60_000;
const BUCKETS = 60;
/** Fewer discoveries in a window are no storm. */
const FEW = 20;
/** More of them than this for each decision are: nothing that is routed suffices, or an agent asks in a loop. */
const MOST_SHARE = 0.5;
/** So many are one, whatever their share. */
const MOST = 600;
const OPEN_MS = 15_000;

export interface BreakerState {
  /** Open: discoveries are refused until `closesAt`. */
  readonly open: boolean;
  /** ms since the epoch; null: it is closed. */
  readonly closesAt: number | null;
  /** In the last minute. */
  readonly decisions: number;
  readonly discoveries: number;
}

/**
 * Stops storms of discovery: an agent that asks in a loop, or a catalog in which nothing fits, so that every step would carry the whole
 * catalog after all. It is *closed* until, within a minute, there are 20 discoveries and more of them than one for two decisions, or 600 of
 * them. Then it is *open* for 15 seconds, in which none are let through and none are counted, and closes by itself; it opens again where
 * the storm goes on. One per catalog and process; deterministic by the times that it is given (ms, of a clock that may step back).
 */
export class DiscoveryBreaker {
  readonly #decisions = new Window();
  readonly #discoveries = new Window();
  #openedAt = Number.NEGATIVE_INFINITY;

  /** Call it for every decision. */
  decided(now: number): void {
    this.#decisions.add(now);
  }

  /** Lets a discovery through and counts it; or returns for how long to wait, ms. */
  ask(now: number): number | null {
    if (!this.#isOpen(now) && this.#isStorm(now)) {
      this.#openedAt = now;
      // What comes after the pause is judged by itself.
      this.#discoveries.clear();
    }
    if (this.#isOpen(now)) return this.#openedAt + OPEN_MS - now;
    this.#discoveries.add(now);
    return null;
  }

  state(now: number): BreakerState {
    const open = this.#isOpen(now);
    return {
      open,
      closesAt: open ? this.#openedAt + OPEN_MS : null,
      decisions: this.#decisions.count(now),
      discoveries: this.#discoveries.count(now),
    };
  }

  #isOpen(now: number): boolean {
    return now >= this.#openedAt && now < this.#openedAt + OPEN_MS;
  }

  #isStorm(now: number): boolean {
    const discoveries = this.#discoveries.count(now);
    if (discoveries < FEW) return false;
    return discoveries >= MOST || discoveries > MOST_SHARE * this.#decisions.count(now);
  }
}

/** Counts what happened in the last minute, by seconds. */
class Window {
  readonly #counts = new Float64Array(BUCKETS);
  readonly #seconds = new Float64Array(BUCKETS).fill(-1);

  add(now: number): void {
    const second = secondOf(now);
    const at = second % BUCKETS;
    if (this.#seconds[at] !== second) {
      this.#seconds[at] = second;
      this.#counts[at] = 0;
    }
    this.#counts[at]++;
  }

  count(now: number): number {
    const newest = secondOf(now);
    let sum = 0;
    for (let at = 0; at < BUCKETS; at++) {
      if (this.#seconds[at] > newest - BUCKETS && this.#seconds[at] <= newest) sum += this.#counts[at];
    }
    return sum;
  }

  clear(): void {
    this.#seconds.fill(-1);
  }
}

function secondOf(now: number): number {
  return Math.max(0, Math.floor((now * BUCKETS) / WINDOW_MS));
}
