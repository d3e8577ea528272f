import fc from 'fast-check';
import { expect, it } from 'vitest';
import { UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import {
  localSeconds,
  REMEMBERED_KEYS,
  type ReportedUse,
  UserSignals,
} from '../../src/context/user-signals.ts';

const DAY = 86_400_000;
/** A Sunday, 13:00 UTC. */
const NOW = Date.UTC(2026, 10, 22, 13);
const use = (key: string | number, more: Partial<ReportedUse> = {}): ReportedUse => ({
  ...{ key: `${key}`, items: ['a'], at: NOW, ...more },
});
const signalsOf = (uses: readonly ReportedUse[], now = NOW): UserSignals => {
  const signals = new UserSignals();
  for (const one of uses) signals.add(one, now);
  return signals;
};
const query = (fingerprint: string, ...numbers: number[]) => ({
  fingerprint,
  embedding: Float32Array.from(numbers),
});

it('are the signals that the ranker is trained with, one of each item', () => {
  const arbitraryUses = fc.array(
    fc.record({
      items: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
      tool: fc.constantFrom('t', 'u'),
      place: fc.constantFrom('gym', undefined),
      at: fc.integer({ min: NOW - 400 * DAY, max: NOW }),
      utcOffsetMinutes: fc.constantFrom(0, -480, 330),
      query: fc.constantFrom(undefined, query('e', 0.6, 0.8), query('e', 1, 0)),
    }),
    { minLength: 1, maxLength: 40 },
  );
  fc.assert(
    fc.property(arbitraryUses, (uses) => {
      const signals = signalsOf(uses.map((one, key) => ({ ...one, key: `${key}` })));
      for (const id of ['a', 'b', 'c']) {
        const own = uses.filter(({ items }) => items.includes(id));
        const expected = new UsageSignals();
        for (const { items, tool, place = null, at, utcOffsetMinutes, query: asked } of own) {
          expected.note({
            time: at / 1000 + utcOffsetMinutes * 60,
            ...{ place, tools: [tool], items: items.filter((other) => other !== id) },
            query: asked?.embedding ?? null,
          });
        }
        expect(signals.of(id)).toEqual(own.length === 0 ? undefined : expected);
      }
    }),
    { numRuns: 50, seed: 7 },
  );
});

it('are read by the clock of the user', () => {
  const signals = signalsOf([use(1, { utcOffsetMinutes: -14 * 60 }), use(2, { items: ['b'] })]);
  const { hours, weekdays, lastUsed } = signals.of('a')!;
  // 23:00 on Saturday.
  expect([hours[23], weekdays[6], lastUsed]).toEqual([1, 1, NOW / 1000 - 14 * 3600]);
  const inUtc = signals.of('b')!;
  expect([inUtc.hours[13], inUtc.weekdays[0], signals.newest]).toEqual([1, 1, NOW / 1000]);
  expect(() => localSeconds(NOW, 15 * 60)).toThrow('at most 840 minutes from UTC, not 900');
});

it('are the same after they were packed, but for rounding', () => {
  const signals = signalsOf([
    use(1, { items: ['a', 'b'], place: 'gym', tool: 't', at: NOW - 10 * DAY, query: query('e', 0.6, -0.8) }),
    use(2, { items: ['c'] }),
    use(3, { query: query('e', 1, 0) }),
  ]);
  const read = UserSignals.unpack(signals.pack());
  expect(UserSignals.unpack(read.pack())).toEqual(read);
  expect([...read.used(), read.newest]).toEqual(['a', 'b', 'c', NOW / 1000]);
  const [one, other] = [signals.of('a')!, read.of('a')!];
  expect([other.uses, other.lastUsed]).toEqual([one.uses, one.lastUsed]);
  for (const name of ['hours', 'weekdays', 'queries'] as const) {
    for (const [at, value] of one[name]!.entries()) expect(other[name]![at]).toBeCloseTo(value, 4);
  }
  for (const name of ['places', 'tools', 'items'] as const) {
    expect([...other[name].keys()]).toEqual([...one[name].keys()]);
  }
  expect(read.of('c')!.queries).toBeNull();
  expect(read.add(use(1), NOW)).toBe(false);
});

it('keep queries of one embedder, and of it after they have faded for a century', () => {
  const signals = signalsOf([
    use(1, { query: query('e', 1, 0) }),
    use(2, { items: ['b'], query: query('f', 0, 1, 0) }),
  ]);
  expect([signals.of('a')!.queries, [...signals.of('b')!.queries!]]).toEqual([null, [0, 1, 0]]);
  signals.compareWith('g');
  expect(signals.of('b')!.queries).toBeNull();
  const old = signalsOf([use(1, { items: ['a', 'b'], query: query('e', 1, 0) })]);
  old.add(use(2, { at: NOW + 36_500 * DAY }), NOW + 36_500 * DAY);
  const read = UserSignals.unpack(old.pack());
  expect([read.of('a')!.queries![1], read.of('b')!.queries![0]]).toEqual([0, 1]);
});

it('count a key once among those that are remembered', () => {
  const signals = signalsOf([use(1), use(1)]);
  expect(signals.of('a')!.uses).toBe(1);
  for (let key = 2; key <= REMEMBERED_KEYS; key++) signals.add(use(key), NOW);
  expect(signals.add(use(1), NOW)).toBe(false);
  signals.add(use(REMEMBERED_KEYS + 1), NOW);
  expect(signals.add(use(1), NOW)).toBe(true);
});

it('take a time in the future for now, and refuse what is no time', () => {
  const signals = signalsOf([use(1, { at: NOW + 900 * DAY })]);
  expect([signals.of('a')!.lastUsed, signals.newest]).toEqual([NOW / 1000, NOW / 1000]);
  expect(() => signals.add(use(2, { at: Number.NaN }), NOW)).toThrow(RangeError);
  expect(signals.add(use(2), NOW)).toBe(true);
});

it('stay bounded and finite over decades', () => {
  const signals = new UserSignals();
  for (let n = 0; n < 200; n++) {
    const at = NOW + n * 100 * DAY;
    signals.add(use(n, { at, place: `place ${n}`, tool: `tool ${n}`, items: ['a', `b${n}`] }), at);
  }
  const { places, tools, items, uses } = signals.of('a')!;
  expect([places.size, tools.size, items.size]).toEqual([16, 16, 16]);
  expect(uses).toBeCloseTo(1 / (1 - 2 ** (-100 / 30)), 3);
  signals.keepOnly(new Set(['a']));
  expect([...signals.used()]).toEqual(['a']);
  expect(signals.of('a')!.items.size).toBe(0);
});
