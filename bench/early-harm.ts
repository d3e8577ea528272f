/**
 * Where can learning hurt? Streams of queries are played with the policy as it serves (exploring), and every window of 200
 * decisions is compared with what retrieval alone would have shown for the same queries; held-out queries are asked
 * without exploration in between.
 *
 *   npx tsx bench/early-harm.ts [--data ../shared/data] [--seeds 10] [--streams toollens,flipped,seal,mcp]
 *       [--parameters '{"taughtRate": 0}'] [--queries 2000]
 *
 * Streams: ToolLens' train; the same with a fifth of the outcomes reversed; Seal-Tools' dev five times; MCP-Zero's train
 * twice, where nearly every query needs another tool. With `--queries` each seed draws so many of a stream's
 * queries, for the early windows alone.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import { packageRoot } from '../config/package-root.ts';
import { DEFAULT_CATALOG_SETTINGS, type PolicySettings } from '../src/ledger/catalog-settings.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { CAREFUL_AGENT } from '../src/simulation/agent.ts';
import { shuffled } from '../src/simulation/catalog-changes.ts';
import type { LabelledQuery } from '../src/simulation/evaluate.ts';
import { meanOf, type SimulationOptions, simulate } from '../src/simulation/simulate.ts';
import { type PreparedTool, SimulatedCatalog } from '../src/simulation/simulated-catalog.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { LabelledSet } from './labelled-set.ts';
import { measuredOn } from './measured-on.ts';

const WINDOW = 200;
const K = 5;
const RETRIEVAL: PolicySettings = {
  name: 'hybrid',
  parameters: {},
  exploration: 'greedy',
  temperature: 0.03,
};

interface Stream {
  readonly name: string;
  readonly set: string;
  readonly learned: string;
  readonly heldOut: string;
  readonly passes: number;
  readonly evaluateAfter: readonly number[];
  readonly flips?: number;
}

const STREAMS: readonly Stream[] = [
  {
    name: 'toollens',
    set: 'toollens',
    learned: 'train',
    heldOut: 'test',
    passes: 1,
    evaluateAfter: [100, 300, 1000],
  },
  {
    ...{ name: 'flipped', set: 'toollens', learned: 'train', heldOut: 'test', passes: 1 },
    ...{ evaluateAfter: [100, 300, 1000], flips: 0.2 },
  },
  {
    name: 'seal',
    set: 'seal-tools',
    learned: 'dev',
    heldOut: 'test',
    passes: 5,
    evaluateAfter: [100, 300, 700],
  },
  {
    name: 'mcp',
    set: 'mcp-zero',
    learned: 'train',
    heldOut: 'test',
    passes: 2,
    evaluateAfter: [300, 1000, 2656],
  },
];

const RESULTS = 'bench/results/early-harm.json';

/** Writes the row of a stream at once, because all of them take long; those of the other streams stay. */
function write(row: { readonly stream: string; readonly queries: number }, model: string): void {
  const before = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')).rows : [];
  const others = before.filter(({ stream }: { readonly stream: string }) => stream !== row.stream);
  mkdirSync('bench/results', { recursive: true });
  const command = `npx tsx bench/early-harm.ts --streams ${row.stream} --queries ${row.queries}`;
  const rows = [...others, { ...row, model, ...measuredOn(command) }];
  writeFileSync(RESULTS, `${JSON.stringify({ rows }, null, 2)}\n`);
}

/** Share of the fitting tools in the first five of retrieval, per query. */
function retrievalRecall(
  kernels: Kernels,
  tools: readonly PreparedTool[],
  queries: readonly LabelledQuery[],
): Map<LabelledQuery, number> {
  const catalog = new SimulatedCatalog(kernels, tools[0].embedding?.length ?? 0, RETRIEVAL);
  catalog.put(tools);
  const recall = new Map<LabelledQuery, number>();
  for (const [at, query] of queries.entries()) {
    const { slate, candidates } = catalog.decide(`retrieval.${at}`, query, K, false);
    const fitting = new Set(query.relevant);
    recall.set(query, slate.filter((index) => fitting.has(candidates[index])).length / fitting.size);
  }
  catalog.free();
  return recall;
}

interface Played {
  /** Of each window: recall as served minus recall of retrieval. */
  readonly differences: readonly number[];
  readonly frozen: readonly number[];
}

async function play(
  options: SimulationOptions,
  retrieval: ReadonlyMap<LabelledQuery, number>,
): Promise<Played> {
  const { queries, passes = 1, seed } = options;
  // The order of `simulate`.
  const stream = Array.from({ length: passes }, (_, pass) =>
    shuffled(queries, `simulation/${seed}/${pass}`),
  ).flat();
  const { online, evaluations } = await simulate(options);
  const differences: number[] = [];
  for (let from = 0; from + WINDOW <= stream.length; from += WINDOW) {
    const alone = stream.slice(from, from + WINDOW).map((query) => retrieval.get(query) as number);
    differences.push(meanOf(online.slice(from, from + WINDOW)) - meanOf(alone));
  }
  return { differences, frozen: evaluations.map(({ recall }) => recall[K]) };
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      data: { type: 'string', default: '../shared/data' },
      seeds: { type: 'string', default: '10' },
      streams: { type: 'string', default: STREAMS.map(({ name }) => name).join(',') },
      parameters: { type: 'string', default: '{}' },
      queries: { type: 'string', default: 'Infinity' },
    },
  });
  if (!existsSync(options.data)) {
    console.log(`No data sets in ${options.data}: nothing to measure. Give their folder with --data.`);
    return;
  }
  const kernels = await loadKernels();
  const embedder = await openModelFolder(join(packageRoot(), 'models', 'tool-static-256'));
  const policy = { ...DEFAULT_CATALOG_SETTINGS.policy, parameters: JSON.parse(options.parameters) };
  console.log(
    'stream    windows below retrieval   worst   mean of all   frozen: retrieval, then after so many decisions',
  );
  for (const stream of STREAMS.filter(({ name }) => options.streams.split(',').includes(name))) {
    const set = new LabelledSet(options.data, stream.set, embedder);
    const [tools, queries, heldOut] = [
      await set.tools(),
      await set.queries(stream.learned),
      await set.queries(stream.heldOut),
    ];
    const retrieval = retrievalRecall(kernels, tools, queries);
    const alone = meanOf([...retrievalRecall(kernels, tools, heldOut).values()]);
    const { passes, evaluateAfter, flips } = stream;
    const agent = { ...CAREFUL_AGENT, flips: flips ?? 0 };
    const count = Math.min(queries.length, Number(options.queries));
    const played: Played[] = [];
    for (let seed = 0; seed < Number(options.seeds); seed++) {
      const setting = { policy, k: K, seed, passes, evaluateAfter, agent, heldOut };
      const drawn = shuffled(queries, `early-harm/${seed}`).slice(0, count);
      const learned = count < queries.length ? drawn : queries;
      played.push(await play({ kernels, tools, queries: learned, ...setting }, retrieval));
    }
    const all = played.flatMap(({ differences }) => differences);
    const below = played.flatMap(({ differences }) =>
      differences.flatMap((difference, window) => (difference < 0 ? [window * WINDOW] : [])),
    );
    // The same window of all seeds: where one seed's chance is evened out, and what is left is the learner's.
    const byWindow = played[0].differences.map((_, window) =>
      meanOf(played.map(({ differences }) => differences[window])),
    );
    const frozen = [...evaluateAfter, count * passes].map((after, i) => {
      return { after, recall: meanOf(played.map((one) => one.frozen[i])) };
    });
    const row = {
      ...{ stream: stream.name, seeds: played.length, windows: all.length, below: below.length / all.length },
      ...{ worst: Math.min(...all), mean: meanOf(all), lastBelow: Math.max(0, ...below), alone, frozen },
      ...{ queries: count, byWindow },
    };
    if (options.parameters === '{}') write(row, embedder.fingerprint);
    const share = `${(100 * row.below).toFixed(1)} % (last at ${row.lastBelow})`;
    const marks = frozen.map(({ after, recall }) => `@${after} ${recall.toFixed(3)}`).join(' ');
    console.log(
      `${stream.name.padEnd(10)}${share.padEnd(26)}${row.worst.toFixed(3).padStart(7)}${row.mean.toFixed(3).padStart(10)}      ${alone.toFixed(3)} ${marks}`,
    );
  }
  await embedder.close();
}

await main();
