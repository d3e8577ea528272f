import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  HALF_LIFE_MS,
  type ItemUse,
  REMEMBERED_KEYS,
  UsageSignals,
} from '../../src/context/usage-signals.ts';

const DAY = 86_400_000;
/** A Sunday, 13:00 UTC. */
const NOW = Date.UTC(2026, 10, 22, 13);
const use = (key: number, more: Partial<ItemUse> = {}): ItemUse => ({
  ...{ key, items: ['a'], at: NOW, outcome: 1, ...more },
});
const signalsOf = (uses: readonly ItemUse[], now = NOW): UsageSignals => {
  const signals = new UsageSignals();
  for (const one of uses) signals.add(one, now);
  return signals;
};
const arbitraryUses = fc.array(
  fc.record({
    items: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
    tool: fc.constantFrom('t', 'u'),
    at: fc.integer({ min: NOW - 400 * DAY, max: NOW + 30 * DAY }),
    outcome: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { minLength: 1, maxLength: 40 },
);

it('weighs uses as the naive sum does, in whatever order they are told', () => {
  fc.assert(
    fc.property(arbitraryUses, (drawn) => {
      const uses = drawn.map((one, key) => ({ ...one, key }));
      for (const told of [uses, [...uses].reverse()]) {
        const signals = signalsOf(told);
        for (const id of ['a', 'b', 'c']) {
          const own = uses.filter(({ items }) => items.includes(id));
          const weight = ({ at }: ItemUse) => 2 ** (-(NOW - Math.min(at, NOW)) / HALF_LIFE_MS);
          const sum = (some: readonly ItemUse[]) => some.reduce((total, one) => total + weight(one), 0);
          const scale = signals.scaleAt(NOW);
          const found = signals.of(id);
          expect((found?.uses ?? 0) * scale).toBeCloseTo(sum(own), 3);
          expect((found?.hours[13] ?? 0) * scale).toBeCloseTo(
            sum(own.filter(({ at }) => new Date(Math.min(at, NOW)).getUTCHours() === 13)),
            3,
          );
          const sundays = own.filter(({ at }) => new Date(Math.min(at, NOW)).getUTCDay() === 0);
          expect((found?.weekdays[6] ?? 0) * scale).toBeCloseTo(sum(sundays), 3);
          expect((found?.tools.get('u') ?? 0) * scale).toBeCloseTo(
            sum(own.filter(({ tool }) => tool === 'u')),
            3,
          );
          if (own.length > 0)
            expect(found!.lastUsedAt).toBe(Math.max(...own.map(({ at }) => Math.min(at, NOW))));
        }
      }
    }),
    { numRuns: 50, seed: 7 },
  );
});

it('are the same after they were packed', () => {
  const signals = signalsOf([
    use(1, { items: ['a', 'b'], place: 'gym', tool: 't' }),
    use(2, { at: NOW - DAY }),
  ]);
  const read = UsageSignals.unpack(signals.pack());
  expect(read.pack()).toEqual(signals.pack());
  expect(read.add(use(1), NOW)).toBe(false);
  expect(read.of('a')).toEqual(signals.of('a'));
});

it('count a key once among those that are remembered', () => {
  const signals = signalsOf([use(1), use(1)]);
  expect(signals.of('a')!.uses).toBe(1);
  for (let key = 2; key <= REMEMBERED_KEYS; key++) signals.add(use(key), NOW);
  expect(signals.add(use(1), NOW)).toBe(false);
  signals.add(use(REMEMBERED_KEYS + 1), NOW);
  expect(signals.add(use(1), NOW)).toBe(true);
});

it('take a time in the future for now, and never have a negative age', () => {
  const signals = signalsOf([use(1, { at: NOW + 900 * DAY })]);
  expect(signals.of('a')!.lastUsedAt).toBe(NOW);
  expect(signals.scaleAt(NOW - 100 * DAY)).toBe(signals.scaleAt(NOW));
  expect(() => signals.add(use(2, { at: Number.NaN }), NOW)).toThrow(RangeError);
  expect(() => signals.add(use(2, { outcome: 2 }), NOW)).toThrow(RangeError);
});

it('stay bounded and finite over decades', () => {
  const signals = new UsageSignals();
  for (let n = 0; n < 200; n++) {
    const at = NOW + n * 100 * DAY;
    signals.add(use(n, { at, place: `place ${n}`, tool: `tool ${n}`, items: ['a', `b${n}`] }), at);
  }
  const { places, tools, items, uses } = signals.of('a')!;
  expect([places.size, tools.size, items.size]).toEqual([8, 8, 16]);
  expect(uses * signals.scaleAt(signals.newest)).toBeCloseTo(1 / (1 - 2 ** (-100 / 30)), 3);
  signals.keepOnly(new Set(['a']));
  expect([...signals.used()]).toEqual(['a']);
  expect(signals.of('a')!.items.size).toBe(0);
});
