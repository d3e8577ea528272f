import { describe, expect, it } from 'vitest';
import { readLightGbmModel } from '../../../bandit/ranking/lightgbm-model.ts';
import {
  CATEGORICAL,
  EnsembleBuilder,
  MISSING_LEFT,
  MISSING_NAN,
  MISSING_NONE,
  MISSING_ZERO,
  type TreeEnsemble,
} from '../../../bandit/ranking/tree-ensemble.ts';
import { TreeScorer } from '../../../bandit/ranking/tree-scorer.ts';
import { shippedContextRanker } from '../../../src/context/shipped-ranker.ts';
import golden from '../../golden/lightgbm/models.json' with { type: 'json' };
import { BOTH, sequence } from '../kernels/both-kernels.ts';
import { failingKernels } from '../kernels/failing-kernels.ts';

const COLUMNS = ['a', 'b', 'c', 'never read', 'd'];
const READ = [0, 1, 2, 4];
const READABLE = [MISSING_NONE, MISSING_NAN, MISSING_NAN | MISSING_LEFT];

interface Shape {
  readonly trees: number;
  readonly leaves: number;
  /** Different thresholds. */
  readonly thresholds: number;
  readonly flags?: readonly number[];
}

/** Trees of any form, down to a single leaf; some thresholds are 0, −0 or infinite. */
function ensembleOf(seed: number, { trees, leaves, thresholds, flags = READABLE }: Shape): TreeEnsemble {
  const next = sequence(seed);
  const below = (end: number): number => Math.floor(((next() + 1) / 2) * end);
  const builder = new EnsembleBuilder();
  const categories = builder.addCategories([0b1010]);
  const special = [0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let tree = 0; tree < trees; tree++) {
    const parts = { features: [], flags: [], thresholds: [], lefts: [], rights: [] } as Record<
      'features' | 'flags' | 'thresholds' | 'lefts' | 'rights',
      number[]
    >;
    const values = [next()];
    const nodes = tree === 3 ? 0 : below(leaves);
    const places: [number[], number][] = [];
    for (let node = 0; node < nodes; node++) {
      const flag = flags[below(flags.length)];
      const threshold = below(20) === 0 ? special[below(4)] : below(thresholds) / 8 - 4;
      parts.features.push(READ[below(READ.length)]);
      parts.flags.push(flag);
      parts.thresholds.push((flag & CATEGORICAL) === 0 ? threshold : categories);
      // It takes the place of a leaf, which becomes its left one.
      const [side, parent] = node === 0 ? [null, -1] : places.splice(below(places.length), 1)[0];
      const leaf = side === null ? ~0 : side[parent];
      if (side !== null) side[parent] = node;
      parts.lefts.push(leaf);
      parts.rights.push(~values.length);
      values.push(next());
      places.push([parts.lefts, node], [parts.rights, node]);
    }
    builder.add({ ...parts, leaves: values });
  }
  return builder.build(COLUMNS);
}

/** Rows with values that are thresholds, lie beside them, or are missing. */
function rowsOf(seed: number, rows: number): Float64Array {
  const next = sequence(seed);
  const odd = [Number.NaN, 0, -0, 1e-36, -1e-36, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1, 3];
  return Float64Array.from({ length: rows * COLUMNS.length }, () => {
    const draw = next();
    if (draw < -0.4) return odd[Math.floor((next() + 1) * 4.5)];
    return draw < 0.2 ? Math.round(next() * 32) / 8 : next() * 5;
  });
}

describe.each(BOTH)('trees scored by the %s kernel', (_, create) => {
  const scorer = new TreeScorer(create());
  const same = (trees: TreeEnsemble, features: Float64Array): void =>
    expect(scorer.scores(trees, features)).toEqual(trees.scores(features));

  it('give the bits of walking them, whatever their form and whatever is missing', () => {
    for (const [seed, rows] of [1, 3, 64, 65, 100, 130].entries()) {
      same(ensembleOf(seed, { trees: 20, leaves: 31, thresholds: 64 }), rowsOf(seed, rows));
    }
    same(ensembleOf(9, { trees: 5, leaves: 256, thresholds: 64 }), rowsOf(9, 70));
    same(ensembleOf(9, { trees: 0, leaves: 1, thresholds: 1 }), rowsOf(9, 2));
  });

  it('may have more thresholds than a byte tells apart', () => {
    const trees = ensembleOf(1, { trees: 40, leaves: 200, thresholds: 4000 });
    same(
      trees,
      rowsOf(2, 80).map((value) => value * 50),
    );
  });

  it('are walked where they are of categories, of zeros that are missing, or too large', () => {
    const flags = [MISSING_ZERO, MISSING_ZERO | MISSING_LEFT, CATEGORICAL, MISSING_NAN];
    same(ensembleOf(3, { trees: 8, leaves: 31, thresholds: 64, flags }), rowsOf(3, 40));
    same(ensembleOf(4, { trees: 3, leaves: 900, thresholds: 64 }), rowsOf(4, 40));
    expect(() =>
      scorer.scores(ensembleOf(5, { trees: 1, leaves: 2, thresholds: 2 }), new Float64Array(7)),
    ).toThrow('rows of 5 features, not 7 numbers');
  });

  it('score as LightGBM does', () => {
    for (const { saved, rows, scores } of golden.models) {
      const features = Float64Array.from(rows.flat(), (value) => value ?? Number.NaN);
      expect(Array.from(scorer.scores(readLightGbmModel(saved), features))).toEqual(scores);
    }
  });

  it('are those that ship as well, also when models take turns', async () => {
    const { trees } = await shippedContextRanker();
    const next = sequence(7);
    const { thresholds } = trees.parts;
    const other = ensembleOf(1, { trees: 20, leaves: 31, thresholds: 64 });
    for (const rows of [100, 7]) {
      const features = Float64Array.from({ length: rows * trees.parts.names.length }, () => {
        const draw = next();
        return draw < -0.6 ? Number.NaN : thresholds[Math.floor(((next() + 1) / 2) * thresholds.length)];
      });
      same(trees, features);
      same(other, rowsOf(1, 30));
      same(trees, features);
    }
  });

  it('score as before after an allocation failed, and leave nothing behind in memory', () => {
    const { kernels, failAfter, arrays } = failingKernels(create());
    const scarce = new TreeScorer(kernels);
    const models = [1, 2].map((seed) => ensembleOf(seed, { trees: 20, leaves: 31, thresholds: 64 }));
    const rows = [4, 5, 6].map((seed, at) => rowsOf(seed, 20 + 40 * at));
    const check = (model: number, size: number): void =>
      expect(scarce.scores(models[model], rows[size])).toEqual(models[model].scores(rows[size]));
    check(0, 0);
    const held = arrays();
    let failed = 0;
    for (const [size, most] of [7, 9, 9].entries()) {
      for (let allocations = 0; allocations < most; allocations++) {
        failAfter(allocations);
        try {
          scarce.scores(models[1], rows[size]);
        } catch {
          failed++;
        }
        failAfter(null);
        expect(arrays()).toBe(held);
        check(0, 0);
        check(1, 0);
        check(0, 0);
        expect(arrays()).toBe(held);
      }
    }
    expect(failed).toBeGreaterThanOrEqual(7 + 2 * 8);
  });
});
