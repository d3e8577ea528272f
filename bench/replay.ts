import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { randomFor } from '../bandit/random.ts';
import { Replay } from '../src/evaluation/replay.ts';
import type { PolicySettings } from '../src/ledger/catalog-settings.ts';
import type { Entry, ObservationEntry } from '../src/ledger/entry.ts';
import { loadKernels } from '../src/load-kernels.ts';
import { observedDecision } from '../src/rewards/observed-decision.ts';
import type { Decision } from '../src/routing/decision.ts';
import { CatalogState } from '../src/state/catalog-state.ts';
import { fold } from '../src/state/fold.ts';
import { measuredOn } from './measured-on.ts';

/** How many logged decisions per second can be put to a candidate policy? */
const { values } = parseArgs({
  options: {
    decisions: { type: 'string', default: '2000' },
    tools: { type: 'string', default: '500' },
    candidates: { type: 'string', default: '50' },
  },
});
const DIMENSIONS = 256;
const K = 5;
const count = Number(values.decisions);
const tools = Number(values.tools);
const perDecision = Number(values.candidates);
const draws = randomFor('bench/replay');
let drawn = 0;
const uniform = (): number => draws.uniform(drawn++);
const kernels = await loadKernels((reason) => console.log(reason));

function unitVector(): Float32Array {
  const vector = Float32Array.from({ length: DIMENSIONS }, () => uniform() - 0.5);
  const norm = Math.hypot(...vector);
  return vector.map((value) => value / norm);
}

const state = new CatalogState('default', { kernels, derived: true });
const embeddings = Array.from({ length: tools }, unitVector);
const setUp: Entry[] = [
  { kind: 'embedder', key: 'e', at: 0, fingerprint: 'e', dimensions: DIMENSIONS, vectors: [] },
  {
    kind: 'tools',
    key: 't',
    at: 0,
    put: embeddings.map((embedding, i) => ({
      tool: { name: `t${i}`, description: `tool ${i}`, inputSchema: { type: 'object' } },
      hash: `h${i}`,
      embedding,
    })),
    remove: [],
    fingerprint: 'e',
  },
];
for (const [i, entry] of setUp.entries()) fold(state, { position: i + 1, entry });

function loggedDecision(i: number): Decision {
  const query = unitVector();
  const first = Math.floor(uniform() * tools);
  const indices = Array.from({ length: perDecision }, (_, at) => (first + at * 7) % tools);
  const column = (of: (tool: number) => number): Float32Array => Float32Array.from(indices, of);
  const similarity = column((tool) => embeddings[tool].reduce((sum, value, d) => sum + value * query[d], 0));
  const slate = Array.from({ length: K }, (_, at) => at * 3);
  return {
    id: `default.${i}`,
    catalog: 'default',
    at: i,
    deadline: i + 600_000,
    revision: 'r2',
    position: 2,
    policy: { name: 'uniform', version: 'uniform@9' },
    fingerprint: 'e',
    query: { embedding: query, terms: { terms: Uint32Array.of(i % 50), weights: Float32Array.of(1) } },
    exploration: 'plackett-luce',
    temperature: 0.03,
    propensityMethod: 'exact',
    k: K,
    learn: true,
    fallback: null,
    logProbability: 0,
    activation: 'now',
    candidates: indices.map((tool) => `t${tool}`),
    slate,
    reasons: slate.map(() => 'retrieved'),
    hashes: slate.map((index) => `h${indices[index]}`),
    columns: {
      score: similarity,
      mean: similarity,
      base: similarity,
      gain: similarity,
      uncertainty: similarity,
      bonus: similarity,
      trials: similarity,
      propensity: new Float32Array(perDecision).fill(K / perDecision),
      similarity,
      lexical: column(() => uniform()),
      dense: column(() => uniform()),
      retrieval: column(() => uniform()),
    },
    extras: [],
    features: {},
    activatedAt: i,
  };
}

const decisions = Array.from({ length: count }, (_, i) => loggedDecision(i));
const entries = decisions.map((decision, i): ObservationEntry => {
  const tool = decision.candidates[decision.slate[i % K]];
  const report = { rewardId: `r${i}`, tool, outcome: 'success', value: 1, weight: 1, at: i } as const;
  return {
    kind: 'observation',
    key: `o${i}`,
    at: i,
    decision: observedDecision(decision, []),
    reports: [report],
    closes: true,
  };
});

const settings = (name: string, exploration: PolicySettings['exploration']): PolicySettings => ({
  name,
  parameters: {},
  exploration,
  temperature: 0.03,
});
const CASES: readonly [string, PolicySettings[]][] = [
  ['baselines alone, and cosine', [settings('cosine', 'greedy')]],
  ['sc-linucb, ucb', [settings('sc-linucb', 'ucb')]],
  ['sc-linucb, plackett-luce', [settings('sc-linucb', 'plackett-luce')]],
  ['sc-linucb-memory, ucb', [settings('sc-linucb-memory', 'ucb')]],
  ['sc-linucb-memory, plackett-luce', [settings('sc-linucb-memory', 'plackett-luce')]],
];

const rows = CASES.map(([name, policies]) => {
  const candidates = policies.map((policy) => ({ name: policy.name, policy }));
  const replay = new Replay(state, candidates, { kernels, derived: true }, { alpha: 0.05 });
  // Processor time, not the clock's: a core that is shared with others is not a slower one.
  const start = process.cpuUsage();
  for (const [i, entry] of entries.entries()) replay.add({ position: i + 3, entry }, decisions[i]);
  const { user, system } = process.cpuUsage(start);
  const seconds = (user + system) / 1e6;
  if (replay.decisions !== count)
    throw new Error(`${replay.decisions} of ${count}: ${JSON.stringify(replay.skipped)}`);
  replay.free();
  return { candidate: name, decisionsPerSecond: Math.round(count / seconds) };
});
console.table(rows);
const measured = {
  ...measuredOn('npx tsx bench/replay.ts'),
  dimensions: DIMENSIONS,
  tools,
  candidatesPerDecision: perDecision,
  k: K,
  rows,
};
mkdirSync(new URL('results/', import.meta.url), { recursive: true });
writeFileSync(new URL('results/replay.json', import.meta.url), `${JSON.stringify(measured, null, 2)}\n`);
