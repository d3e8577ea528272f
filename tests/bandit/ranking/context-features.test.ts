import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CONTEXT_FEATURES,
  type ContextCandidate,
  type ContextMoment,
  contextFeatures,
} from '../../../bandit/ranking/context-features.ts';
import { hourOf, UsageSignals, weekdayOf } from '../../../bandit/ranking/usage-signals.ts';

/** Monday, 2026-06-01, 08:30. */
const MONDAY = 1_780_272_000 + 8.5 * 3600;
const DAY = 86_400;
const HOUR = 3600;

const use = { place: null, tools: [], items: [], query: null } as const;
const moment: ContextMoment = {
  query: null,
  mapped: null,
  now: MONDAY,
  place: null,
  tools: new Map(),
  recent: [],
};

function candidate(id: string, rest: Partial<ContextCandidate> = {}): ContextCandidate {
  return {
    id,
    store: 'mail',
    usage: new UsageSignals(),
    put: MONDAY - DAY,
    at: Number.NaN,
    vector: null,
    words: 0,
    ...rest,
  };
}

/** The features of one candidate by name. */
function named(candidates: readonly ContextCandidate[], of: number, asked: Partial<ContextMoment> = {}) {
  const features = contextFeatures(candidates, { ...moment, ...asked });
  const row = CONTEXT_FEATURES.map((name, column) => [name, features[of * CONTEXT_FEATURES.length + column]]);
  return Object.fromEntries(row) as Record<(typeof CONTEXT_FEATURES)[number], number>;
}

describe('what is known of use', () => {
  it('has the hour and the day that a clock shows there, before 1970 as well', () => {
    expect([hourOf(MONDAY), weekdayOf(MONDAY)]).toEqual([8, 1]);
    fc.assert(
      fc.property(fc.integer({ min: -4_000_000_000, max: 4_000_000_000 }), (time) => {
        const date = new Date(time * 1000);
        expect([hourOf(time), weekdayOf(time)]).toEqual([date.getUTCHours(), date.getUTCDay()]);
      }),
    );
  });

  it('halves in 30 days, each count as if all uses had been weighed by their age', () => {
    const times = fc.array(fc.integer({ min: 0, max: 200 * DAY }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(times, fc.integer({ min: 0, max: 90 * DAY }), (unsorted, later) => {
        const sorted = unsorted.toSorted((a, b) => a - b);
        const usage = new UsageSignals();
        for (const time of sorted) usage.note({ ...use, time, place: `${time % 3}`, tools: ['a'] });
        const last = sorted[sorted.length - 1];
        const aged = (now: number, some = sorted): number =>
          some.reduce((sum, time) => sum + 2 ** (-(now - time) / (30 * DAY)), 0);
        expect(usage.usesAt(last + later)).toBeCloseTo(aged(last + later), 9);
        expect(usage.hours.reduce((sum, one) => sum + one, 0)).toBeCloseTo(aged(last), 9);
        expect(usage.weekdays.reduce((sum, one) => sum + one, 0)).toBeCloseTo(aged(last), 9);
        expect(usage.tools.get('a')).toBeCloseTo(aged(last), 9);
        const atZero = sorted.filter((time) => time % 3 === 0);
        expect(usage.places.get('0') ?? 0).toBeCloseTo(aged(last, atZero), 9);
      }),
    );
  });

  it('is not unsettled by a clock that goes back, and refuses a time that is none', () => {
    const usage = new UsageSignals();
    usage.note({ ...use, time: MONDAY });
    usage.note({ ...use, time: MONDAY - 365 * DAY });
    expect(usage.lastUsed).toBe(MONDAY);
    expect(usage.usesAt(MONDAY)).toBe(2);
    expect(usage.usesAt(MONDAY - DAY)).toBe(2);
    expect(() => usage.note({ ...use, time: Number.NaN })).toThrow('a finite time, not NaN');
    expect(usage.uses).toBe(2);
  });

  it('is bounded: of many tools the rarest make room', () => {
    const usage = new UsageSignals();
    for (let i = 0; i < 40; i++) usage.note({ ...use, time: MONDAY, tools: ['always', `tool ${i}`] });
    expect(usage.tools.size).toBe(16);
    expect(usage.tools.get('always')).toBe(40);
    expect(usage.tools.has('tool 39')).toBe(true);
  });
});

describe('features of context', () => {
  it('are what their names say', () => {
    const often = new UsageSignals();
    const [query, other] = [Float32Array.of(0.6, 0.8), Float32Array.of(1, 0)];
    for (const days of [14, 7]) {
      const time = MONDAY - days * DAY;
      often.note({ time, place: 'car', tools: ['play'], items: ['b'], query });
    }
    const late = new UsageSignals();
    late.note({ time: MONDAY - 12 * HOUR, place: 'home', tools: ['call'], items: [], query: other });
    const all = [
      candidate('a', { store: 'music', usage: often, vector: other, put: MONDAY - 30 * DAY }),
      candidate('b', { store: 'music', usage: late, vector: query, put: MONDAY - HOUR, words: 2.5 }),
      candidate('c', { store: 'calendar', at: MONDAY + 3 * HOUR }),
      candidate('d', { store: 'calendar', at: MONDAY - 3 * HOUR }),
      candidate('e', { store: 'diary', put: MONDAY + HOUR }),
    ];
    const asked = {
      query,
      mapped: Float32Array.of(2, 0),
      place: 'car',
      tools: new Map([['play', 0.5]]),
      recent: ['b'],
    };
    const a = named(all, 0, asked);
    const [usesOfA, usesOfB] = [often.usesAt(MONDAY), late.usesAt(MONDAY)];
    expect(a.cosine).toBeCloseTo(0.6);
    expect(a['cosine gap']).toBeCloseTo(0.4);
    expect(a['mapped product']).toBeCloseTo(2);
    expect(a['mapped gap']).toBeCloseTo(0);
    expect(a['asked cosine']).toBeCloseTo(1);
    expect(a.uses).toBeCloseTo(Math.log2(1 + usesOfA));
    expect(a['share of all uses']).toBeCloseTo(usesOfA / (usesOfA + usesOfB));
    expect(a['hours since its use']).toBeCloseTo(Math.log2(1 + 7 * 24));
    expect(a['its uses at this hour']).toBe(1);
    expect(a['uses at this hour that are its']).toBe(1);
    expect(a['its uses on this weekday']).toBe(1);
    expect(a['its uses on such days']).toBe(1);
    expect(a['its uses at this place']).toBe(1);
    expect(a['uses at this place that are its']).toBe(1);
    expect(a['its uses with the tools']).toBeCloseTo(0.5);
    expect(a['its uses with recent items']).toBe(1);
    expect(a['uses of the nearest that are with it']).toBeNaN();
    expect(a['place among the newest of its store']).toBe(1);
    expect(a.store).toBe(4);

    const b = named(all, 1, asked);
    expect(b.words).toBe(2.5);
    expect(b['asked gap']).toBeCloseTo(0.4);
    expect(b['its uses on such days']).toBe(0);
    expect(b['uses of the nearest that are with it']).toBe(1);
    expect(b['place among the last used of its store']).toBe(0);

    const [c, d, e] = [2, 3, 4].map((at) => named(all, at, asked));
    expect([c.cosine, c['asked cosine'], c['its uses at this hour']]).toEqual([NaN, NaN, NaN]);
    expect(c['hours until its time']).toBeCloseTo(2);
    expect(d['hours until its time']).toBeCloseTo(-2);
    expect(c['place among what comes next in its store']).toBe(0);
    expect(d['place among what comes next in its store']).toBeNaN();
    expect(c['items of its store']).toBe(2);
    expect([e.store, e['hours since it was put']]).toEqual([Number.NaN, -1]);
  });

  it('do not depend on the order of candidates, and are finite or missing', () => {
    const time = fc.integer({ min: -60 * DAY, max: DAY }).map((seconds) => MONDAY + seconds);
    const unit = fc
      .double({ min: 0, max: 6, noNaN: true })
      .map((a) => Float32Array.of(Math.cos(a), Math.sin(a)));
    const one = fc.record({
      store: fc.constantFrom('mail', 'music', 'other'),
      put: time,
      at: fc.oneof(time, fc.constant(Number.NaN)),
      vector: fc.option(unit),
      uses: fc.array(fc.record({ time, place: fc.constantFrom('x', null), query: fc.option(unit) }), {
        maxLength: 5,
      }),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 8 }), fc.option(unit), (list, query) => {
        const all = list.map(({ uses, ...rest }, at) => {
          const usage = new UsageSignals();
          for (const past of uses) usage.note({ ...use, ...past, tools: ['t'], items: ['1'] });
          return candidate(`${at}`, { ...rest, usage });
        });
        const asked = {
          ...moment,
          query,
          mapped: query,
          place: 'x',
          tools: new Map([['t', 1]]),
          recent: ['1'],
        };
        const features = contextFeatures(all, asked);
        const turned = contextFeatures(all.toReversed(), asked);
        expect(features.some((value) => Math.abs(value) === Number.POSITIVE_INFINITY)).toBe(false);
        const d = CONTEXT_FEATURES.length;
        const asks = all.map((_, at) => features[at * d + CONTEXT_FEATURES.indexOf('asked cosine')]);
        // Of equally near items the first one counts as the nearest.
        if (new Set(asks).size < asks.length) return;
        for (const at of all.keys()) {
          const [here, there] = [at * d, (all.length - 1 - at) * d];
          for (let column = 0; column < d; column++) {
            const [value, other] = [features[here + column], turned[there + column]];
            if (Number.isNaN(value)) expect(other).toBeNaN();
            else expect(other).toBeCloseTo(value, 9);
          }
        }
      }),
    );
  });
});
