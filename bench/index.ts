/**
 * Which index of vectors, and when? The graph beside the exact scan on vectors like embeddings: recall@50, latency,
 * how fast vectors come in and are built into a graph, memory, the same after half of them changed, and how searches
 * fare while a graph is being built.
 *
 *   npx tsx bench/index.ts [--sizes 10000,100000] [--dimensions 384] [--queries 500]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import { ToolVectors } from '../bandit/tool-vectors.ts';
import { packageRoot } from '../config/package-root.ts';
import { ExactIndex } from '../src/retrieval/vectors/exact-index.ts';
import { type GraphLibrary, loadGraphLibrary } from '../src/retrieval/vectors/hnsw-graph.ts';
import { HnswIndex } from '../src/retrieval/vectors/hnsw-index.ts';
import { recallOf } from '../src/retrieval/vectors/recall.ts';
import type { VectorIndex } from '../src/retrieval/vectors/vector-index.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10000,100000' },
    dimensions: { type: 'string', default: '384' },
    queries: { type: 'string', default: '500' },
  },
});
const DIMENSIONS = Number(options.dimensions);
const QUERIES = Number(options.queries);
const LIMIT = 50;
const CLUSTERS = 400;

/** Milliseconds. */
interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

interface Row {
  readonly vectors: number;
  readonly exact: Latency;
  readonly graph: Latency;
  readonly recall: number;
  readonly putsPerSecond: number;
  readonly buildSeconds: number;
  /** Vectors that a graph takes in while it is built. */
  readonly addsPerSecond: number;
  readonly residentMegabytes: number;
  readonly churnPutsPerSecond: number;
  readonly whileRebuilding: Latency & {
    readonly searches: number;
    readonly recall: number;
    /** The same without the time in which the thread waited for a core (null: unknown on this system). */
    readonly running: Latency | null;
    /** Between one search and the next: what else the event loop was kept busy with. */
    readonly pauses: Latency;
  };
  readonly rebuildSeconds: number;
  readonly recallAfterChurn: number;
  readonly graphAfterChurn: Latency;
}

/** Seeded (mulberry32): the same vectors every time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const draw = numbers(7);
const bell = (): number => draw() + draw() + draw() + draw() - 2;
const centres = Array.from({ length: CLUSTERS }, () => Float64Array.from({ length: DIMENSIONS }, bell));

/** A unit vector near one of the centres, all of them leaning the same way, as embeddings of texts do. */
function vector(): Float32Array {
  const centre = centres[Math.floor(draw() * CLUSTERS)];
  const values = Float32Array.from(centre, (value) => value + 0.8 * bell() + 0.3);
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

function latencyOf(times: number[]): Latency {
  times.sort((a, b) => a - b);
  return {
    p50: times[times.length >> 1],
    p99: times[Math.floor(times.length * 0.99)],
    max: times[times.length - 1],
  };
}

function timed(index: VectorIndex, queries: readonly Float32Array[]): Latency {
  for (const query of queries.slice(0, 50)) index.search(query, LIMIT);
  return latencyOf(
    queries.map((query) => {
      const start = performance.now();
      index.search(query, LIMIT);
      return performance.now() - start;
    }),
  );
}

function recall(index: VectorIndex, exact: ExactIndex, queries: readonly Float32Array[]): number {
  let sum = 0;
  for (const query of queries) {
    const found = Int32Array.from(index.search(query, LIMIT).slots);
    const truth = exact.search(query);
    sum += recallOf(found, truth.slots, truth.similarity);
  }
  return sum / queries.length;
}

/** How long this thread has waited for a core so far, ms; null where the system does not say. */
function waitedMs(): number | null {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return null;
  }
}

/** Until no graph is being built and none is due. */
async function settled(index: HnswIndex): Promise<number> {
  const start = performance.now();
  while (index.report().building) await new Promise((resolve) => setTimeout(resolve, 50));
  return (performance.now() - start) / 1000;
}

async function measure(count: number, kernels: Kernels, library: GraphLibrary): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'bandolier-bench-index-'));
  const vectors = new ToolVectors(kernels, DIMENSIONS);
  const exact = new ExactIndex(kernels, vectors);
  const residentBefore = process.memoryUsage().rss;
  // Everything comes at once here: one graph of all, instead of a few on the way.
  const index = new HnswIndex(kernels, vectors, {
    library,
    folder,
    exactUpTo: count - 1,
    onNotice: (message) => console.log(`  ${message}`),
  });
  const queries = Array.from({ length: QUERIES }, vector);
  const all = Array.from({ length: count }, vector);
  for (const [slot, one] of all.entries()) {
    vectors.put(slot, one);
    exact.put(slot);
  }
  const putting = performance.now();
  for (let slot = 0; slot < count; slot++) index.put(slot);
  const putsPerSecond = (count / (performance.now() - putting)) * 1000;
  const buildSeconds = await settled(index);
  const residentMegabytes = (process.memoryUsage().rss - residentBefore) / 1e6;
  const row = {
    vectors: count,
    exact: timed(exact, queries),
    graph: timed(index, queries),
    recall: recall(index, exact, queries),
    putsPerSecond,
    buildSeconds,
    addsPerSecond: count / buildSeconds,
    residentMegabytes,
  };

  const others = Array.from({ length: Math.ceil(count / 2) }, vector);
  const churning = performance.now();
  for (const [at, one] of others.entries()) {
    vectors.put(2 * at, one);
    index.put(2 * at);
    exact.put(2 * at);
  }
  const churnPutsPerSecond = (others.length / (performance.now() - churning)) * 1000;
  const rebuilding = performance.now();
  const times: number[] = [];
  const running: number[] = [];
  const pauses: number[] = [];
  let found = 0;
  let compared = 0;
  while (index.report().building) {
    const query = queries[times.length % queries.length];
    const waitedBefore = waitedMs();
    const start = performance.now();
    const hits = index.search(query, LIMIT);
    const took = performance.now() - start;
    const waited = waitedMs();
    times.push(took);
    if (waited !== null && waitedBefore !== null) running.push(Math.max(0, took - (waited - waitedBefore)));
    if (times.length % 200 === 0) {
      const slots = Int32Array.from(hits.slots);
      const truth = exact.search(query);
      found += recallOf(slots, truth.slots, truth.similarity);
      compared++;
    }
    const paused = performance.now();
    await nextTurn();
    pauses.push(performance.now() - paused);
  }
  const rebuildSeconds = (performance.now() - rebuilding) / 1000;
  const result = {
    ...row,
    churnPutsPerSecond,
    whileRebuilding: {
      ...latencyOf(times),
      searches: times.length,
      recall: found / Math.max(1, compared),
      running: running.length === 0 ? null : latencyOf(running),
      pauses: latencyOf(pauses),
    },
    rebuildSeconds,
    recallAfterChurn: recall(index, exact, queries),
    graphAfterChurn: timed(index, queries),
  };
  index.free();
  exact.free();
  vectors.free();
  rmSync(folder, { recursive: true });
  return result;
}

function print(row: Row): void {
  const ms = ({ p50, p99, max }: Latency): string =>
    `p50 ${p50.toFixed(2)}, p99 ${p99.toFixed(2)}, max ${max.toFixed(1)} ms`;
  console.log(`\n${row.vectors} vectors of ${DIMENSIONS} dimensions
  exact scan              ${ms(row.exact)}
  graph                   ${ms(row.graph)}, recall@50 ${row.recall.toFixed(4)}
  puts                    ${row.putsPerSecond.toFixed(0)}/s, found at once; in a graph after ${row.buildSeconds.toFixed(1)} s (${row.addsPerSecond.toFixed(0)}/s)
  memory                  ${row.residentMegabytes.toFixed(0)} MB more, vectors included
  after 50 % churn        ${ms(row.graphAfterChurn)}, recall@50 ${row.recallAfterChurn.toFixed(4)}
  while rebuilding        ${ms(row.whileRebuilding)}, recall@50 ${row.whileRebuilding.recall.toFixed(4)}, ${row.whileRebuilding.searches} searches in ${row.rebuildSeconds.toFixed(1)} s
    not waiting for a core ${row.whileRebuilding.running === null ? 'unknown' : ms(row.whileRebuilding.running)}
    between them          ${ms(row.whileRebuilding.pauses)}`);
}

async function main(): Promise<void> {
  const library = await loadGraphLibrary().catch(() => null);
  if (library === null) {
    console.log('hnswlib-node is not there: nothing to measure.');
    return;
  }
  const kernels = await loadKernels();
  const rows: Row[] = [];
  const folder = join(packageRoot(), 'bench', 'results');
  await mkdir(folder, { recursive: true });
  for (const size of options.sizes.split(',').map(Number)) {
    const load = loadavg();
    const row = await measure(size, kernels, library);
    print(row);
    console.log(`  load average ${load[0].toFixed(1)} … ${loadavg()[0].toFixed(1)}`);
    rows.push(row);
    const command = `npx tsx bench/index.ts --sizes ${options.sizes} --dimensions ${DIMENSIONS}`;
    const report = { ...measuredOn(command), load, rows };
    await writeFile(join(folder, 'index.json'), `${JSON.stringify(report, null, 2)}\n`);
  }
}

await main();
