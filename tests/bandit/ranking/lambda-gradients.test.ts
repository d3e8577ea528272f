import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LambdaGradients, type LambdaSettings } from '../../../bandit/ranking/lambda-gradients.ts';
import type { RankingSet } from '../../../bandit/ranking/ranking-set.ts';

const query = fc.array(fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: -40, max: 40 })), {
  maxLength: 9,
});
const settings = fc.record({
  truncation: fc.integer({ min: 1, max: 10 }),
  sigmoid: fc.constantFrom(0.5, 1, 2),
  normalise: fc.boolean(),
});

interface Derivatives {
  readonly gradients: number[];
  readonly hessians: number[];
}

/** All pairs of a query, with the NDCG that exchanging the two would change computed from both whole orders. */
function naive(
  rows: readonly (readonly [grade: number, score: number])[],
  used: LambdaSettings,
): Derivatives {
  const n = rows.length;
  const gradients = new Array<number>(n).fill(0);
  const hessians = new Array<number>(n).fill(0);
  const order = [...rows.keys()].sort((a, b) => rows[b][1] - rows[a][1] || a - b);
  const dcg = (items: readonly number[]): number =>
    items.reduce((sum, item, rank) => sum + (2 ** rows[item][0] - 1) / Math.log2(rank + 2), 0);
  const best = [...rows.keys()].sort((a, b) => rows[b][0] - rows[a][0]).slice(0, used.truncation);
  if (dcg(best) === 0) return { gradients, hessians };
  const spread = rows[order[0]][1] - rows[order[n - 1]][1];
  let total = 0;
  for (let a = 0; a < n; a++) {
    for (let b = 0; b < n; b++) {
      if (rows[a][0] <= rows[b][0]) continue;
      const [rankA, rankB] = [order.indexOf(a), order.indexOf(b)];
      if (Math.min(rankA, rankB) >= used.truncation) continue;
      const exchanged = order.map((item) => (item === a ? b : item === b ? a : item));
      let change = Math.abs(dcg(exchanged) - dcg(order)) / dcg(best);
      const difference = rows[a][1] - rows[b][1];
      if (used.normalise && spread > 0) change /= 0.01 + Math.abs(difference);
      const rho = 1 / (1 + Math.exp(used.sigmoid * difference));
      gradients[a] -= used.sigmoid * rho * change;
      gradients[b] += used.sigmoid * rho * change;
      hessians[a] += used.sigmoid ** 2 * rho * (1 - rho) * change;
      hessians[b] += used.sigmoid ** 2 * rho * (1 - rho) * change;
      total += 2 * used.sigmoid * rho * change;
    }
  }
  const scale = used.normalise && total > 0 ? Math.log2(1 + total) / total : 1;
  return { gradients: gradients.map((g) => g * scale), hessians: hessians.map((h) => h * scale) };
}

it('derivatives are the sums over all pairs, query by query', () => {
  fc.assert(
    fc.property(fc.array(query, { minLength: 1, maxLength: 4 }), settings, (queries, used) => {
      const rows = queries.flat();
      let end = 0;
      const set: RankingSet = {
        names: [],
        features: new Float64Array(),
        labels: Uint8Array.from(rows, ([grade]) => grade),
        queryStarts: Uint32Array.from([0, ...queries.map((own) => (end += own.length))]),
      };
      const scores = Float64Array.from(rows, ([, tenths]) => tenths / 10);
      // Whatever was in them is overwritten.
      const gradients = new Float64Array(rows.length).fill(7);
      const hessians = new Float64Array(rows.length).fill(7);
      new LambdaGradients(set, used).compute(scores, gradients, hessians);
      const expected = queries.map((own) =>
        naive(
          own.map(([grade, tenths]) => [grade, tenths / 10] as const),
          used,
        ),
      );
      const wanted = {
        gradients: expected.flatMap((one) => one.gradients),
        hessians: expected.flatMap((one) => one.hessians),
      };
      for (let row = 0; row < rows.length; row++) {
        expect(gradients[row]).toBeCloseTo(wanted.gradients[row], 9);
        expect(hessians[row]).toBeCloseTo(wanted.hessians[row], 9);
        expect(hessians[row]).toBeGreaterThanOrEqual(0);
      }
    }),
    { numRuns: 400 },
  );
});
