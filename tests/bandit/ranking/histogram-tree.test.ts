import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FeatureBins, MOST_BINS } from '../../../bandit/ranking/feature-bins.ts';
import { TreeGrower, type TreeSettings } from '../../../bandit/ranking/histogram-tree.ts';
import type { RankingSet } from '../../../bandit/ranking/ranking-set.ts';

function setOf(rows: readonly (readonly number[])[], columns: number): RankingSet {
  return {
    names: Array.from({ length: columns }, (_, column) => `x${column}`),
    features: Float64Array.from(rows.flat()),
    labels: new Uint8Array(rows.length),
    queryStarts: Uint32Array.of(0, rows.length),
  };
}

interface Example {
  readonly x: readonly number[];
  readonly g: number;
  readonly h: number;
}

/** The gain of the best split of these rows, by trying every value of every column and both sides for what is missing. */
function bestGain(rows: readonly Example[], { minDataInLeaf, lambda }: TreeSettings): number {
  const part = (some: readonly Example[]): number => {
    const g = some.reduce((sum, row) => sum + row.g, 0);
    return (g * g) / (some.reduce((sum, row) => sum + row.h, 0) + lambda);
  };
  let best = 0;
  for (let column = 0; column < rows[0].x.length; column++) {
    for (const threshold of [...rows.map(({ x }) => x[column]), Number.POSITIVE_INFINITY]) {
      if (Number.isNaN(threshold)) continue;
      for (const missingLeft of [false, true]) {
        const isLeft = ({ x }: Example): boolean =>
          Number.isNaN(x[column]) ? missingLeft : x[column] <= threshold;
        const left = rows.filter(isLeft);
        const right = rows.filter((row) => !isLeft(row));
        if (Math.min(left.length, right.length) < Math.max(1, minDataInLeaf)) continue;
        best = Math.max(best, part(left) + part(right) - part(rows));
      }
    }
  }
  return best;
}

/** The loss that the second-order expansion promises: Σ g·f + ½(h + λ per leaf)·f². */
function promised(
  rows: readonly Example[],
  step: Float64Array,
  lambda: number,
  leaves: readonly number[],
): number {
  const loss = rows.reduce((sum, { g, h }, row) => sum + g * step[row] + 0.5 * h * step[row] ** 2, 0);
  return loss + leaves.reduce((sum, leaf) => sum + 0.5 * lambda * leaf * leaf, 0);
}

const value = fc.oneof(
  fc.integer({ min: 0, max: 5 }),
  fc.constant(Number.NaN),
  fc.double({ min: -1, max: 1, noNaN: true }),
);
const example = fc.record({
  x: fc.tuple(value, value, value),
  g: fc.integer({ min: -9, max: 9 }).map((tenths) => tenths / 10),
  h: fc.integer({ min: 1, max: 10 }).map((tenths) => tenths / 10),
});

it('every split is the best that trying all of them finds, leaf by leaf, and rows move by the Newton step of their leaf', () => {
  const settings = fc.record({
    numLeaves: fc.constant(2),
    minDataInLeaf: fc.integer({ min: 1, max: 4 }),
    lambda: fc.constantFrom(0, 1),
    learningRate: fc.constant(1),
  });
  fc.assert(
    fc.property(fc.array(example, { minLength: 1, maxLength: 40 }), settings, (rows, used) => {
      const bins = new FeatureBins(
        setOf(
          rows.map(({ x }) => x),
          3,
        ),
      );
      const gradients = Float64Array.from(rows, ({ g }) => g);
      const hessians = Float64Array.from(rows, ({ h }) => h);
      const two = new Float64Array(rows.length);
      const stump = new TreeGrower(bins, used).grow(gradients, hessians, two);
      const best = bestGain(rows, used);
      const root =
        gradients.reduce((sum, g) => sum + g, 0) ** 2 /
        (hessians.reduce((sum, h) => sum + h, 0) + used.lambda);
      const ofLoss = (step: Float64Array, leaves: ArrayLike<number>): number =>
        -2 * promised(rows, step, used.lambda, Array.from(leaves)) - root;
      if (stump.features.length === 0) {
        expect(best).toBeLessThan(1e-9);
        return;
      }
      // At its best step a leaf lowers the loss by ½G²/(H + λ).
      expect(ofLoss(two, stump.leaves)).toBeCloseTo(best, 9);

      // The next leaf is that whose own best split gains most.
      const three = new Float64Array(rows.length);
      const tree = new TreeGrower(bins, { ...used, numLeaves: 3 }).grow(gradients, hessians, three);
      const sides = [stump.leaves[0], stump.leaves[1]].map((leaf) =>
        rows.filter((_, row) => two[row] === leaf),
      );
      if (stump.leaves[0] === stump.leaves[1]) return;
      const second = Math.max(...sides.map((side) => bestGain(side, used)));
      if (tree.features.length === 1) expect(second).toBeLessThan(1e-9);
      else expect(ofLoss(three, tree.leaves)).toBeCloseTo(best + second, 9);
    }),
    { numRuns: 400 },
  );
});

it('bins keep the order of values, are at most 255 and about as full, and have nothing missing among them', () => {
  const values = fc.array(fc.oneof(fc.double({ noDefaultInfinity: true }), fc.integer({ min: 0, max: 3 })), {
    minLength: 1,
    maxLength: 900,
  });
  fc.assert(
    fc.property(values, (column) => {
      const { bins, thresholds, starts } = new FeatureBins(
        setOf(
          column.map((one) => [one]),
          1,
        ),
      );
      expect(thresholds[0].length + 1).toBeLessThanOrEqual(MOST_BINS);
      expect(starts[1]).toBe(thresholds[0].length + 2);
      for (const [row, one] of column.entries()) {
        const bin = bins[row];
        if (Number.isNaN(one)) expect(bin).toBe(thresholds[0].length + 1);
        else {
          expect(one <= (thresholds[0][bin] ?? Number.POSITIVE_INFINITY)).toBe(true);
          expect(one > (thresholds[0][bin - 1] ?? Number.NEGATIVE_INFINITY)).toBe(true);
        }
      }
      const distinct = new Set(
        column.filter((one) => !Number.isNaN(one)).map((one) => (one === 0 ? 0 : one)),
      );
      if (distinct.size <= MOST_BINS) expect(thresholds[0]).toHaveLength(Math.max(0, distinct.size - 1));
      else expect(thresholds[0].length).toBeGreaterThan(MOST_BINS / 2);
    }),
    { numRuns: 200 },
  );
});
