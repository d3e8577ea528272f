/**
 * Does the knapsack cost nothing beside a route, and is greed as good? Instances of 25 tools and 25 instructions (and 50 and 50) under
 * 4,000 tokens; the choice by lists of undominated points, by a table over tokens, and by gain per token, in the same run; processor
 * time of this process. Exactness against the table.
 *
 *   npx tsx bench/knapsack.ts [--instances 200]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { randomFor } from '../bandit/random.ts';
import {
  type Chosen,
  exactKnapsack,
  greedyKnapsack,
  type KnapsackCorpus,
} from '../bandit/selection/knapsack.ts';
import { tableKnapsack } from './knapsack/table-knapsack.ts';
import { measuredOn } from './measured-on.ts';

const { values } = parseArgs({ options: { instances: { type: 'string', default: '200' } } });
const INSTANCES = Number(values.instances);
const BUDGET = 4000;

interface Kind {
  readonly name: string;
  readonly perCorpus: number;
  readonly limits: readonly [tools: number, instructions: number];
  /** Gain of a candidate from two uniform numbers and its tokens. */
  gain(u: number, v: number, tokens: number): number;
}

/** Gains as policies give them: a few candidates stand out. */
const standsOut = (u: number): number => Math.exp(-8 * u);
const growsWithTokens = (u: number, _: number, tokens: number): number => tokens / 500 + 0.2 * u;
const isTokens = (_: number, __: number, tokens: number): number => tokens / 500;
const KINDS: readonly Kind[] = [
  { name: 'a few stand out', perCorpus: 25, limits: [5, 4], gain: standsOut },
  { name: 'a few stand out, limits 25 and 25', perCorpus: 25, limits: [25, 25], gain: standsOut },
  { name: 'gain independent of tokens', perCorpus: 25, limits: [5, 4], gain: (u) => u },
  { name: 'gain independent of tokens, limits 25 and 25', perCorpus: 25, limits: [25, 25], gain: (u) => u },
  { name: 'gain grows with tokens', perCorpus: 25, limits: [5, 4], gain: growsWithTokens },
  {
    name: 'gain grows with tokens, limits 25 and 25',
    perCorpus: 25,
    limits: [25, 25],
    gain: growsWithTokens,
  },
  { name: 'gain grows with tokens, limits 10 and 6', perCorpus: 25, limits: [10, 6], gain: growsWithTokens },
  { name: 'gain is the tokens, limits 10 and 6', perCorpus: 25, limits: [10, 6], gain: isTokens },
  { name: 'gain is the tokens, limits 25 and 25', perCorpus: 25, limits: [25, 25], gain: isTokens },
  { name: '100 candidates, limits 50 and 50', perCorpus: 50, limits: [50, 50], gain: (u) => u },
];

function corpusOf(kind: Kind, at: 0 | 1, key: string): KnapsackCorpus {
  const random = randomFor(key);
  const gain = new Float64Array(kind.perCorpus);
  const tokens = new Float64Array(kind.perCorpus);
  for (let i = 0; i < kind.perCorpus; i++) {
    // Definitions of tools take about 60 to 900 tokens, instructions 200 to 600.
    const u = random.uniform(3 * i);
    tokens[i] = Math.round(at === 0 ? 60 * Math.exp(2.7 * u) : 200 + 400 * u);
    gain[i] = kind.gain(random.uniform(3 * i + 1), random.uniform(3 * i + 2), tokens[i]);
  }
  return { gain, tokens, limit: kind.limits[at] };
}

const CONTENDERS = { exact: exactKnapsack, table: tableKnapsack, greedy: greedyKnapsack } as const;
type Name = keyof typeof CONTENDERS;

function worth(tools: KnapsackCorpus, instructions: KnapsackCorpus, chosen: Chosen): number {
  const sum = (corpus: KnapsackCorpus, indices: readonly number[]) =>
    indices.reduce((total, index) => total + corpus.gain[index], 0);
  return sum(tools, chosen.tools) + sum(instructions, chosen.instructions);
}

const rows = KINDS.map((kind) => {
  const instances = Array.from(
    { length: INSTANCES },
    (_, i) => [corpusOf(kind, 0, `${kind.name} ${i}`), corpusOf(kind, 1, `${kind.name} ${i} i`)] as const,
  );
  const times: Record<Name, number[]> = { exact: [], table: [], greedy: [] };
  const gains: Record<Name, number[]> = { exact: [], table: [], greedy: [] };
  for (const name of Object.keys(CONTENDERS) as Name[]) {
    for (const [tools, instructions] of instances) CONTENDERS[name](tools, instructions, BUDGET);
  }
  for (const [tools, instructions] of instances) {
    for (const name of Object.keys(CONTENDERS) as Name[]) {
      const start = process.cpuUsage();
      const from = performance.now();
      const chosen = CONTENDERS[name](tools, instructions, BUDGET);
      const wall = performance.now() - from;
      const { user } = process.cpuUsage(start);
      times[name].push(Math.min(wall, Math.max(user / 1000, 0.001)));
      gains[name].push(worth(tools, instructions, chosen));
    }
  }
  const quantile = (list: readonly number[], share: number) =>
    list.slice().sort((a, b) => a - b)[Math.floor(share * (list.length - 1))];
  const ratio = gains.greedy.map((gain, at) => gain / gains.exact[at]);
  const differs = gains.exact.filter((gain, at) => Math.abs(gain - gains.table[at]) > 1e-9).length;
  const round = (value: number) => Math.round(value * 1000) / 1000;
  return {
    kind: kind.name,
    'exact ms p50': round(quantile(times.exact, 0.5)),
    'exact p99': round(quantile(times.exact, 0.99)),
    'table ms p50': round(quantile(times.table, 0.5)),
    'greedy ms p50': round(quantile(times.greedy, 0.5)),
    'greedy / exact gain, mean': round(ratio.reduce((a, b) => a + b, 0) / ratio.length),
    worst: round(Math.min(...ratio)),
    'not as the table': differs,
  };
});
console.table(rows);
mkdirSync('bench/results', { recursive: true });
writeFileSync(
  'bench/results/knapsack.json',
  `${JSON.stringify({ on: measuredOn('npx tsx bench/knapsack.ts'), budget: BUDGET, instances: INSTANCES, rows }, null, 2)}\n`,
);
