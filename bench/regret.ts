/**
 * Does meaning make learning cheap, and keep it cheap while tools come and go? Experiments 1 and 2 of the paper
 * (Müller, Semantic Context for Tool Orchestration, section 5.1), played through the policies of the registry.
 *
 *   npx tsx bench/regret.ts [--seeds 100] [--onehot-seeds 15]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import { createPolicy } from '../bandit/policies/registry.ts';
import { EMPTY_RECALL } from '../bandit/policies/without-memory.ts';
import type { Policy, Ranking, RankingRequest } from '../bandit/policy.ts';
import { type Random, randomFor } from '../bandit/random.ts';
import { EMPTY_SPARSE_VECTOR } from '../bandit/sparse-vector.ts';
import { ToolVectors } from '../bandit/tool-vectors.ts';
import { createTypescriptKernels } from '../tests/bandit/kernels/typescript-kernels.ts';
import { lineChart } from './line-chart.ts';
import { LinUcbOneHot } from './linucb-onehot.ts';

type Archetype = 1 | 2 | 3 | 4;
type Point = readonly [number, number];

/** Preferred archetype of query type i is i + 1. Archetype 4 and query D are assumed; the paper does not state them. */
const ARCHETYPES: Readonly<Record<Archetype, Point>> = {
  1: [0.9, 0.1],
  2: [0.1, 0.9],
  3: [-0.7, -0.7],
  4: [0.7, -0.7],
};
const QUERIES: readonly Point[] = [
  [1, 0.2],
  [0.2, 1],
  [-0.8, -0.8],
  [0.8, -0.8],
];
const SPREAD = 0.05;
/** Beyond this cumulative regret a run is called stuck: it never found the better tool of some query type. */
const STUCK = 50;
const STEPS = 10_000;
const TRACE_EVERY = 50;

interface Phase {
  readonly steps: number;
  readonly queries: number;
  readonly tools: Readonly<Record<string, Archetype>>;
}

const EXPERIMENTS: Readonly<Record<string, readonly Phase[]>> = {
  'Exp. 1': [{ steps: STEPS, queries: 3, tools: { a1: 1, a2: 1, b1: 2, b2: 2, c1: 3, c2: 3 } }],
  'Exp. 2': [
    { steps: 2500, queries: 3, tools: { a1: 1, a2: 1, b1: 2, b2: 2 } },
    { steps: 2500, queries: 3, tools: { a1: 1, b1: 2, b2: 2 } },
    { steps: 2500, queries: 3, tools: { a1: 1, b1: 2, b2: 2, a3: 1 } },
    { steps: 2500, queries: 4, tools: { a1: 1, b1: 2, b2: 2, a3: 1, d1: 4 } },
  ],
};

interface Contender {
  readonly label: string;
  readonly policy: string;
  readonly parameters: Readonly<Record<string, number>>;
}

const ONEHOT = 'linucb-onehot';

const CONTENDERS: readonly Contender[] = [
  ...[0.3, 0.5, 1].map((alpha) => contender('sc-linucb', { alpha, lambda: 1, prior: 0 })),
  contender('sc-linucb', { alpha: 0.5, lambda: 1, prior: 0.4 }),
  contender('lin-ts', { alpha: 0.5, lambda: 1, prior: 0.4 }),
  ...[0.3, 0.5, 1].map((alpha) => contender(ONEHOT, { alpha, lambda: 1 })),
];

function contender(policy: string, parameters: Record<string, number>): Contender {
  const prior = parameters.prior > 0 ? `, θ₀ ${parameters.prior}` : '';
  return { policy, parameters, label: `${policy} α ${parameters.alpha}${prior}` };
}

/** Cumulative regret of one run, every TRACE_EVERY steps. */
function play(
  kernels: Kernels,
  phases: readonly Phase[],
  { policy: name, parameters }: Contender,
  seed: number,
): number[] {
  const vectors = new ToolVectors(kernels, 2);
  const policy = playerOf(name, kernels, vectors, parameters);
  const world = randomFor(`regret/world/${seed}`);
  const draws = randomFor(`regret/draws/${seed}`);
  const slots = new Map<string, number>();
  const trace: number[] = [];
  let regret = 0;
  let step = 0;
  for (const { steps, queries, tools } of phases) {
    for (const [tool, slot] of slots) if (!(tool in tools)) leave(policy, slots, tool, slot);
    for (const [tool, archetype] of Object.entries(tools)) {
      if (!slots.has(tool)) join(policy, vectors, slots, tool, archetype, world);
    }
    const live = Int32Array.from(Object.keys(tools), (tool) => slots.get(tool) as number);
    const archetypes = Object.values(tools);
    for (let until = step + steps; step < until; step++) {
      const query = QUERIES[step % queries];
      const embedding = Float32Array.from(query);
      const similarity = Float64Array.from(live, (slot) => dot(vectors.get(slot), embedding));
      const ranking = rank(policy, embedding, live, similarity, seed, step);
      const chosen = argmaxWithRandomTies(ranking.score, draws.uniform(2 * step));
      const success = archetypes.map((archetype, i) => {
        const preferred = archetype === (step % queries) + 1 ? 0.25 : 0;
        return Math.min(0.95, Math.max(0.05, 0.45 + 0.4 * similarity[i] + preferred));
      });
      const reward = draws.uniform(2 * step + 1) < success[chosen] ? 1 : 0;
      regret += Math.max(...success) - success[chosen];
      policy.learn(
        {
          query: { embedding, terms: EMPTY_SPARSE_VECTOR },
          slot: live[chosen],
          similarity: similarity[chosen],
          extras: new Float32Array(0),
        },
        reward,
        1,
      );
      if ((step + 1) % TRACE_EVERY === 0) trace.push(regret);
    }
  }
  policy.free();
  vectors.free();
  return trace;
}

/** What both kinds of learners can do; the one-hot baseline is no policy of the product. */
type Player = Pick<Policy, 'addTool' | 'forgetTool' | 'learn' | 'free'> & {
  rank(request: RankingRequest): Pick<Ranking, 'score'>;
};

function playerOf(
  name: string,
  kernels: Kernels,
  vectors: ToolVectors,
  parameters: Contender['parameters'],
): Player {
  if (name !== ONEHOT) return createPolicy(name, { kernels, vectors, parameters, derived: true });
  const { alpha, lambda } = parameters;
  return new LinUcbOneHot({ kernels, dimensions: vectors.dimensions, alpha, lambda });
}

function rank(
  policy: Player,
  embedding: Float32Array,
  slots: Int32Array,
  similarity: Float64Array,
  seed: number,
  step: number,
): Pick<Ranking, 'score'> {
  const query = { embedding, terms: EMPTY_SPARSE_VECTOR };
  const nothing = new Float64Array(slots.length);
  return policy.rank({
    query,
    candidates: { slots, lexical: nothing, dense: nothing, base: nothing, similarity },
    recall: EMPTY_RECALL,
    random: new LazyRandom(`regret/rank/${seed}/${step}`),
  });
}

/** Hashing a key costs more than a step, and most policies never draw. */
class LazyRandom implements Random {
  readonly #key: string;
  #random: Random | undefined;

  constructor(key: string) {
    this.#key = key;
  }

  uniform(counter: number): number {
    this.#random ??= randomFor(this.#key);
    return this.#random.uniform(counter);
  }
}

/** A removed tool is gone for good, as in the paper; that is also what makes the one-hot learner start anew. */
function leave(policy: Player, slots: Map<string, number>, tool: string, slot: number): void {
  policy.forgetTool(slot);
  slots.delete(tool);
}

function join(
  policy: Player,
  vectors: ToolVectors,
  slots: Map<string, number>,
  tool: string,
  archetype: Archetype,
  world: Random,
): void {
  const used = new Set(slots.values());
  let slot = 0;
  while (used.has(slot)) slot++;
  // Drawn by name, so that a tool has the same description in every experiment and under every policy.
  const at = 8 * Number.parseInt(tool, 36);
  vectors.put(
    slot,
    Float32Array.from(ARCHETYPES[archetype], (mean, i) => mean + SPREAD * normal(world, at + 2 * i)),
  );
  policy.addTool(slot);
  slots.set(tool, slot);
}

function normal(random: Random, counter: number): number {
  return (
    Math.sqrt(-2 * Math.log(random.uniform(counter))) * Math.cos(2 * Math.PI * random.uniform(counter + 1))
  );
}

function argmaxWithRandomTies(values: Float64Array, draw: number): number {
  const best = Math.max(...values);
  const ties = [...values.keys()].filter((i) => values[i] >= best - 1e-12);
  return ties[Math.floor(draw * ties.length)];
}

function dot(a: Float32Array, b: Float32Array): number {
  return a[0] * b[0] + a[1] * b[1];
}

function quantile(sorted: readonly number[], q: number): number {
  const at = q * (sorted.length - 1);
  const below = Math.floor(at);
  return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}

function summary(values: readonly number[]): Record<string, number> {
  const sorted = [...values].sort((a, b) => a - b);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance =
    values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1);
  return {
    seeds: values.length,
    mean,
    deviation: Math.sqrt(variance),
    median: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
    max: sorted[sorted.length - 1],
    stuck: values.filter((value) => value > STUCK).length / values.length,
  };
}

function main(): void {
  const { values: options } = parseArgs({
    options: { seeds: { type: 'string', default: '100' }, 'onehot-seeds': { type: 'string', default: '15' } },
  });
  const kernels = createTypescriptKernels();
  const results: Record<string, unknown>[] = [];
  mkdirSync('bench/results', { recursive: true });
  const columns = ['seeds', 'mean', 'deviation', 'median', 'p95', 'max', 'stuck'];
  console.log(`${'experiment, policy'.padEnd(40)}${columns.map((column) => column.padStart(11)).join('')}`);
  for (const [experiment, phases] of Object.entries(EXPERIMENTS)) {
    const series = [];
    for (const contender of CONTENDERS) {
      const seeds = Number(contender.policy === ONEHOT ? options['onehot-seeds'] : options.seeds);
      const traces = Array.from({ length: seeds }, (_, seed) => play(kernels, phases, contender, seed));
      const final = traces.map((trace) => trace[trace.length - 1]);
      for (const count of new Set([Math.min(15, seeds), seeds])) {
        const row = summary(final.slice(0, count));
        const cells = columns.map((column) => row[column].toFixed(column === 'seeds' ? 0 : 2).padStart(11));
        console.log(`${`${experiment}, ${contender.label}`.padEnd(40)}${cells.join('')}`);
        results.push({ experiment, ...contender, ...row });
      }
      const points = traces[0].map((_, i) =>
        quantile(
          traces.map((trace) => trace[i]).sort((a, b) => a - b),
          0.5,
        ),
      );
      series.push({ label: contender.label, x: points.map((_, i) => (i + 1) * TRACE_EVERY), y: points });
    }
    const file = `bench/results/regret-${experiment === 'Exp. 1' ? 1 : 2}.svg`;
    const title = `${experiment}: cumulative regret, median over seeds`;
    writeFileSync(
      file,
      lineChart(series, { title, xLabel: 'steps', yLabel: 'regret (log)', logarithmic: true }),
    );
  }
  writeFileSync('bench/results/regret.json', `${JSON.stringify({ stuckAbove: STUCK, results }, null, 2)}\n`);
}

main();
