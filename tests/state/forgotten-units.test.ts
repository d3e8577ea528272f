import { expect, it } from 'vitest';
import { ForgottenUnits } from '../../src/state/forgotten-units.ts';

const DAY = 86_400_000;
const MOST = 65_536;

it('know decisions from before, and none of other units or of nobody', () => {
  const forgotten = new ForgottenUnits();
  forgotten.add(7, 1000, 1000);
  const has = (unit: number, at: number) => forgotten.has({ unit, at }, 5000);
  expect([has(7, 999), has(7, 1000), has(7, 1001), has(7, 5001)]).toEqual([true, true, false, true]);
  expect([has(8, 999), has(8, 5001), has(0, 999)]).toEqual([false, false, false]);
});

it('believe a clock that is ahead for a minute at most', () => {
  const forgotten = new ForgottenUnits();
  forgotten.add(7, 1000, 1500);
  forgotten.add(8, 1000, 1000 * DAY);
  const now = 1000 * DAY;
  expect(forgotten.has({ unit: 7, at: 1500 }, now)).toBe(true);
  expect(forgotten.has({ unit: 8, at: 61_000 }, now)).toBe(true);
  expect(forgotten.has({ unit: 8, at: 61_001 }, now)).toBe(false);
  forgotten.add(7, 900, 900);
  expect(forgotten.has({ unit: 7, at: 1500 }, now)).toBe(true);
});

it('are dropped when nothing of theirs can come in, and then nobody teaches by decisions that old', () => {
  const forgotten = new ForgottenUnits();
  forgotten.add(7, 1000, 1000);
  forgotten.expire(1000 + 8 * DAY);
  expect(forgotten.has({ unit: 8, at: 1000 }, 9 * DAY)).toBe(false);
  forgotten.expire(1001 + 8 * DAY);
  expect(forgotten.save().units).toHaveLength(0);
  expect(forgotten.has({ unit: 7, at: 1000 }, 9 * DAY)).toBe(true);
  expect(forgotten.has({ unit: 8, at: 1000 }, 9 * DAY)).toBe(true);
  expect(forgotten.has({ unit: 8, at: 1001 }, 9 * DAY)).toBe(false);
});

it('are bounded, and go on after they were saved', () => {
  const forgotten = new ForgottenUnits();
  for (let unit = 1; unit <= MOST + 2; unit++) forgotten.add(unit, unit, unit);
  const restored = new ForgottenUnits();
  restored.restore(forgotten.save());
  expect(restored.save()).toEqual(forgotten.save());
  for (const one of [forgotten, restored]) {
    expect(one.save().units).toHaveLength(MOST);
    expect([2, 3].map((at) => one.has({ unit: 1, at }, MOST))).toEqual([true, false]);
  }
});
