/**
 * What does outcome memory cost, by number of cases? Time of one recall and of one remembered decision in a full
 * memory, and size. And how much do clusters spare, and miss, beside the exact scan? Medians within one process;
 * under load only the ratios mean anything.
 *
 *   npx tsx bench/memory.ts [--cases 1000,4000,10000,50000,100000] [--dimensions 256] [--data ../shared/data]
 *
 * Indexes are compared on made-up cases and on the texts of the public sets, if they are there (256 dimensions; needs
 * the compiled embedding thread, npm run build).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { type CaseIndex, EXACT_UP_TO } from '../bandit/memory/case-index.ts';
import { ClusteredCaseIndex } from '../bandit/memory/clustered-case-index.ts';
import { ExactCaseIndex } from '../bandit/memory/exact-case-index.ts';
import { NEIGHBOURS, OutcomeMemory } from '../bandit/memory/outcome-memory.ts';
import type { QueryFeatures, RecalledCase } from '../bandit/policy.ts';
import { packageRoot } from '../config/package-root.ts';
import { OnnxEmbedder } from '../src/models/onnx/onnx-embedder.ts';
import { loadKernels } from '../src/state/load-kernels.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';
import { type Cases, casesOfTexts, madeUpCases } from './memory/cases.ts';
import { savedMemory, slateOf } from './memory/saved-memory.ts';

const TOOLS = 500;
const ENTRIES_PER_CASE = 16;
const SLATE = 5;
const PROBES = 200;
const MODEL_DIMENSIONS = 256;
/** The TypeScript kernels are measured up to here: they are a fallback, and slow. */
const TYPESCRIPT_UP_TO = 10_000;

/** A full memory, loaded as a saved one: remembering case by case would scan n²/2 rows. */
function filled(kernels: Kernels, queries: readonly QueryFeatures[], dimensions: number): OutcomeMemory {
  const limits = { dimensions, cases: queries.length };
  return OutcomeMemory.load(
    kernels,
    limits,
    savedMemory(kernels, queries, dimensions, slateOf(TOOLS, ENTRIES_PER_CASE)),
  );
}

function timed<T>(times: number[], work: () => T): T {
  const start = performance.now();
  const result = work();
  times.push(performance.now() - start);
  return result;
}

interface MemoryRow {
  readonly kernels: string;
  readonly cases: number;
  readonly index: string;
  readonly recallMs: number;
  readonly rememberMs: number;
  readonly saveMs: number;
  readonly bytesPerCase: number;
}

function measureMemory(kernels: Kernels, { remembered, asked }: Cases, dimensions: number): MemoryRow {
  const memory = filled(kernels, remembered, dimensions);
  const slate = slateOf(TOOLS, SLATE);
  const [recall, remember, save]: [number[], number[], number[]] = [[], [], []];
  for (const [probe, query] of asked.entries()) {
    timed(recall, () => memory.recall(query));
    timed(remember, () => memory.remember(query, slate(probe), probe, 0));
  }
  timed(save, () => memory.save());
  const row = {
    kernels: kernels.name,
    cases: remembered.length,
    index: remembered.length > EXACT_UP_TO ? 'clustered' : 'exact',
    recallMs: median(recall),
    rememberMs: median(remember),
    saveMs: save[0],
    bytesPerCase: memory.bytes / remembered.length,
  };
  memory.dispose();
  return row;
}

interface IndexRow {
  readonly cases: string;
  readonly count: number;
  readonly index: string;
  readonly nearestMs: number;
  readonly putMs: number;
  readonly bytesPerCase: number;
  readonly 'recall@30': number;
  /** With the weights that recall gives to cases. */
  readonly weighted: number;
  /** How often the nearest case of all was found. */
  readonly first: number;
  /** Similarity of the 30th nearest, the median. */
  readonly 's of 30th': number;
}

/** Both indexes in turns, query by query. */
function compareIndexes(
  kernels: Kernels,
  { name, remembered, asked }: Cases,
  dimensions: number,
): IndexRow[] {
  const indexes: readonly (readonly [string, CaseIndex])[] = [
    ['exact', new ExactCaseIndex(kernels, dimensions)],
    ['clustered', new ClusteredCaseIndex(kernels, dimensions, Math.min(EXACT_UP_TO, remembered.length - 1))],
  ];
  const put = indexes.map(([, index]) => {
    const start = performance.now();
    for (const [place, query] of remembered.entries()) index.put(place, query);
    return (performance.now() - start) / remembered.length;
  });
  const times: number[][] = indexes.map(() => []);
  const found = asked.map((query) =>
    indexes.map(([, index], at) => timed(times[at], () => index.nearest(query, NEIGHBOURS))),
  );
  return indexes.map(([kind, index], at) => {
    const row = {
      cases: name,
      count: remembered.length,
      index: kind,
      nearestMs: median(times[at]),
      putMs: put[at],
      bytesPerCase: index.bytes / remembered.length,
      'recall@30': mean(found.map((lists) => share(lists[at], lists[0], () => 1))),
      weighted: mean(found.map((lists) => share(lists[at], lists[0], (s) => Math.exp(s / 0.1)))),
      first: mean(found.map((lists) => (lists[at][0]?.caseId === lists[0][0]?.caseId ? 1 : 0))),
      's of 30th': median(found.map(([exact]) => exact[NEIGHBOURS - 1]?.similarity ?? 0)),
    };
    index.dispose();
    return row;
  });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function share(
  found: readonly RecalledCase[],
  wanted: readonly RecalledCase[],
  weightOf: (similarity: number) => number,
): number {
  const places = new Set(found.map(({ caseId }) => caseId));
  let [sum, all] = [0, 0];
  for (const { caseId, similarity } of wanted) {
    const weight = weightOf(similarity);
    all += weight;
    if (places.has(caseId)) sum += weight;
  }
  return all === 0 ? 1 : sum / all;
}

function print(rows: readonly object[]): void {
  console.table(
    rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([key, value]) => [
          key,
          typeof value === 'number' ? Number(value.toPrecision(4)) : value,
        ]),
      ),
    ),
  );
}

async function realCases(data: string, count: number): Promise<Cases | null> {
  const embedder = await OnnxEmbedder.open({ folder: join(packageRoot(), 'models', 'tool-static-256') });
  try {
    return await casesOfTexts(data, count, PROBES, embedder);
  } finally {
    await embedder.close();
  }
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      cases: { type: 'string', default: '1000,4000,10000,50000,100000' },
      dimensions: { type: 'string', default: '256' },
      data: { type: 'string', default: '../shared/data' },
    },
  });
  const dimensions = Number(options.dimensions);
  const kernels = await loadKernels((reason) => console.log(reason));
  const memories: MemoryRow[] = [];
  const indexes: IndexRow[] = [];
  for (const count of options.cases.split(',').map(Number)) {
    const cases = madeUpCases(count, PROBES, dimensions);
    memories.push(measureMemory(kernels, cases, dimensions));
    if (count <= TYPESCRIPT_UP_TO) memories.push(measureMemory(createTypescriptKernels(), cases, dimensions));
    if (count <= EXACT_UP_TO) continue;
    indexes.push(...compareIndexes(kernels, cases, dimensions));
    const real = dimensions === MODEL_DIMENSIONS ? await realCases(options.data, count) : null;
    if (real === null)
      console.log(`No data sets in ${options.data}, or other dimensions: made-up cases only.`);
    else indexes.push(...compareIndexes(kernels, real, dimensions));
  }
  print(memories);
  print(indexes);
  mkdirSync('bench/results', { recursive: true });
  const results = { ...measuredOn('npx tsx bench/memory.ts'), dimensions, memories, indexes };
  writeFileSync('bench/results/memory.json', `${JSON.stringify(results, null, 2)}\n`);
}

await main();
