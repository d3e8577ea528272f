import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Moments } from '../../../bandit/statistics/moments.ts';
import { UnitTotals } from '../../../bandit/statistics/unit-totals.ts';

const number = fc.double({ min: -1000, max: 1000, noNaN: true });
const row = fc.array(number, { minLength: 3, maxLength: 3 });
const rows = fc.array(row, { maxLength: 60 });

function momentsOf(data: readonly (readonly number[])[]): Moments {
  const moments = new Moments(3);
  for (const values of data) moments.add(values);
  return moments;
}

/** The definition, in two passes. */
function expectMoments(moments: Moments, data: readonly (readonly number[])[]) {
  expect(moments.count).toBe(data.length);
  const mean = [0, 1, 2].map(
    (i) => data.reduce((sum, values) => sum + values[i], 0) / Math.max(1, data.length),
  );
  for (const i of [0, 1, 2]) {
    expect(moments.mean(i)).toBeCloseTo(mean[i], 8);
    for (const j of [0, 1, 2]) {
      const products = data.reduce((sum, values) => sum + (values[i] - mean[i]) * (values[j] - mean[j]), 0);
      const wanted = data.length < 2 ? 0 : products / (data.length - 1);
      expect(Math.abs(moments.covariance(i, j) - wanted)).toBeLessThan(1e-6 * Math.max(1, Math.abs(wanted)));
    }
  }
}

describe('moments', () => {
  test('are what two passes over the data give', () => {
    fc.assert(fc.property(rows, (data) => expectMoments(momentsOf(data), data)));
  });

  test('merged are the moments of all the data', () => {
    fc.assert(
      fc.property(rows, rows, (a, b) => {
        const merged = momentsOf(a);
        merged.merge(momentsOf(b));
        expectMoments(merged, [...a, ...b]);
      }),
    );
  });

  test('with a vector replaced are those of the changed data', () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 30 }), fc.nat(), row, (data, at, after) => {
        const changed = data.with(at % data.length, after);
        const moments = momentsOf(data);
        moments.replace(data[at % data.length], after);
        expectMoments(moments, changed);
      }),
    );
  });

  test('of a combination of columns are those of the combined numbers', () => {
    const data = [
      [1, 2, 3],
      [4, -1, 0],
      [2, 2, 9],
    ];
    const combined = new Moments(1);
    for (const [a, b, c] of data) combined.add([2 * a! - b! + 0.5 * c!]);
    expect(momentsOf(data).combinedCovariance([2, -1, 0.5], [2, -1, 0.5])).toBeCloseTo(
      combined.covariance(0, 0),
    );
  });

  test('keep their accuracy far from zero, where sums of squares lose it', () => {
    const moments = new Moments(1);
    for (let i = 0; i < 1000; i++) moments.add([1e9 + (i % 2)]);
    expect(moments.covariance(0, 0)).toBeCloseTo(1000 / 999 / 4, 6);
  });

  test('are the same bits after a round trip', () => {
    fc.assert(
      fc.property(rows, row, (data, next) => {
        const original = momentsOf(data);
        const loaded = Moments.load(JSON.parse(JSON.stringify(original.save())));
        original.add(next);
        loaded.add(next);
        expect(loaded.save()).toEqual(original.save());
      }),
    );
  });

  test('refuse what is no number and stay as they were', () => {
    const moments = momentsOf([[1, 2, 3]]);
    const before = moments.save();
    expect(() => moments.add([1, Number.NaN, 0])).toThrow(/column 1/);
    expect(() => moments.replace([1, 2, 3], [1, 2, Number.POSITIVE_INFINITY])).toThrow(/column 2/);
    expect(() => moments.add([1, 2])).toThrow(/expected 3/);
    expect(() => moments.merge(new Moments(2))).toThrow(/2 columns/);
    expect(moments.save()).toEqual(before);
  });
});

describe('totals of units', () => {
  const events = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', null), row), { maxLength: 40 });

  test('are moments of the sums of each unit', () => {
    fc.assert(
      fc.property(events, (stream) => {
        const totals = new UnitTotals(3);
        const naive: (readonly [string | null, number[]])[] = [];
        for (const [unit, values] of stream) {
          totals.add(unit, values);
          const known = naive.find(([name]) => unit !== null && name === unit);
          if (known === undefined) naive.push([unit, [...values]]);
          else
            values.forEach((value, i) => {
              known[1][i] += value;
            });
        }
        expectMoments(
          totals.moments,
          naive.map(([, sums]) => sums),
        );
      }),
    );
  });

  test('survive a round trip, open units included', () => {
    fc.assert(
      fc.property(events, events, (before, after) => {
        const original = new UnitTotals(3);
        for (const [unit, values] of before) original.add(unit, values);
        const loaded = UnitTotals.load(JSON.parse(JSON.stringify(original.save())));
        for (const [unit, values] of after) {
          original.add(unit, values);
          loaded.add(unit, values);
        }
        expect(loaded.save()).toEqual(original.save());
      }),
      { examples: [[[['a', [-0, 0, 0]]], []]] },
    );
  });

  test('a released unit keeps what it contributed and comes back as another one', () => {
    const totals = new UnitTotals(1);
    totals.add('a', [1]);
    totals.release('a');
    expect([totals.moments.count, totals.open]).toEqual([1, 0]);
    totals.add('a', [5]);
    expect([totals.moments.count, totals.moments.mean(0)]).toEqual([2, 3]);
  });

  test('refuse what is no number and stay as they were', () => {
    const totals = new UnitTotals(1);
    totals.add('a', [1]);
    const before = totals.save();
    expect(() => totals.add('a', [Number.NaN])).toThrow(RangeError);
    expect(() => totals.add('b', [Number.NaN])).toThrow(RangeError);
    expect(totals.save()).toEqual(before);
  });
});
