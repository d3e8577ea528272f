import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  LAMBDA_MART_DEFAULTS,
  type LambdaMartSettings,
  lambdaMartRounds,
  trainLambdaMart,
} from '../../../bandit/ranking/lambdamart.ts';
import { meanNdcg, type RankingSet } from '../../../bandit/ranking/ranking-set.ts';
import { decodeTrees, encodeTrees } from '../../../bandit/ranking/tree-codec.ts';
import golden from '../../golden/lightgbm/quality.json' with { type: 'json' };
import { type Kind, rankingSet } from './ranking-sets.ts';

const SMALL: LambdaMartSettings = { ...LAMBDA_MART_DEFAULTS, rounds: 10, numLeaves: 4, minDataInLeaf: 2 };

/** A set of one feature: one list of [value, grade] per query. */
function setOf(...queries: (readonly [value: number, grade: number])[][]): RankingSet {
  const rows = queries.flat();
  let end = 0;
  return {
    names: ['x'],
    features: Float64Array.from(rows, ([value]) => value),
    labels: Uint8Array.from(rows, ([, grade]) => grade),
    queryStarts: Uint32Array.from([0, ...queries.map((query) => (end += query.length))]),
  };
}

describe('what is learned', () => {
  for (const { kind, parameters, rounds, ndcg5, ndcg10 } of golden.quality) {
    test(`is as good as what LightGBM learns: ${kind} ${JSON.stringify(parameters)}`, () => {
      const settings: LambdaMartSettings = {
        ...LAMBDA_MART_DEFAULTS,
        rounds,
        numLeaves: parameters.num_leaves ?? 31,
        minDataInLeaf: parameters.min_data_in_leaf ?? 20,
        lambda: parameters.lambda_l2 ?? 0,
        truncation: parameters.lambdarank_truncation_level ?? 30,
      };
      const test = rankingSet(kind as Kind, 1000, 2);
      const scores = trainLambdaMart(rankingSet(kind as Kind, 400, 1), settings).scores(test.features);
      expect(Math.abs(meanNdcg(test, scores, 5) - ndcg5)).toBeLessThan(0.01);
      expect(Math.abs(meanNdcg(test, scores, 10) - ndcg10)).toBeLessThan(0.01);
    });
  }

  it('has the same bits when it is learned again, round by round, and after being written and read', () => {
    const set = rankingSet('missing', 30, 5);
    const trees = trainLambdaMart(set, SMALL);
    const rounds = lambdaMartRounds(set, SMALL);
    let next = rounds.next();
    for (let round = 1; next.done !== true; round++, next = rounds.next()) {
      expect(next.value.round).toBe(round);
      expect(next.value.ensemble().size).toBe(round);
    }
    expect(encodeTrees(next.value)).toEqual(encodeTrees(trees));
    const copy = decodeTrees(encodeTrees(trees));
    expect(copy.parts).toEqual(trees.parts);
    expect(copy.scores(set.features)).toEqual(trees.scores(set.features));
  });

  it('scores the rows of its training as the training itself does, missing values and ties included', () => {
    for (const kind of ['numeric', 'categories', 'missing'] as const) {
      const set = rankingSet(kind, 30, 6);
      let trained: Float64Array = new Float64Array();
      const trees = trainLambdaMart(set, SMALL, ({ scores }) => {
        trained = scores;
      });
      expect(trees.scores(set.features)).toEqual(trained);
    }
  });

  it('ranks the training better and better', () => {
    const set = rankingSet('numeric', 60, 7);
    const settings = { ...LAMBDA_MART_DEFAULTS, rounds: 40 };
    const course: number[] = [];
    trainLambdaMart(set, settings, ({ scores }) => course.push(meanNdcg(set, scores, 10)));
    expect(course).toHaveLength(40);
    for (let at = 1; at < course.length; at++) expect(course[at]).toBeGreaterThan(course[at - 1] - 0.01);
    expect(course[39]).toBeGreaterThan(course[0] + 0.05);
  });
});

describe('sets without much to learn', () => {
  it('of one query is put in its order', () => {
    const trees = trainLambdaMart(
      setOf([
        [3, 0],
        [1, 2],
        [2, 1],
        [4, 0],
        [1.5, 2],
        [2.5, 1],
      ]),
      { ...SMALL, minDataInLeaf: 1 },
    );
    const [one, two, three] = [1.2, 2.2, 3.5].map((x) => trees.scores(Float64Array.of(x))[0]);
    expect(one).toBeGreaterThan(two);
    expect(two).toBeGreaterThan(three);
  });

  it('with equal grades, constant features or queries of one item gives no tree, and scores of 0', () => {
    const sets = [
      setOf([1, 2, 3, 4, 5, 6].map((x) => [x, 1] as const)),
      setOf([1, 2, 3, 4, 5, 6].map((x) => [x, 0] as const)),
      setOf([0, 1, 0, 2, 0, 1].map((grade) => [7, grade] as const)),
      setOf([0, 1, 0, 2, 0, 1].map((grade) => [Number.NaN, grade] as const)),
      setOf(...[0, 1, 2, 3].map((x) => [[x, x] as const])),
    ];
    for (const set of sets) {
      const trees = trainLambdaMart(set, { ...SMALL, minDataInLeaf: 1 });
      expect(trees.size).toBe(0);
      expect(trees.scores(Float64Array.of(1))[0]).toBe(0);
    }
  });

  it('learns from being missing, and sends what was never missing with the larger part', () => {
    const grades = [1, 1, 1, 0, 0, 0, 0, 0];
    const missing = setOf(grades.map((grade, at) => [grade === 1 ? Number.NaN : at, grade] as const));
    const settings = { ...SMALL, minDataInLeaf: 1, numLeaves: 2, rounds: 1 };
    const learned = trainLambdaMart(missing, settings);
    expect(learned.scores(Float64Array.of(Number.NaN))[0]).toBeGreaterThan(
      learned.scores(Float64Array.of(5))[0],
    );
    const known = trainLambdaMart(setOf(grades.map((grade, at) => [at, grade] as const)), settings);
    expect(known.scores(Float64Array.of(Number.NaN))[0]).toBe(known.scores(Float64Array.of(7))[0]);
  });

  it('gives finite scores and leaves as many rows in each leaf as asked, whatever the numbers are', () => {
    const value = fc.oneof(
      fc.double({ noNaN: false, noDefaultInfinity: true }),
      fc.integer({ min: -2, max: 2 }),
      fc.constantFrom(Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, -0),
    );
    const row = fc.tuple(value, fc.integer({ min: 0, max: 31 }));
    const queries = fc.array(fc.array(row, { maxLength: 12 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(queries, fc.integer({ min: 1, max: 5 }), (lists, minDataInLeaf) => {
        const set = setOf(...lists);
        const trees = trainLambdaMart(set, { ...SMALL, minDataInLeaf, rounds: 3 });
        const scores = trees.scores(set.features);
        expect(scores.every(Number.isFinite)).toBe(true);
        if (trees.size === 0) return;
        const { roots, leaves } = trees.parts;
        const counts = new Map<number, number>();
        const firstLeaves = leaves.subarray(
          0,
          roots.length > 1 ? leafCount(trees.parts.lefts, roots) : undefined,
        );
        const first = trainLambdaMart(set, { ...SMALL, minDataInLeaf, rounds: 1 }).scores(set.features);
        for (const score of first) counts.set(score, (counts.get(score) ?? 0) + 1);
        for (const count of counts.values()) expect(count).toBeGreaterThanOrEqual(minDataInLeaf);
        expect(counts.size).toBeLessThanOrEqual(firstLeaves.length);
      }),
      { numRuns: 300 },
    );
  });
});

/** Leaves of the first tree: one more than its nodes. */
function leafCount(lefts: Int32Array, roots: Int32Array): number {
  return (roots[1] >= 0 ? roots[1] : lefts.length) + 1;
}

describe('what cannot be learned from', () => {
  const set = setOf([
    [1, 0],
    [2, 1],
  ]);
  it.each([
    [{ ...set, labels: Uint8Array.of(0, 32) }, 'that of row 1 is 32'],
    [{ ...set, queryStarts: Uint32Array.of(0, 1) }, 'from 0 to the number of rows, 2'],
    [{ ...set, queryStarts: Uint32Array.of(0, 2, 1, 2) }, 'Query 2 begins before query 1'],
    [{ ...set, features: Float64Array.of(1) }, '2 rows of 1 features are 2 numbers, not 1'],
    [{ ...set, features: Float64Array.of(1, Number.POSITIVE_INFINITY) }, 'x of row 1 is infinite'],
  ])('is refused with what is wrong: %#', (wrong, message) => {
    expect(() => trainLambdaMart(wrong, SMALL)).toThrow(message);
  });

  it.each([
    [{ rounds: 0 }, 'rounds is a whole number of at least 1, not 0'],
    [{ numLeaves: 1 }, 'numLeaves'],
    [{ minDataInLeaf: 1.5 }, 'minDataInLeaf'],
    [{ truncation: Number.NaN }, 'truncation'],
    [{ lambda: -1 }, 'lambda is a number of at least 0'],
    [{ learningRate: 0 }, 'learningRate is a number above 0'],
    [{ sigmoid: Number.POSITIVE_INFINITY }, 'sigmoid'],
  ])('settings too: %o', (wrong, message) => {
    expect(() => trainLambdaMart(set, { ...SMALL, ...wrong })).toThrow(message);
  });
});
