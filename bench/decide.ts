/**
 * What does one decision cost, and one observation, and how do they grow? The service's own code in process:
 * retrieval, recall from a full outcome memory, ranking, draw, propensities, record; then the fold of the outcomes.
 * And what does a learner take: memory, and time to be written down and read. Beside each what was asked for. Tools,
 * queries and vectors are made up (256 dimensions, clustered). Quantiles are of the clock: under load only their ratios mean
 * anything. What stands beside what was asked for is processor time, the least of many batches.
 *
 *   npx tsx bench/decide.ts [--tools 100,1000,10000,100000] [--cases 1000,4000,20000] [--rounds 400]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { crc32 } from 'node:zlib';
import { decodeLearner, encodeLearner } from '../bandit/learner-codec.ts';
import { loadPolicy } from '../bandit/policies/registry.ts';
import { randomFor } from '../bandit/random.ts';
import type { Decision } from '../src/decisions/decision.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../src/ledger/catalog-settings.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import {
  type PreparedQuery,
  type PreparedTool,
  SimulatedCatalog,
} from '../src/simulation/simulated-catalog.ts';
import { decodeSnapshot, encodeSnapshot } from '../src/state/snapshot-codec.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { measuredOn } from './measured-on.ts';
import { savedMemory, slateOf } from './memory/saved-memory.ts';

const { values } = parseArgs({
  options: {
    tools: { type: 'string', default: '100,1000,10000,100000' },
    cases: { type: 'string', default: '1000,4000,20000' },
    rounds: { type: 'string', default: '400' },
  },
});
const numbersOf = (list: string): number[] => list.split(',').map(Number);
const ROUNDS = Number(values.rounds);
const DIMENSIONS = 256;
const CLUSTERS = 64;
const VOCABULARY = 4000;
const K = 5;
const ENTRIES_PER_CASE = 16;
const SIZED_TOOLS = 10_000;
const SIZED_CASES = 4_000;
const REPEATS = 5;
/** Batches of which the least processor time is taken, and decisions in each. */
const BATCHES = 120;
const BATCH = 32;

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

/** Tools and the queries of cases, of which several catalogs can be made that are alike. */
interface World {
  readonly tools: readonly PreparedTool[];
  readonly queries: readonly PreparedQuery[];
}

function worldOf(tools: number, cases: number): World {
  return {
    tools: Array.from({ length: tools }, (_, i) => ({
      tool: { name: `tool_${i}`, description: words(20), inputSchema: { type: 'object' } },
      embedding: vectorNear(i % CLUSTERS),
    })),
    queries: Array.from({ length: cases }, query),
  };
}

/** A catalog of these tools whose memory is full of cases with these queries. */
async function filled(world: World): Promise<SimulatedCatalog> {
  const [tools, cases] = [world.tools.length, world.queries.length];
  const policy = { ...DEFAULT_CATALOG_SETTINGS.policy, parameters: { cases } };
  const kernels = await loadKernels();
  const catalog = new SimulatedCatalog(kernels, DIMENSIONS, policy);
  catalog.put(world.tools);
  const queries = world.queries.map(({ text, embedding, tokens }) => {
    return { embedding, terms: catalog.index.queryTerms({ text, tokens }) };
  });
  const memory = savedMemory(kernels, queries, DIMENSIONS, slateOf(tools, ENTRIES_PER_CASE));
  const { learners, tools: table } = catalog.state;
  const saved = learners.save();
  const versions = saved.versions.map((version) => {
    const { state } = version;
    return version.version === saved.active
      ? { ...version, state: { ...state, arrays: { ...state.arrays, ...memory } } }
      : version;
  });
  learners.restore({ ...saved, versions }, table.vectors);
  return catalog;
}

interface Costs {
  readonly tools: number;
  readonly cases: number;
  readonly candidates: number;
  /** Milliseconds. */
  readonly decide: Quantiles;
  readonly withoutRetrieval: Quantiles;
  /** The observation of a decision of K tools: K examples, their calls, and one case. */
  readonly fold: Quantiles;
  /** The least processor time of each, in milliseconds; of folds in the process that made the decision, and in another one. */
  readonly least: Readonly<Record<'withoutRetrieval' | 'fold' | 'foldElsewhere', number>>;
}

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

async function costsOf(tools: number, cases: number): Promise<Costs> {
  const world = worldOf(tools, cases);
  const catalog = await filled(world);
  const other = await filled(world);
  const search = catalog.index.search.bind(catalog.index);
  let searchMs = 0;
  catalog.index.search = (request) => {
    const searched = timed(() => search(request));
    searchMs += searched.ms;
    return searched.result;
  };
  const decideTimes: number[] = [];
  const otherTimes: number[] = [];
  const foldTimes: number[] = [];
  let candidates = 0;
  for (let round = -50; round < ROUNDS; round++) {
    const asked = query();
    const id = `bench.${tools}x${round}`;
    searchMs = 0;
    const decided = timed(() => catalog.decide(id, asked, K, true));
    const decision: Decision = decided.result;
    const folded = timed(() => report(catalog, decision, round));
    if (round < 0) continue;
    candidates += decision.candidates.length / ROUNDS;
    decideTimes.push(decided.ms);
    otherTimes.push(decided.ms - searchMs);
    foldTimes.push(folded.ms);
  }
  catalog.index.search = search;
  const least = leastOf(catalog, other);
  catalog.free();
  other.free();
  return {
    tools,
    cases,
    least,
    candidates: Math.round(candidates),
    decide: quantiles(decideTimes),
    withoutRetrieval: quantiles(otherTimes),
    fold: quantiles(foldTimes),
  };
}

function report(catalog: SimulatedCatalog, decision: Decision, round: number): void {
  const called = decision.candidates[decision.slate[0]];
  catalog.report(decision, [{ tool: called, success: round % 2 === 0 }]);
}

/** The least processor time of a decision and its observation, over batches: other work on the machine only adds to it. */
function leastOf(catalog: SimulatedCatalog, other: SimulatedCatalog): Costs['least'] {
  const search = catalog.index.search.bind(catalog.index);
  const least = { withoutRetrieval: Number.POSITIVE_INFINITY, fold: Number.POSITIVE_INFINITY };
  let foldElsewhere = Number.POSITIVE_INFINITY;
  for (let batch = 0; batch < BATCHES; batch++) {
    const asked = Array.from({ length: BATCH }, query);
    // What retrieval found is found again, so that only the rest of a decision is measured.
    const found: ReturnType<typeof search>[] = [];
    const decideAll = (again: boolean): Decision[] => {
      let at = 0;
      catalog.index.search = (request) => {
        if (!again) found.push(search(request));
        return found[at++];
      };
      return asked.map((one, i) => catalog.decide(`bench.${batch}/${i}`, one, K, true));
    };
    const decisions = decideAll(false);
    const measure = (work: () => unknown): number => processorTimeOf(work) / BATCH;
    least.withoutRetrieval = Math.min(
      least.withoutRetrieval,
      measure(() => decideAll(true)),
    );
    const fold = (by: SimulatedCatalog): number =>
      measure(() => {
        for (const [i, decision] of decisions.entries()) report(by, decision, i);
      });
    least.fold = Math.min(least.fold, fold(catalog));
    foldElsewhere = Math.min(foldElsewhere, fold(other));
  }
  catalog.index.search = search;
  return { ...least, foldElsewhere };
}

async function sizes(): Promise<Record<string, number>> {
  const catalog = await filled(worldOf(SIZED_TOOLS, SIZED_CASES));
  const { settings, policy } = catalog.state.learners.active;
  const { matrices, perTool, memory } = policy.sizeInBytes();
  const { vectors } = catalog.state.tools;
  const kernels = await loadKernels();
  const context = { kernels, vectors, parameters: settings.parameters, derived: true };
  const bytes = encodeLearner(policy.save(), crc32);
  const snapshot = encodeSnapshot(catalog.state);
  const figures = {
    'learner, MB': megabytes(matrices + perTool + memory),
    'its matrices, MB': megabytes(matrices),
    'per tool, bytes': perTool / SIZED_TOOLS,
    'per case, bytes': memory / SIZED_CASES,
    'tool vectors, MB': megabytes(vectors.sizeInBytes),
    'learner and vectors, MB': megabytes(matrices + perTool + memory + vectors.sizeInBytes),
    'learner written, MB': megabytes(bytes.length),
    'learner written, ms': processorTime(() => encodeLearner(policy.save(), crc32)),
    'learner loaded, ms': processorTime(() =>
      loadPolicy(policy.name, context, decodeLearner(bytes, crc32)).free(),
    ),
    'snapshot of the catalog, MB': megabytes(snapshot.length),
    'snapshot written, ms': processorTime(() => encodeSnapshot(catalog.state)),
    'snapshot loaded, ms': processorTime(() => decodeSnapshot(snapshot, catalog.name, context).free()),
  };
  catalog.free();
  return figures;
}

function timed<T>(work: () => T): { readonly ms: number; readonly result: T } {
  const start = performance.now();
  const result = work();
  return { ms: performance.now() - start, result };
}

/** Milliseconds of processor time: what a worker spends, whatever else the machine does. The least of a few times. */
function processorTime(work: () => unknown): number {
  return Math.min(...Array.from({ length: REPEATS }, () => processorTimeOf(work)));
}

function processorTimeOf(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

function quantiles(sample: readonly number[]): Quantiles {
  const sorted = [...sample].sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { p50: at(0.5), p99: at(0.99) };
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
      'without retrieval p50, ms': row.withoutRetrieval.p50.toFixed(3),
      'p99 of that, ms': row.withoutRetrieval.p99.toFixed(3),
      'observation p50, ms': row.fold.p50.toFixed(3),
      'p99 of it, ms': row.fold.p99.toFixed(3),
      'least processor ms: without retrieval': row.least.withoutRetrieval.toFixed(3),
      'observation in the same process': row.least.fold.toFixed(3),
      'in another one': row.least.foldElsewhere.toFixed(3),
    })),
  );
}

/** What was asked for, beside what was measured; rows that were not measured are left out. */
function asked(byTools: readonly Costs[], size: Readonly<Record<string, number>>): Asked[] {
  const row = (tools: number): Costs | undefined => byTools.find((each) => each.tools === tools);
  const figures: [what: string, atMost: number, measured: number | undefined][] = [
    ['decision without retrieval, 1,000 tools, ms of processor', 0.5, row(1_000)?.least.withoutRetrieval],
    ['the same by the clock, p99, ms', 2, row(1_000)?.withoutRetrieval.p99],
    ['observation, 1,000 tools, ms of processor', 0.1, row(1_000)?.least.fold],
    ['the same in a process that did not decide', 0.1, row(1_000)?.least.foldElsewhere],
    ['observation, 10,000 tools, ms of processor', 0.1, row(10_000)?.least.fold],
    ['learner of 10,000 tools and 4,000 cases, MB', 48, size['learner and vectors, MB']],
    ['learner written, ms', 40, size['learner written, ms']],
    ['learner loaded, ms', 300, size['learner loaded, ms']],
    ['snapshot of the whole catalog written, ms', 100, size['snapshot written, ms']],
    ['snapshot of the whole catalog loaded, ms', 300, size['snapshot loaded, ms']],
  ];
  return figures.flatMap(([what, atMost, measured]) =>
    measured === undefined ? [] : [{ what, atMost, measured, reached: measured <= atMost }],
  );
}

interface Asked {
  readonly what: string;
  readonly atMost: number;
  readonly measured: number;
  readonly reached: boolean;
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
  'decide without retrieval, by tools': exponent(byTools, 'tools', (row) => row.withoutRetrieval.p50),
  'decide, by cases': exponent(byCases, 'cases', ({ decide }) => decide.p50),
  'fold, by cases': exponent(byCases, 'cases', ({ fold }) => fold.p50),
};
const size = await sizes();
console.table(growth);
console.table(size);
const targets = asked(byTools, size);
console.table(targets);
mkdirSync('bench/results', { recursive: true });
const results = { ...measuredOn('npx tsx bench/decide.ts'), byTools, byCases, growth, size, targets };
writeFileSync('bench/results/decide.json', `${JSON.stringify(results, null, 2)}\n`);
