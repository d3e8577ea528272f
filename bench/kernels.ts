/**
 * How fast is the learner's algebra, and does it stay exact? d = 520, mean and variance of all candidates, beside
 * ml-matrix in the same run: every round measures every contender, CPU time of this process, median of rounds.
 * Then the drift of A⁻¹ after many updates, against a Cholesky factor of A.
 *
 *   npx tsx bench/kernels.ts [--rounds 15] [--drift 100000]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CholeskyDecomposition, Matrix } from 'ml-matrix';
import { Cholesky } from '../bandit/ridge/cholesky.ts';
import type { SemanticRidge } from '../bandit/ridge/semantic-ridge.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { createTypescriptKernels } from '../tests/bandit/kernels/typescript-kernels.ts';
import { type Contender, mlMatrix, ours, SIZE, Stream } from './kernels/learner-at-work.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';

const CANDIDATES = [60, 500] as const;
/** Tools shown per decision: as many updates lie between two requests when every decision is rewarded. */
const SHOWN = 5;
const PROBES = 200;

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, drift: { type: 'string', default: '100000' } },
});

interface Task {
  readonly name: string;
  /** How often it is done per measurement by ours, and by ml-matrix, which takes a thousand times as long. */
  readonly times: readonly [ours: number, reference: number];
  run(contender: Contender): () => void;
}

const stream = new Stream();
const examples = Array.from({ length: 200 }, () => stream.example());
let turn = 0;
const learn = (contender: Contender): void => contender.update(examples[turn++ % examples.length]);

const TASKS: readonly Task[] = [
  { name: 'one update', times: [200, 4], run: (contender) => () => learn(contender) },
  ...CANDIDATES.flatMap((count): Task[] => {
    const candidates = stream.candidates(count);
    return [
      {
        name: `${count} candidates`,
        times: [100, 1],
        run: (contender) => contender.scorer(candidates),
      },
      {
        name: `${SHOWN} updates, then ${count} candidates`,
        times: [40, 1],
        run: (contender) => {
          const score = contender.scorer(candidates);
          return () => {
            for (let i = 0; i < SHOWN; i++) learn(contender);
            score();
          };
        },
      },
    ];
  }),
];

/** Microseconds of CPU time per call. */
function measure(run: () => void, times: number): number {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

function compare(contenders: readonly Contender[], rounds: number) {
  return TASKS.map(({ name, times, run }) => {
    const runs = contenders.map((contender) => ({
      name: contender.name,
      run: run(contender),
      micros: [] as number[],
    }));
    for (const each of runs) if (each.name !== 'ml-matrix') measure(each.run, times[0]);
    for (let round = 0; round < rounds; round++) {
      for (const each of runs) each.micros.push(measure(each.run, times[each.name === 'ml-matrix' ? 1 : 0]));
    }
    const micros = Object.fromEntries(runs.map((each) => [each.name, median(each.micros)]));
    const ratio = (kernels: string) => micros['ml-matrix'] / micros[kernels];
    return { task: name, micros, faster: { wasm: ratio('wasm'), typescript: ratio('typescript') } };
  });
}

/** Largest relative error of xᵀA⁻¹x and of θᵀx over queries like those that were learned. */
function drift(ridge: SemanticRidge, updates: number) {
  const at = new Set([1000, 10_000, 20_000, 50_000, updates].filter((each) => each <= updates));
  const rows = [];
  for (let update = 1; update <= updates; update++) {
    ridge.learn(stream.example(), stream.uniform() < 0.3 ? 1 : 0, 1);
    if (!at.has(update)) continue;
    const { matrix, target } = ridge.save();
    const factor = Cholesky.of(matrix, SIZE);
    const theta = factor.solve(target);
    let variance = 0;
    let mean = 0;
    for (let probe = 0; probe < PROBES; probe++) {
      const x = Float64Array.from(stream.row(stream.example()));
      const half = factor.solveLower(x);
      const expected = half.reduce((sum, value) => sum + value * value, 0);
      variance = Math.max(variance, Math.abs(ridge.ridge.variance(x) / expected - 1));
      const predicted = theta.reduce((sum, value, i) => sum + value * x[i], 0);
      mean = Math.max(mean, Math.abs(ridge.ridge.mean(x) - predicted));
    }
    rows.push({ updates: update, variance, mean });
  }
  return rows;
}

/** Milliseconds of a factor and an inverse, ours and that of ml-matrix. */
function factorise(ridge: SemanticRidge) {
  const { matrix } = ridge.save();
  const dense = Matrix.zeros(SIZE, SIZE);
  for (let i = 0, at = 0; i < SIZE; i++) {
    for (let j = i; j < SIZE; j++, at++) {
      dense.set(i, j, matrix[at]);
      dense.set(j, i, matrix[at]);
    }
  }
  const factor = Cholesky.of(matrix, SIZE);
  const times = (run: () => void) => median(Array.from({ length: 5 }, () => measure(run, 1) / 1000));
  return {
    factor: times(() => Cholesky.of(matrix, SIZE)),
    inverse: times(() => factor.inverse()),
    'ml-matrix factor': times(() => new CholeskyDecomposition(dense)),
  };
}

const kernels = await loadKernels();
const wasm = ours(kernels, stream);
const typescript = ours(createTypescriptKernels(), stream);
const table = compare([mlMatrix(stream), wasm, typescript], Number(values.rounds));
console.table(
  table.map(({ task, micros, faster }) => ({
    task,
    ...Object.fromEntries(Object.entries(micros).map(([name, value]) => [`${name} µs`, value.toFixed(1)])),
    'wasm ×': faster.wasm.toFixed(0),
    'typescript ×': faster.typescript.toFixed(0),
  })),
);
const cold = factorise(wasm.ridge);
console.table([
  Object.fromEntries(Object.entries(cold).map(([name, value]) => [`${name} ms`, value.toFixed(1)])),
]);
const bytes = wasm.ridge.sizeInBytes;
console.log(
  `one learner of d = ${SIZE} over ${stream.tools.length} tools: ${(bytes / 2 ** 20).toFixed(2)} MiB`,
);
const drifted = drift(ours(kernels, stream).ridge, Number(values.drift));
console.table(drifted);

const folder = new URL('results/', import.meta.url);
mkdirSync(folder, { recursive: true });
const result = { ...measuredOn('npx tsx bench/kernels.ts'), size: SIZE, bytes, table, cold, drift: drifted };
writeFileSync(new URL('kernels.json', folder), `${JSON.stringify(result, null, 2)}\n`);
