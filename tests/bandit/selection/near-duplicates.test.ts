import { describe, expect, it } from 'vitest';
import { discountNearDuplicates } from '../../../bandit/selection/near-duplicates.ts';

/** A unit vector at this cosine to the first axis. */
const at = (cosine: number) => Float32Array.of(cosine, Math.sqrt(1 - cosine * cosine), 0);
const nowhere = new Float32Array(3);

const gains = (
  rows: readonly (readonly [gain: number, tokens: number, vector: Float32Array])[],
  forced: readonly number[] = [],
) =>
  discountNearDuplicates(
    Float64Array.from(rows, ([gain]) => gain),
    Float64Array.from(rows, ([, tokens]) => tokens),
    rows.map(([, , vector]) => vector),
    forced,
    100,
  );

describe('near duplicates', () => {
  it('are worth what the better one leaves: a tenth of the same, about half in the middle, all from a cosine of .95 down', () => {
    const found = gains([
      [0.8, 10, at(1)],
      [0.9, 10, at(1)],
      [0.4, 10, at(0.975)],
      [0.3, 10, Float32Array.of(0.94, 0, Math.sqrt(1 - 0.94 ** 2))],
      [0.2, 10, Float32Array.of(0, 0, -1)],
    ]);
    for (const [i, gain] of [0.08, 0.9, 0.22, 0.3, 0.2].entries()) expect(found[i]).toBeCloseTo(gain, 5);
  });

  it('of the same gain: the cheaper one keeps it', () => {
    expect([
      ...gains([
        [0.5, 20, at(1)],
        [0.5, 10, at(1)],
      ]),
    ]).toEqual([expect.closeTo(0.05, 5), 0.5]);
  });

  it('of what is forced are worth less, however little that is expected to gain', () => {
    expect([
      ...gains(
        [
          [0.5, 20, at(1)],
          [-0.1, 10, at(1)],
        ],
        [1],
      ),
    ]).toEqual([expect.closeTo(0.05, 5), -0.1]);
  });

  it('of what cannot be chosen lose nothing, and all-zero vectors resemble nothing', () => {
    expect([
      ...gains([
        [0.9, 101, at(1)],
        [0.5, 10, at(1)],
      ]),
    ]).toEqual([0.9, 0.5]);
    expect([
      ...gains([
        [0.9, 10, nowhere],
        [0.5, 10, nowhere],
      ]),
    ]).toEqual([0.9, 0.5]);
  });
});
