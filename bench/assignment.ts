/**
 * Is assignment fair, independent between experiments, and quick? Uniformity by χ² over all 10,000 buckets,
 * independence by χ² of the 2 × 2 and 10 × 10 tables of pairs of experiments, and speed.
 *
 *   npx tsx bench/assignment.ts [--units 1000000] [--pairs 200]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  allocate,
  BUCKETS,
  Bucketer,
  movedBasisPoints,
  reallocate,
} from '../bandit/assignment/allocation.ts';
import { VariantAssignment } from '../bandit/assignment/assignment.ts';
import { chiSquaredTail } from '../bandit/statistics/distributions.ts';
import { sha256 } from '../src/state/experiments/experiment-record.ts';
import { measuredOn } from './measured-on.ts';

const { values } = parseArgs({
  options: { units: { type: 'string', default: '1000000' }, pairs: { type: 'string', default: '200' } },
});
const units = Number(values.units);
const pairs = Number(values.pairs);

/** Ids as they are met: counters, UUID-like, e-mail-like, and long ones that need a second compression. */
const SHAPES: Readonly<Record<string, (i: number) => string>> = {
  counter: (i) => String(i),
  uuid: (i) => {
    const hex = (Math.imul(i, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0');
    return `${hex}-8b86-4011-b42d-${i.toString(16).padStart(12, '0')}`;
  },
  email: (i) => `person.${i}@example.com`,
  long: (i) => `tenant/europe-west/session/${i}/of/a/very/long/path/that/needs/two/blocks`,
};

/** Probability of a spread over the buckets at least this uneven, if the hash were perfect. */
function uniformity(shape: (i: number) => string): number {
  const bucketer = new Bucketer('experiment', 'uniformity', sha256);
  const counts = new Float64Array(BUCKETS);
  for (let i = 0; i < units; i++) counts[bucketer.bucket(shape(i))] += 1;
  const expected = units / BUCKETS;
  return chiSquaredTail(
    counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0),
    BUCKETS - 1,
  );
}

/** p-values of χ² for independence of the places of the same units in two experiments. */
function independence(cells: number): number[] {
  const sample = Math.min(units, 20_000);
  const column = (salt: string) => {
    const bucketer = new Bucketer('experiment', salt, sha256);
    return Int32Array.from({ length: sample }, (_, i) =>
      Math.floor((bucketer.bucket(SHAPES.counter(i)) * cells) / BUCKETS),
    );
  };
  return Array.from({ length: pairs }, (_, pair) => {
    // Names as alike as names get.
    const a = column(`default/experiment-${pair}`);
    const b = column(`default/experiment-${pair + 1}`);
    const table = new Float64Array(cells * cells);
    for (let i = 0; i < sample; i++) table[a[i] * cells + b[i]] += 1;
    return independencePValue(table, cells, sample);
  });
}

function independencePValue(table: Float64Array, cells: number, total: number): number {
  const rows = new Float64Array(cells);
  const columns = new Float64Array(cells);
  table.forEach((count, i) => {
    rows[Math.floor(i / cells)] += count;
    columns[i % cells] += count;
  });
  const statistic = table.reduce((sum, count, i) => {
    const expected = (rows[Math.floor(i / cells)] * columns[i % cells]) / total;
    return sum + (count - expected) ** 2 / expected;
  }, 0);
  return chiSquaredTail(statistic, (cells - 1) ** 2);
}

/** p-value of the largest distance between the p-values' distribution and the even one (Kolmogorov). */
function evenness(pValues: readonly number[]): number {
  const sorted = [...pValues].sort((a, b) => a - b);
  const n = sorted.length;
  const distance = Math.max(...sorted.map((p, i) => Math.max((i + 1) / n - p, p - i / n)));
  const x = (Math.sqrt(n) + 0.12 + 0.11 / Math.sqrt(n)) * distance;
  let sum = 0;
  for (let k = 1; k <= 100; k++) sum += (k % 2 === 1 ? 2 : -2) * Math.exp(-2 * k * k * x * x);
  return Math.min(1, Math.max(0, sum));
}

/** Median CPU microseconds per unit over rounds that alternate between the shapes. */
function speed() {
  const halves = allocate([
    { name: 'a', basisPoints: 5000 },
    { name: 'b', basisPoints: 5000 },
  ]);
  const assignment = new VariantAssignment({ salt: 'speed', variants: halves }, sha256);
  const contenders: Record<string, (unit: string) => string> = Object.fromEntries(
    ['uuid', 'long'].map((shape) => [shape, (unit: string) => assignment.variantOf(unit)]),
  );
  const times: Record<string, number[]> = {};
  for (let round = 0; round < 15; round++) {
    for (const [name, assign] of Object.entries(contenders)) {
      const shape = SHAPES[name];
      const ids = Array.from({ length: 20_000 }, (_, i) => shape(i + round * 20_000));
      const start = process.cpuUsage();
      for (const id of ids) assign(id);
      const { user, system } = process.cpuUsage(start);
      times[name] = [...(times[name] ?? []), (user + system) / ids.length];
    }
  }
  return Object.fromEntries(
    Object.entries(times).map(([name, list]) => [
      name,
      list.sort((a, b) => a - b)[Math.floor(list.length / 2)],
    ]),
  );
}

const uniform = Object.fromEntries(Object.entries(SHAPES).map(([name, shape]) => [name, uniformity(shape)]));
const independent = [2, 10].map((cells) => {
  const pValues = independence(cells);
  return { cells, below001: pValues.filter((p) => p < 0.01).length, pairs, evenness: evenness(pValues) };
});
const microseconds = speed();
const before = allocate([
  { name: 'control', basisPoints: 9000 },
  { name: 'new', basisPoints: 1000 },
]);
const after = reallocate(before, [
  { name: 'control', basisPoints: 5000 },
  { name: 'new', basisPoints: 5000 },
]);
const moved = movedBasisPoints(before, after);

console.log(`uniform over ${BUCKETS} buckets, ${units} units: χ² p-values (all should be above .001)`);
console.table(uniform);
console.log(`independent between ${pairs} pairs of experiments with neighbouring names`);
console.table(independent);
console.log('CPU microseconds per assignment (≤ 2 asked)');
console.table(microseconds);
console.log(`shares 90/10 → 50/50 move ${moved} basis points, the minimum is 4000`);

mkdirSync('bench/results', { recursive: true });
const result = {
  ...measuredOn('npx tsx bench/assignment.ts'),
  units,
  uniform,
  independent,
  microseconds,
  moved,
};
writeFileSync('bench/results/assignment.json', `${JSON.stringify(result, null, 2)}\n`);
