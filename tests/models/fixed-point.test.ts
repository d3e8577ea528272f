import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toFixedPoint } from '../../src/models/fixed-point.ts';

describe('a vector with a fixed point', () => {
  it('is at most half a step away, of which the largest number has 2¹⁴ to 2¹⁵ − 1', () => {
    fc.assert(
      fc.property(fc.float32Array({ maxLength: 40 }), (values) => {
        const rounded = toFixedPoint(values);
        deepStrictEqual(toFixedPoint(rounded), rounded);
        const largest = Math.max(0, ...values.map(Math.abs));
        if (!(largest > 2 ** -100 && largest < Number.POSITIVE_INFINITY)) return;
        const step = 2 ** (Math.floor(Math.log2(largest)) - 14);
        for (const [i, value] of values.entries()) {
          // Only the largest may be a whole step away: the next power of two has another step.
          expect(Math.abs(rounded[i] - value)).toBeLessThanOrEqual(
            Math.abs(value) > 32767 * step ? step : step / 2,
          );
          expect(Math.abs(rounded[i] / step)).toBeLessThan(2 ** 15);
          expect(Number.isInteger(rounded[i] / step)).toBe(true);
        }
      }),
      { seed: 14, numRuns: 500 },
    );
  });

  it('is the vector itself where there is no scale for it', () => {
    for (const one of [0, Number.NaN, Number.POSITIVE_INFINITY, 2 ** -140]) {
      const vector = Float32Array.of(one, 0);
      expect(toFixedPoint(vector)).toBe(vector);
    }
    for (const one of [Number.NaN, Number.NEGATIVE_INFINITY]) {
      const vector = Float32Array.of(0.9, one, 0.1);
      expect(toFixedPoint(vector)).toBe(vector);
    }
    expect(toFixedPoint(new Float32Array(0))).toHaveLength(0);
  });
});
