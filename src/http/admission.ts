/** Requests of one class wait for each other, and not for those of another one. */
export type RequestClass = 'route' | 'reward' | 'read' | 'change';

export interface AdmissionOptions {
  /** How long requests may wait for their turn where there is always one that waits, ms. */
  readonly maxWaitMs: number;
  /** Steady, ms. */
  readonly now: () => number;
}

/** A request that is waiting or in progress. */
export interface Ticket {
  /** Its turn: true when it has come, false when it gave up before. */
  readonly turn: Promise<boolean>;
  readonly isWaiting: boolean;
  /** Its client is gone; without effect once its turn has come. */
  giveUp(): void;
  /** There is nothing to do for it now, since it waits for its client: it gives its slot to another one. */
  pause(): void;
  /** There is something to do for it again; it does not wait for a slot. */
  resume(): void;
  /** It is done. */
  leave(): void;
}

/** A turn of the event loop that took longer than this had too much to do, ms. */
const LONG_TURN_MS = 4;
/** So many of a class are always let in: turns can be long for other reasons. */
const MIN_RUNNING = 4;
const FIRST_RUNNING = 8;
/** Even if there is little to do for each. */
const MAX_RUNNING = 1000;
/** Weight of the newest one in the mean time between two that are let in from a queue. */
const NEWEST = 0.03;
/**
 * So many of a class may always wait: clients that send the next request when they have the answer to the last one keep a
 * queue standing that does not grow, and refusing them would take the processor from those who are served.
 */
const MIN_WAITING = 28;
/** A queue that was empty so recently is a burst, ms. */
const BURST_MS = 100;
/** How much longer requests may wait in a burst. */
const BURST_FACTOR = 2;

/**
 * Lets in as many requests as there is time for, and refuses the others at once.
 *
 * There are two queues in a Node process. The hidden one is the event loop: what was let in shares its turns, and the
 * more there is, the longer everybody waits for the next turn. The length of turns is measured, and how many may be in
 * progress follows it, by additive increase and multiplicative decrease (Chiu and Jain 1989; as in Netflix's
 * concurrency-limits). Requests that wait for other machines make no turn longer, so they do not count.
 *
 * The other queue is here, where requests wait for a free slot. It is kept short in time and not in length: the
 * mean time between two that were let in from it tells how long the next one would wait. A queue that is empty now and
 * then is a burst and may be longer than one that stands (Nichols and Jacobson, "Controlling queue delay", 2012; as at
 * Facebook, Maurer, "Fail at scale", 2015). Unlike there, a request that would wait for too long is refused on arrival: an
 * early answer is worth more than a slot.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #lanes: Record<RequestClass, Lane>;
  #running = FIRST_RUNNING;
  #draining = false;

  constructor(options: Partial<AdmissionOptions> = {}) {
    this.#options = { maxWaitMs: 15, now: () => performance.now(), ...options };
    const lane = (): Lane => new Lane(this.#options, () => Math.floor(this.#running));
    this.#lanes = { route: lane(), reward: lane(), read: lane(), change: lane() };
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** From now on no request is let in; those that wait already are. */
  drain(): void {
    this.#draining = true;
  }

  /** @returns null if it would have to wait for too long. */
  enter(kind: RequestClass): Ticket | null {
    return this.#lanes[kind].enter();
  }

  /** To be called with the length of turns of the event loop while there are requests. */
  turnTook(ms: number): void {
    const lanes = Object.values(this.#lanes);
    if (ms > LONG_TURN_MS) this.#running = Math.max(MIN_RUNNING, this.#running * 0.8);
    else if (lanes.some((lane) => lane.isFull)) {
      this.#running = Math.min(MAX_RUNNING, this.#running + 1 - ms / LONG_TURN_MS);
      for (const lane of lanes) lane.advance();
    }
  }
}

class Lane {
  readonly #options: AdmissionOptions;
  readonly #limit: () => number;
  readonly #waiting = new Set<Place>();
  #running = 0;
  /** Mean time between two that are let in while others wait, ms. */
  #interval = 2;
  #lastLetIn = 0;
  #lastEmpty = 0;

  constructor(options: AdmissionOptions, limit: () => number) {
    this.#options = options;
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#running >= this.#limit();
  }

  enter(): Ticket | null {
    const now = this.#options.now();
    const place = new Place(this, now);
    if (this.#waiting.size === 0) this.#lastEmpty = now;
    if (!this.isFull && this.#waiting.size === 0) {
      this.#running++;
      place.begin();
      return place;
    }
    const [oldest] = this.#waiting;
    if (oldest === undefined) this.#lastLetIn = now;
    const inBurst = this.#options.maxWaitMs * BURST_FACTOR;
    const most = now - this.#lastEmpty < BURST_MS ? inBurst : this.#options.maxWaitMs;
    const isStuck = oldest !== undefined && now - oldest.since > inBurst;
    const isShort = this.#waiting.size < MIN_WAITING;
    if (!isShort && (isStuck || (this.#waiting.size + 1) * this.#interval > most)) return null;
    this.#waiting.add(place);
    return place;
  }

  /** Lets in as many as there are free slots. */
  advance(): void {
    for (const place of this.#waiting) {
      if (this.isFull) return;
      const now = this.#options.now();
      this.#interval += NEWEST * (now - this.#lastLetIn - this.#interval);
      this.#lastLetIn = now;
      this.#waiting.delete(place);
      this.#running++;
      place.begin();
    }
  }

  count(change: 1 | -1): void {
    this.#running += change;
    if (change < 0) this.advance();
  }

  forget(place: Place): void {
    this.#waiting.delete(place);
  }
}

class Place implements Ticket {
  readonly turn: Promise<boolean>;
  readonly since: number;
  readonly #lane: Lane;
  #state: 'waiting' | 'running' | 'paused' | 'gone' = 'waiting';
  #settle: (isTurn: boolean) => void = () => {};

  constructor(lane: Lane, since: number) {
    this.#lane = lane;
    this.since = since;
    this.turn = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get isWaiting(): boolean {
    return this.#state === 'waiting';
  }

  begin(): void {
    this.#state = 'running';
    this.#settle(true);
  }

  giveUp(): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'gone';
    this.#lane.forget(this);
    this.#settle(false);
  }

  pause(): void {
    if (this.#state !== 'running') return;
    this.#state = 'paused';
    this.#lane.count(-1);
  }

  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'running';
    this.#lane.count(1);
  }

  leave(): void {
    const wasRunning = this.#state === 'running';
    this.#state = 'gone';
    if (wasRunning) this.#lane.count(-1);
  }
}
