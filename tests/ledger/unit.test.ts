import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unitKey, unitKeyPrefixes, unitNumber } from '../../src/ledger/unit.ts';
import { OpenUnits } from '../../src/state/experiments/open-units.ts';

describe('the number of a unit', () => {
  it('is never 0, which stands for no unit', () => {
    expect(unitNumber(undefined)).toBe(0);
    expect(unitNumber('00000000aaaaaaaa')).toBe(1);
  });

  it('finds the key of the unit again', () => {
    fc.assert(
      fc.property(fc.string(), (unit) => {
        const key = unitKey(unit);
        expect(unitKeyPrefixes(unitNumber(key))).toEqual([key.slice(0, 8)]);
      }),
    );
  });

  it('finds a unit that is to be forgotten, also when its key begins with zeros', () => {
    const units = new OpenUnits();
    const released: string[] = [];
    const keys = ['00000000aaaaaaaa', '01000000aaaaaaaa', '02000000aaaaaaaa'];
    for (const key of keys) units.touch(key, 'a', 1, () => {});
    expect(units.forget(unitKeyPrefixes(unitNumber(keys[0])), (unit) => released.push(unit))).toBe(2);
    expect(released).toEqual(keys.slice(0, 2));
    expect(units.size).toBe(1);
  });
});
