import { expect, test } from 'vitest';
import {
  chiSquaredTail,
  normalCdf,
  normalQuantile,
  studentCdf,
  studentQuantile,
} from '../../../bandit/statistics/distributions.ts';
import { incompleteGamma, lnBeta, lnGamma } from '../../../bandit/statistics/gamma.ts';
import golden from '../../golden/statistics-special-functions.json' with { type: 'json' };

/** Relative, because tails matter most where they are small; absolute only where the value is 0. */
function expectClose(rows: readonly (readonly number[])[], compute: (...x: number[]) => number) {
  expect(rows.length).toBeGreaterThan(2);
  for (const row of rows) {
    const wanted = row.at(-1)!;
    const error = Math.abs(compute(...row.slice(0, -1)) - wanted);
    expect(error, row.join(' ')).toBeLessThan(wanted === 0 ? 1e-14 : 1e-10 * Math.abs(wanted));
  }
}

test('ln Γ and ln B', () => {
  expectClose(golden.lnGamma, lnGamma);
  expectClose(golden.lnBeta, lnBeta);
});

test('both incomplete gamma functions, each where it is small', () => {
  expectClose(
    golden.incompleteGamma.map(([a, x, lower]) => [a!, x!, lower!]),
    (a, x) => incompleteGamma(a!, x!).lower,
  );
  expectClose(
    golden.incompleteGamma.map(([a, x, , upper]) => [a!, x!, upper!]),
    (a, x) => incompleteGamma(a!, x!).upper,
  );
});

test('normal distribution', () => {
  expectClose(golden.normalCdf, normalCdf);
  expectClose(golden.normalQuantile, normalQuantile);
  expect(() => normalQuantile(0)).toThrow(RangeError);
  expect(() => normalQuantile(1)).toThrow(RangeError);
  expect(() => normalQuantile(Number.NaN)).toThrow(RangeError);
});

test('χ² tail', () => {
  expectClose(golden.chiSquaredTail, chiSquaredTail);
  expect(chiSquaredTail(0, 3)).toBe(1);
});

test("Student's t", () => {
  expectClose(golden.studentCdf, studentCdf);
  expectClose(golden.studentQuantile, studentQuantile);
  for (const p of [1e-6, 0.02, 0.4, 0.6, 0.99])
    expect(studentCdf(studentQuantile(p, 7.5), 7.5)).toBeCloseTo(p, 12);
  expect(() => studentQuantile(1, 5)).toThrow(RangeError);
});
