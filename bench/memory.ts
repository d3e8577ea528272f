/**
 * What does outcome memory cost, by number of cases? Time of one recall and of one remembered decision in a full
 * memory, and size. Made-up cases; medians within one process; under load only the ratios mean anything.
 *
 *   npx tsx bench/memory.ts [--cases 1000,4000,10000,20000] [--dimensions 256]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import { OutcomeMemory } from '../bandit/memory/outcome-memory.ts';
import type { QueryFeatures } from '../bandit/policy.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { createTypescriptKernels } from '../tests/bandit/kernels/typescript-kernels.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';
import { type Cases, madeUpCases } from './memory/cases.ts';
import { savedMemory, slateOf } from './memory/saved-memory.ts';

const TOOLS = 500;
const ENTRIES_PER_CASE = 16;
const SLATE = 5;
const PROBES = 200;
/** The TypeScript kernels are measured up to here: they are for comparison, and slow. */
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
    recallMs: median(recall),
    rememberMs: median(remember),
    saveMs: save[0],
    bytesPerCase: memory.bytes / remembered.length,
  };
  memory.dispose();
  return row;
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

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      cases: { type: 'string', default: '1000,4000,10000,20000' },
      dimensions: { type: 'string', default: '256' },
    },
  });
  const dimensions = Number(options.dimensions);
  const kernels = await loadKernels();
  const memories: MemoryRow[] = [];
  for (const count of options.cases.split(',').map(Number)) {
    const cases = madeUpCases(count, PROBES, dimensions);
    memories.push(measureMemory(kernels, cases, dimensions));
    if (count <= TYPESCRIPT_UP_TO) memories.push(measureMemory(createTypescriptKernels(), cases, dimensions));
  }
  print(memories);
  mkdirSync('bench/results', { recursive: true });
  const results = { ...measuredOn('npx tsx bench/memory.ts'), dimensions, memories };
  writeFileSync('bench/results/memory.json', `${JSON.stringify(results, null, 2)}\n`);
}

await main();
