import { describe, expect, it } from 'vitest';
import { REMEMBERED_PAIRS, UnitLimits } from '../../src/state/unit-limits.ts';
import { START } from './entries.ts';

describe('limits per unit', () => {
  it('are bounded: units that come once do not add up', () => {
    const limits = new UnitLimits();
    for (let unit = 1; unit <= 5 * REMEMBERED_PAIRS; unit++) limits.spend(unit, unit % 7, 1, START, 2);
    const { recent, earlier } = limits.save();
    expect(recent.pairs.length + earlier.pairs.length).toBeLessThanOrEqual(2 * REMEMBERED_PAIRS);
  });

  it('hold for who keeps coming back, however many others come in between', () => {
    const limits = new UnitLimits();
    let allowed = 0;
    for (let i = 0; i < 1000; i++) {
      if (limits.spend(2 ** 32 - 1, 7, 1, START, 600)) allowed++;
      for (let other = 0; other < 400; other++) limits.spend(1 + i * 400 + other, 7, 1, START, 600);
    }
    expect(allowed).toBe(600);
    expect(limits.spend(2 ** 32 - 1, 8, 1, START, 600)).toBe(true);
  });

  it('go on after a snapshot as if there had been none', () => {
    const [whole, first] = [new UnitLimits(), new UnitLimits()];
    const spend = (limits: UnitLimits, i: number): boolean =>
      limits.spend(1 + (i % 90_000), 3, 0.5, START, 1);
    const spent = Array.from({ length: 200_000 }, (_, i) => spend(whole, i));
    for (let i = 0; i < 100_000; i++) spend(first, i);
    const second = new UnitLimits();
    second.restore(first.save());
    expect(Array.from({ length: 100_000 }, (_, i) => spend(second, 100_000 + i))).toEqual(
      spent.slice(100_000),
    );
    expect(second.save()).toEqual(whole.save());
  });
});
