/**
 * How far does the exact scan of outcome memory carry? Time of one recall and of one remembered decision, and size,
 * by number of cases, with both kernels. Medians within one process; under load only the ratios mean anything.
 *
 *   npx tsx bench/memory.ts [--cases 1000,4000,10000,50000,100000] [--dimensions 256]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { OutcomeMemory } from '../bandit/memory/outcome-memory.ts';
import type { QueryFeatures } from '../bandit/policy.ts';
import { randomFor } from '../bandit/random.ts';
import { loadKernels } from '../src/load-kernels.ts';

const TERMS_PER_QUERY = 12;
const VOCABULARY = 5000;
const TOOLS = 500;
const ENTRIES_PER_CASE = 16;
const SLATE = 5;
const PROBES = 100;
/** Vectors are windows of one long row of random numbers: near enough to random, and quick to make. */
const NOISE = Float32Array.from(
  { length: 1 << 16 },
  (
    (random) => (_, i) =>
      random.uniform(i) - 0.5
  )(randomFor('noise')),
);

/** Few words are common, as in queries; vectors have unit length, and no two are alike. */
function queryOf(at: number, dimensions: number): QueryFeatures {
  const window = NOISE.subarray((at * 97) % (NOISE.length - dimensions)).subarray(0, dimensions);
  const norm = Math.hypot(...window);
  const words = Array.from({ length: TERMS_PER_QUERY }, (_, i) =>
    Math.floor(VOCABULARY * (NOISE[(at * 31 + i * 7919) % NOISE.length] + 0.5) ** 3),
  );
  const terms = Uint32Array.from(new Set(words)).sort();
  return {
    embedding: window.map((value) => value / norm),
    terms: { terms, weights: new Float32Array(terms.length).fill(1 / Math.sqrt(terms.length)) },
  };
}

function slateOf(at: number, size: number): { slot: number; reward: number }[] {
  return Array.from({ length: size }, (_, i) => ({
    slot: (7 * at + 31 * i) % TOOLS,
    reward: i === 0 ? 1 : 0,
  }));
}

/** A memory with this many cases, written as a saved one: remembering them one by one would scan n²/2 rows. */
function filled(kernels: Kernels, cases: number, dimensions: number): OutcomeMemory {
  const limits = { dimensions, cases: cases + PROBES };
  const queries = Array.from({ length: cases }, (_, at) => queryOf(at, dimensions));
  const embeddings = new Float32Array(cases * dimensions);
  for (const [at, { embedding }] of queries.entries())
    embeddings.set(embedding as Float32Array, at * dimensions);
  const offsets = (lengthOf: (at: number) => number): Int32Array => {
    const sums = new Int32Array(cases + 1);
    for (let at = 0; at < cases; at++) sums[at + 1] = sums[at] + lengthOf(at);
    return sums;
  };
  const entries = queries.flatMap((_, at) => slateOf(at, ENTRIES_PER_CASE));
  return OutcomeMemory.load(kernels, limits, {
    'memory.lastSeen': new Float64Array(cases),
    'memory.generations': new Float64Array(cases),
    'memory.embeddings': embeddings,
    'memory.termOffsets': offsets((at) => queries[at].terms.terms.length),
    'memory.terms': Uint32Array.from(queries.flatMap(({ terms }) => [...terms.terms])),
    'memory.termWeights': Float32Array.from(queries.flatMap(({ terms }) => [...terms.weights])),
    'memory.entryOffsets': offsets(() => ENTRIES_PER_CASE),
    'memory.entrySlots': Int32Array.from(entries, ({ slot }) => slot),
    'memory.positives': Float32Array.from(entries, ({ reward }) => reward),
    'memory.negatives': Float32Array.from(entries, ({ reward }) => 1 - reward),
    'memory.unitOffsets': offsets(() => 1),
    'memory.units': new Uint32Array(cases),
  });
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

interface Row {
  readonly kernels: string;
  readonly cases: number;
  readonly recallMs: number;
  readonly rememberMs: number;
  readonly saveMs: number;
  readonly megabytes: number;
}

function measure(kernels: Kernels, cases: number, dimensions: number): Row {
  const memory = filled(kernels, cases, dimensions);
  const recall: number[] = [];
  const remember: number[] = [];
  for (let probe = 0; probe < PROBES; probe++) {
    const query = queryOf(cases + probe, dimensions);
    const start = performance.now();
    memory.recall(query);
    const between = performance.now();
    memory.remember(query, slateOf(probe, SLATE), probe, 0);
    recall.push(between - start);
    remember.push(performance.now() - between);
  }
  const start = performance.now();
  memory.save();
  const saveMs = performance.now() - start;
  const row = {
    recallMs: median(recall),
    rememberMs: median(remember),
    saveMs,
    megabytes: memory.bytes / 2 ** 20,
  };
  memory.dispose();
  return { kernels: kernels.name, cases, ...row };
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      cases: { type: 'string', default: '1000,4000,10000,50000,100000' },
      dimensions: { type: 'string', default: '256' },
    },
  });
  const dimensions = Number(options.dimensions);
  const rows: Row[] = [];
  console.log('kernels        cases   recall ms   remember ms   save ms        MB');
  for (const cases of options.cases.split(',').map(Number)) {
    for (const kernels of [await loadKernels((reason) => console.log(reason)), createTypescriptKernels()]) {
      const row = measure(kernels, cases, dimensions);
      rows.push(row);
      console.log(
        [
          row.kernels.padEnd(10),
          String(cases).padStart(10),
          row.recallMs.toFixed(3).padStart(12),
          row.rememberMs.toFixed(3).padStart(14),
          row.saveMs.toFixed(1).padStart(10),
          row.megabytes.toFixed(1).padStart(10),
        ].join(''),
      );
    }
  }
  mkdirSync('bench/results', { recursive: true });
  writeFileSync('bench/results/memory.json', `${JSON.stringify({ dimensions, rows }, null, 2)}\n`);
}

await main();
