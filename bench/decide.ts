/**
 * What does one decision cost, and one observation, and how do they grow? The service's own code in process:
 * retrieval, recall from a full outcome memory, ranking, draw, propensities, record; then the fold of the outcomes.
 * Tools, queries and vectors are made up (256 dimensions, clustered). Under load only the ratios mean anything.
 *
 *   npx tsx bench/decide.ts [--tools 100,1000,10000,100000] [--cases 1000,4000,16000,50000] [--rounds 400]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { randomFor } from '../bandit/random.ts';
import { loadKernels } from '../src/load-kernels.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import type { Decision } from '../src/routing/decision.ts';
import { type PreparedQuery, SimulatedCatalog } from '../src/simulation/simulated-catalog.ts';
import { decodeSnapshot, encodeSnapshot } from '../src/state/snapshot-codec.ts';
import { measuredOn } from './measured-on.ts';

const { values } = parseArgs({
  options: {
    tools: { type: 'string', default: '100,1000,10000,100000' },
    cases: { type: 'string', default: '1000,4000,16000,50000' },
    rounds: { type: 'string', default: '400' },
  },
});
const numbersOf = (list: string): number[] => list.split(',').map(Number);
const ROUNDS = Number(values.rounds);
const DIMENSIONS = 256;
const CLUSTERS = 64;
const VOCABULARY = 4000;
const K = 5;

const random = randomFor('bench/decide');
let draws = 0;
const uniform = (): number => random.uniform(draws++);
const CENTRES = Array.from({ length: CLUSTERS }, () => noise());

function noise(): Float32Array {
  return Float32Array.from({ length: DIMENSIONS }, () => uniform() - 0.5);
}

/** A unit vector near the centre of its cluster. */
function vectorNear(cluster: number): Float32Array {
  const vector = noise().map((value, i) => value + 0.6 * CENTRES[cluster][i]);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function words(count: number): string {
  return Array.from({ length: count }, () => `w${Math.floor(VOCABULARY * uniform() ** 2)}`).join(' ');
}

function query(): PreparedQuery {
  const text = words(8);
  return { text, tokens: tokenise(text), embedding: vectorNear(Math.floor(CLUSTERS * uniform())) };
}

/** A catalog of this many tools whose memory holds this many cases. */
async function filled(tools: number, cases: number): Promise<SimulatedCatalog> {
  const policy = {
    name: 'sc-linucb-memory',
    parameters: { cases },
    exploration: 'plackett-luce',
    temperature: 0.03,
  } as const;
  const catalog = new SimulatedCatalog(await loadKernels(console.warn), DIMENSIONS, policy);
  catalog.put(
    Array.from({ length: tools }, (_, i) => ({
      tool: { name: `tool_${i}`, description: words(20), inputSchema: { type: 'object' } },
      embedding: vectorNear(i % CLUSTERS),
    })),
  );
  const learner = catalog.state.learners.active.policy;
  for (let i = 0; learner.sizeInBytes().cases < cases; i++) {
    const { embedding, tokens } = query();
    const outcomes = Array.from({ length: K }, (_, at) => ({
      slot: (31 * i + 7 * at) % tools,
      reward: at === 0 ? 1 : 0,
    }));
    learner.remember({ embedding, terms: catalog.index.queryTerms(tokens) }, outcomes, i, 0);
  }
  return catalog;
}

interface Costs {
  readonly tools: number;
  readonly cases: number;
  readonly candidates: number;
  /** Milliseconds. */
  readonly decide: { readonly p50: number; readonly p99: number };
  readonly withoutRetrieval: number;
  readonly fold: { readonly p50: number; readonly p99: number };
  readonly perExample: number;
}

async function costsOf(tools: number, cases: number): Promise<Costs> {
  const catalog = await filled(tools, cases);
  const decideTimes: number[] = [];
  const searchTimes: number[] = [];
  const foldTimes: number[] = [];
  let candidates = 0;
  for (let round = -50; round < ROUNDS; round++) {
    const asked = query();
    const id = `bench.${tools}x${round}`;
    const searched = timed(() =>
      catalog.index.search({ embedding: asked.embedding, tokens: asked.tokens, limit: 50 }),
    );
    const decided = timed(() => catalog.decide(id, asked, K, true));
    const decision: Decision = decided.result;
    const called = decision.candidates[decision.slate[0]];
    const folded = timed(() => catalog.report(decision, [{ tool: called, success: round % 2 === 0 }]));
    if (round < 0) continue;
    candidates += decision.candidates.length / ROUNDS;
    searchTimes.push(searched.ms);
    decideTimes.push(decided.ms);
    foldTimes.push(folded.ms);
  }
  catalog.free();
  const p50 = quantile(foldTimes, 0.5);
  return {
    tools,
    cases,
    candidates: Math.round(candidates),
    decide: { p50: quantile(decideTimes, 0.5), p99: quantile(decideTimes, 0.99) },
    withoutRetrieval: quantile(decideTimes, 0.5) - quantile(searchTimes, 0.5),
    fold: { p50, p99: quantile(foldTimes, 0.99) },
    perExample: p50 / K,
  };
}

async function sizes(): Promise<Record<string, number>> {
  const catalog = await filled(10_000, 4_000);
  const { matrices, perTool, memory } = catalog.state.learners.active.policy.sizeInBytes();
  const vectors = catalog.state.tools.vectors.sizeInBytes;
  const context = { kernels: await loadKernels(console.warn), derived: true };
  // Once to warm up, once to measure.
  decodeSnapshot(encodeSnapshot(catalog.state), catalog.name, context).free();
  const encoded = processorTime(() => encodeSnapshot(catalog.state));
  const decoded = processorTime(() => decodeSnapshot(encoded.result, catalog.name, context));
  decoded.result.free();
  catalog.free();
  const learner = matrices + perTool + memory;
  return {
    'learner, MB': megabytes(learner),
    'its matrices, MB': megabytes(matrices),
    'per tool, bytes': perTool / 10_000,
    'per case, bytes': memory / 4_000,
    'tool vectors, MB': megabytes(vectors),
    'learner and vectors, MB': megabytes(learner + vectors),
    'snapshot, MB': megabytes(encoded.result.length),
    'snapshot written, ms': encoded.ms,
    'snapshot loaded, ms': decoded.ms,
  };
}

function timed<T>(work: () => T): { readonly ms: number; readonly result: T } {
  const start = performance.now();
  const result = work();
  return { ms: performance.now() - start, result };
}

/** Milliseconds of processor time: what a worker spends, whatever else the machine does. */
function processorTime<T>(work: () => T): { readonly ms: number; readonly result: T } {
  const start = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(start);
  return { ms: (user + system) / 1000, result };
}

function quantile(sample: readonly number[], share: number): number {
  return [...sample].sort((a, b) => a - b)[Math.min(sample.length - 1, Math.floor(share * sample.length))];
}

function megabytes(bytes: number): number {
  return bytes / 2 ** 20;
}

/** Slope of ln time over ln size, first to last. */
function exponent(rows: readonly Costs[], size: 'tools' | 'cases', time: (row: Costs) => number): number {
  const [first, last] = [rows[0], rows[rows.length - 1]];
  return Math.log(time(last) / time(first)) / Math.log(last[size] / first[size]);
}

function print(rows: readonly Costs[]): void {
  console.table(
    rows.map((row) => ({
      tools: row.tools,
      cases: row.cases,
      candidates: row.candidates,
      'decide p50, ms': row.decide.p50.toFixed(3),
      'p99, ms': row.decide.p99.toFixed(3),
      'without retrieval, ms': row.withoutRetrieval.toFixed(3),
      'fold of a decision p50, ms': row.fold.p50.toFixed(3),
      'fold p99, ms': row.fold.p99.toFixed(3),
      'per example, ms': row.perExample.toFixed(3),
    })),
  );
}

const byTools: Costs[] = [];
for (const tools of numbersOf(values.tools)) byTools.push(await costsOf(tools, 4_000));
const byCases: Costs[] = [];
for (const cases of numbersOf(values.cases)) byCases.push(await costsOf(1_000, cases));
print(byTools);
print(byCases);
const growth = {
  'decide, by tools': exponent(byTools, 'tools', ({ decide }) => decide.p50),
  'fold, by tools': exponent(byTools, 'tools', ({ fold }) => fold.p50),
  'decide, by cases': exponent(byCases, 'cases', ({ decide }) => decide.p50),
  'fold, by cases': exponent(byCases, 'cases', ({ fold }) => fold.p50),
};
const size = await sizes();
console.table(growth);
console.table(size);
mkdirSync('bench/results', { recursive: true });
const results = { ...measuredOn('npx tsx bench/decide.ts'), byTools, byCases, growth, size };
writeFileSync('bench/results/decide.json', `${JSON.stringify(results, null, 2)}\n`);
