import { Admission, type RequestClass } from '../../src/http/admission.ts';

/** How a class of requests arrives, and what each needs of the loop and of others. */
export interface Stream {
  readonly kind: RequestClass;
  readonly perSecond: number;
  /** So many clients instead, each of which asks again as soon as it has its answer. */
  readonly clients?: number;
  /** Time in the loop, in two pieces with a wait between them, ms. */
  readonly work: readonly [number, number];
  readonly elsewhereMs: number;
}

export interface Seen {
  readonly accepted: number[];
  readonly refused: number[];
}

interface Event {
  readonly at: number;
  readonly run: () => void;
}

const REFUSAL_MS = 0.07;
/** Refusals are paced, as in front.ts. */
const REFUSE_EVERY_MS = 4;
const MAX_REFUSED_AT_ONCE = 20;
const MAX_UNREFUSED = 100;

/**
 * A Node process in simulated time: every turn of its loop runs what had become ready before it, one after the other,
 * and what a request waits for elsewhere happens meanwhile. Requests arrive at random.
 *
 * @param stalls how often the whole process stands still, and for how long, ms.
 * @returns what became of the requests of each stream, with times from arrival.
 */
export async function simulate(
  streams: readonly Stream[],
  options: {
    readonly seconds: number;
    readonly random: () => number;
    readonly stalls?: { readonly everyMs: number; readonly ms: number };
    readonly maxWaitMs?: number;
  },
): Promise<Seen[]> {
  let clock = 0;
  const now = (): number => clock;
  const admission = new Admission({ now, ...(options.maxWaitMs && { maxWaitMs: options.maxWaitMs }) });
  const end = options.seconds * 1000;
  const arrivals: Event[] = [];
  let underway: Event[] = [];
  const seen = streams.map((): Seen => ({ accepted: [], refused: [] }));
  let isMeasured = false;

  let tick = 0;
  let inTick = 0;
  const nextRefusal = (): number => {
    const soonest = Math.floor(clock / REFUSE_EVERY_MS) + 1;
    if (tick > soonest + MAX_UNREFUSED / MAX_REFUSED_AT_ONCE) return clock;
    if (soonest > tick || inTick === MAX_REFUSED_AT_ONCE) {
      tick = Math.max(soonest, tick + (soonest > tick ? 0 : 1));
      inTick = 0;
    }
    inTick++;
    return tick * REFUSE_EVERY_MS;
  };

  const arrive = (stream: Stream, at: number, into: Seen, list: Event[] = arrivals): void => {
    const again = (): void => {
      if (stream.clients !== undefined && clock < end) arrive(stream, clock, into, underway);
    };
    list.push({
      at,
      run: () => {
        isMeasured = true;
        const ticket = admission.enter(stream.kind);
        if (ticket === null) {
          underway.push({
            at: nextRefusal(),
            run: () => {
              clock += REFUSAL_MS;
              into.refused.push(clock - at);
              again();
            },
          });
          return;
        }
        void ticket.turn.then(() => {
          clock += stream.work[0];
          underway.push({
            at: clock + stream.elsewhereMs * (0.5 + options.random()),
            run: () => {
              clock += stream.work[1];
              into.accepted.push(clock - at);
              ticket.leave();
              again();
            },
          });
        });
      },
    });
  };
  for (const [index, stream] of streams.entries()) {
    for (let client = 0; client < (stream.clients ?? 0); client++) arrive(stream, 0, seen[index]);
    for (let at = 0; stream.clients === undefined; ) {
      at += (-Math.log(1 - options.random()) * 1000) / stream.perSecond;
      if (at > end) break;
      arrive(stream, at, seen[index]);
    }
  }
  arrivals.sort((a, b) => a.at - b.at);

  let next = 0;
  for (
    let nextStall = options.stalls?.everyMs ?? Number.POSITIVE_INFINITY;
    next < arrivals.length || underway.length > 0;
  ) {
    const first = underway.reduce((least, { at }) => Math.min(least, at), arrivals[next]?.at ?? end * 10);
    clock = Math.max(clock, first);
    const start = clock;
    const due = underway.filter(({ at }) => at <= start);
    underway = underway.filter(({ at }) => at > start);
    for (; next < arrivals.length && arrivals[next].at <= start; next++) due.push(arrivals[next]);
    for (const event of due.sort((a, b) => a.at - b.at)) {
      event.run();
      // Promises are kept before the next event, as in Node.
      for (let i = 0; i < 3; i++) await null;
    }
    if (clock > nextStall) {
      clock += options.stalls?.ms ?? 0;
      nextStall = clock + (options.stalls?.everyMs ?? 0);
    }
    if (isMeasured) admission.turnTook(clock - start);
    for (let i = 0; i < 3; i++) await null;
    isMeasured = false;
  }
  return seen;
}

export function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
