/**
 * What does an exact propensity cost, and how exact is it? Inclusion probabilities of Plackett–Luce slates, T = .03,
 * scores spread as those of a router, beside what one would use instead: counting 1,000 draws, and the plain
 * quadrature with a step of .5 in ln t and an exp per candidate and step. CPU time of this process, median of rounds.
 *
 *   npx tsx bench/propensities.ts [--rounds 15] [--draws 200000]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { drawSlate } from '../bandit/exploration/draw-slate.ts';
import { inclusionPropensities, slateLogProbability } from '../bandit/exploration/propensities.ts';
import { randomFor } from '../bandit/random.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { createTypescriptKernels } from '../tests/bandit/kernels/typescript-kernels.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';

const TEMPERATURE = 0.03;
const SHAPES = [
  [12, 5],
  [60, 5],
  [60, 10],
  [60, 50],
  [500, 5],
] as const;
const SCORES_PER_SHAPE = 20;
const COUNTED_DRAWS = 1000;

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, draws: { type: 'string', default: '200000' } },
});

/** Few candidates are good, most are not: squares of uniform numbers. */
function scores(n: number, seed: number): Float64Array {
  const random = randomFor(`bench/propensities/${n}/${seed}`);
  return Float64Array.from({ length: n }, (_, i) => random.uniform(i) ** 2);
}

function draw(score: Float64Array, k: number, key: string): Int32Array {
  return drawSlate({ score, k, temperature: TEMPERATURE, mode: 'plackett-luce', random: randomFor(key) });
}

function countDraws(score: Float64Array, k: number, draws: number): Float64Array {
  const counts = new Float64Array(score.length);
  for (let i = 0; i < draws; i++) for (const index of draw(score, k, `draw/${i}`)) counts[index]++;
  return counts.map((count) => count / draws);
}

/** The integral as it is written down: Poisson-binomial counts before and after each candidate, at every step. */
function plainQuadrature(score: Float64Array, k: number): Float64Array {
  const most = Math.max(...score);
  const weight = score.map((value) => Math.max(1e-290, Math.exp((value - most) / TEMPERATURE)));
  const n = weight.length;
  const total = weight.reduce((sum, value) => sum + value, 0);
  const sorted = [...weight].sort((a, b) => b - a);
  const propensity = new Float64Array(n);
  for (let lnT = Math.log(1e-7 / total); lnT < Math.log(45 / sorted[k]); lnT += 0.5) {
    const t = Math.exp(lnT);
    const arrived = weight.map((value) => 1 - Math.exp(-value * t));
    const before = countsUpTo(arrived, k);
    const after = countsUpTo(arrived.slice().reverse(), k).reverse();
    for (let i = 0; i < n; i++) {
      let room = 0;
      for (let a = 0; a < k; a++) for (let b = 0; a + b < k; b++) room += before[i][a] * after[i + 1][b];
      propensity[i] += 0.5 * weight[i] * t * (1 - arrived[i]) * room;
    }
  }
  return propensity;
}

/** counts[i][a]: Pr[a of the first i], a < k. */
function countsUpTo(arrived: Float64Array, k: number): Float64Array[] {
  const counts = [new Float64Array(k)];
  counts[0][0] = 1;
  for (const p of arrived) {
    const last = counts[counts.length - 1];
    counts.push(last.map((value, a) => (1 - p) * value + (a > 0 ? p * last[a - 1] : 0)));
  }
  return counts;
}

/** Microseconds of CPU time per call. */
function measure(run: (score: Float64Array) => void, all: readonly Float64Array[]): number {
  const before = process.cpuUsage();
  for (const score of all) run(score);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / all.length;
}

function largest(values: Float64Array): number {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

/** Every slate of k in every order. */
function byEnumeration(score: Float64Array, k: number): Float64Array {
  const propensity = new Float64Array(score.length);
  const extend = (slate: number[]): void => {
    if (slate.length < k) {
      for (let i = 0; i < score.length; i++) if (!slate.includes(i)) extend([...slate, i]);
      return;
    }
    const probability = Math.exp(slateLogProbability(score, Int32Array.from(slate), TEMPERATURE));
    for (const index of slate) propensity[index] += probability;
  };
  extend([]);
  return propensity;
}

const wasm = await loadKernels();
const typescript = createTypescriptKernels();
const table = SHAPES.map(([n, k]) => {
  const all = Array.from({ length: SCORES_PER_SHAPE }, (_, seed) => scores(n, seed));
  const contenders: Record<string, (score: Float64Array) => void> = {
    wasm: (score) => inclusionPropensities(score, k, TEMPERATURE, wasm),
    typescript: (score) => inclusionPropensities(score, k, TEMPERATURE, typescript),
    'plain quadrature': (score) => plainQuadrature(score, k),
    'one draw': (score) => draw(score, k, 'bench'),
  };
  const micros: Record<string, number[]> = Object.fromEntries(
    Object.keys(contenders).map((name) => [name, []]),
  );
  for (const run of Object.values(contenders)) measure(run, all);
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [name, run] of Object.entries(contenders)) micros[name].push(measure(run, all));
  }
  const medians = Object.fromEntries(Object.entries(micros).map(([name, each]) => [name, median(each)]));
  return { n, k, ...medians, '1,000 draws': COUNTED_DRAWS * medians['one draw'] };
});
console.table(
  table.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value.toFixed(1))])),
  ),
);

let sum = 0;
let enumerated = 0;
let plain = 0;
for (let seed = 0; seed < 200; seed++) {
  const score = scores(7, seed);
  const k = 1 + (seed % 6);
  const exact = byEnumeration(score, k);
  const propensity = inclusionPropensities(score, k, TEMPERATURE, wasm);
  enumerated = Math.max(enumerated, largest(propensity.map((value, i) => value - exact[i])));
  plain = Math.max(plain, largest(plainQuadrature(score, k).map((value, i) => value - exact[i])));
  for (const [n, size] of SHAPES) {
    const total = inclusionPropensities(scores(n, seed), size, TEMPERATURE, wasm).reduce((a, b) => a + b, 0);
    sum = Math.max(sum, Math.abs(total - size));
  }
}
const draws = Number(values.draws);
const score = scores(60, 0);
const exact = inclusionPropensities(score, 5, TEMPERATURE, wasm);
const errors = {
  'against all slates, n = 7': enumerated,
  'plain quadrature, the same': plain,
  '|ΣP − K|, all shapes': sum,
  [`against ${draws} draws, n = 60`]: largest(
    countDraws(score, 5, draws).map((value, i) => value - exact[i]),
  ),
  [`${COUNTED_DRAWS} draws, the same`]: largest(
    countDraws(score, 5, COUNTED_DRAWS).map((value, i) => value - exact[i]),
  ),
};
console.table(
  Object.entries(errors).map(([what, value]) => ({ what, 'largest error': value.toExponential(1) })),
);

const folder = new URL('results/', import.meta.url);
mkdirSync(folder, { recursive: true });
const result = {
  ...measuredOn('npx tsx bench/propensities.ts'),
  temperature: TEMPERATURE,
  micros: table,
  errors,
};
writeFileSync(new URL('propensities.json', folder), `${JSON.stringify(result, null, 2)}\n`);
