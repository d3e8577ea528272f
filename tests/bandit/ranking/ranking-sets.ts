import type { RankingSet } from '../../../bandit/ranking/ranking-set.ts';

export const ROWS_PER_QUERY = 20;
const COLUMNS = 8;
const DRAWS = 24;

export type Kind = 'numeric' | 'categories' | 'missing';

/** Bit for bit the sets of tests/golden/lightgbm/make.py: grades 0…3, twenty rows a query. */
export function rankingSet(kind: Kind, queries: number, seed: number): RankingSet {
  const rows = queries * ROWS_PER_QUERY;
  const features = new Float64Array(rows * COLUMNS);
  const labels = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) {
    const u = (draw: number): number => uniform(seed, row * DRAWS + draw);
    const noise = u(20) + u(21) + u(22) - 1.5;
    const x = Float64Array.from({ length: COLUMNS }, (_, j) => Math.floor(u(j) * 1024) / 1024);
    let z: number;
    if (kind === 'numeric') {
      z = 2 * x[0] + 3 * x[1] * x[2] + (x[3] > 0.6 ? 1 : 0) + noise;
    } else if (kind === 'categories') {
      for (let j = 0; j < 4; j++) x[j] = Math.floor(u(j) * 10);
      z = ((x[0] * 7 + 3) % 10) / 5 + ((x[1] * 3 + 1) % 10) / 10 + x[4] * (x[2] > 4 ? 1 : 0) + noise;
    } else {
      for (let j = 0; j < COLUMNS; j++) x[j] = Math.floor(x[j] * 4) / 4;
      for (let j = 0; j < 4; j++) if (u(10 + j) < 0.2) x[j] = Number.NaN;
      const first = Number.isNaN(x[0]) ? 1.5 : 2 * x[0];
      z = first + (Number.isNaN(x[1]) ? 0 : x[1] * x[4] * 2) + x[5] + noise;
    }
    features.set(x, row * COLUMNS);
    labels[row] = (z > 2 ? 1 : 0) + (z > 2.8 ? 1 : 0) + (z > 3.4 ? 1 : 0);
  }
  const names = Array.from({ length: COLUMNS }, (_, column) => `Column_${column}`);
  const queryStarts = Uint32Array.from({ length: queries + 1 }, (_, query) => query * ROWS_PER_QUERY);
  return { names, features, labels, queryStarts };
}

/** The finaliser of MurmurHash3, as a number in [0, 1). */
function uniform(seed: number, index: number): number {
  let h = (Math.imul(index, 0x9e3779b9) + seed) >>> 0;
  for (const [shift, factor] of [
    [16, 0x85ebca6b],
    [13, 0xc2b2ae35],
    [16, 1],
  ]) {
    h = Math.imul(h ^ (h >>> shift), factor) >>> 0;
  }
  return h / 2 ** 32;
}
