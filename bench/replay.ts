import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { randomFor } from '../bandit/random.ts';
import type { Decision } from '../src/decisions/decision.ts';
import { FileDecisionLogs } from '../src/decisions/file-decision-logs.ts';
import { observedDecision } from '../src/decisions/observed-decision.ts';
import { Replay } from '../src/evaluation/replay.ts';
import { replayLedger, spanOf } from '../src/evaluation/replay-ledger.ts';
import type { PolicySettings } from '../src/ledger/catalog-settings.ts';
import type { Entry, ObservationEntry } from '../src/ledger/entry.ts';
import { FileLedgers } from '../src/ledger/file-ledgers.ts';
import { CatalogState } from '../src/state/catalog-state.ts';
import { fold } from '../src/state/fold.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { measuredOn } from './measured-on.ts';

/** How many logged decisions per second can be put to a candidate policy? */
const { values } = parseArgs({
  options: {
    decisions: { type: 'string', default: '8000' },
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
const kernels = await loadKernels();

function unitVector(): Float32Array {
  const vector = Float32Array.from({ length: DIMENSIONS }, () => uniform() - 0.5);
  const norm = Math.hypot(...vector);
  return vector.map((value) => value / norm);
}

const state = new CatalogState('default', { kernels, derived: true });
const embeddings = Array.from({ length: tools }, unitVector);
const setUp: Entry[] = [
  {
    kind: 'embedder',
    key: 'e',
    at: 0,
    model: 'letters',
    fingerprint: 'e',
    dimensions: DIMENSIONS,
    vectors: [],
  },
  {
    kind: 'tools',
    source: 'api',
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
    format: 'names',
    detail: 'names',
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
const POLICIES: readonly PolicySettings[] = [
  settings('cosine', 'greedy'),
  settings('cosine', 'plackett-luce'),
  settings('sc-linucb', 'ucb'),
  settings('sc-linucb', 'plackett-luce'),
  settings('sc-linucb-memory', 'ucb'),
  settings('sc-linucb-memory', 'plackett-luce'),
];
/** Decisions that are timed together. */
const ROUND = 125;
const half = count / 2;
const positioned = entries.map((entry, i) => ({ position: i + 3, entry }));

interface Speed {
  readonly best: number;
  readonly median: number;
}

/** Decisions per second of processor time, in rounds: a core that is shared with others is not a slower one. */
function speedOf(microseconds: number[]): Speed {
  const sorted = microseconds.sort((a, b) => a - b);
  const perSecond = (total: number): number => Math.round((1e6 * ROUND) / total);
  return { best: perSecond(sorted[0]), median: perSecond(sorted[Math.floor(sorted.length / 2)]) };
}

function processorTime(work: () => void): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

/** Learns from the first half, then is asked about the second, a few times over. */
function frozen(policy: PolicySettings): Speed {
  const candidates = [{ name: policy.name, policy }];
  const replay = new Replay(
    state,
    candidates,
    { kernels, derived: true },
    { alpha: 0.05, learnUntil: half + 2 },
  );
  for (let i = 0; i < half; i++) replay.add(positioned[i], decisions[i]);
  const times: number[] = [];
  // The first two times the compiler is at work.
  for (let turn = 0; turn < 5; turn++) {
    // Each decision is judged once, so each turn has others.
    const others = positioned.map(({ position, entry }) => {
      const decision = { ...entry.decision, id: `${entry.decision.id}/${turn}` };
      return { position, entry: { ...entry, decision } };
    });
    for (let from = half; from < count; from += ROUND) {
      const time = processorTime(() => {
        for (let i = from; i < from + ROUND; i++) replay.add(others[i], decisions[i]);
      });
      if (turn >= 2) times.push(time);
    }
  }
  replay.results();
  if (replay.decisions !== 5 * half) throw new Error(JSON.stringify(replay.skipped));
  replay.free();
  return speedOf(times);
}

/** Judges and learns, each decision after the other; measured when it knows as much as a frozen one. */
function learning(policy: PolicySettings): Speed {
  const candidates = [{ name: policy.name, policy }];
  const replay = new Replay(state, candidates, { kernels, derived: true }, { alpha: 0.05 });
  const times: number[] = [];
  for (let from = 0; from < half + 8 * ROUND; from += ROUND) {
    const time = processorTime(() => {
      for (let i = from; i < from + ROUND; i++) replay.add(positioned[i], decisions[i]);
    });
    if (from >= half) times.push(time);
  }
  replay.free();
  return speedOf(times);
}

/** The same from the files of a data folder: what reading costs beside. */
async function fromDisk(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'bandolier-replay-'));
  const now = (): number => 0;
  const ledgers = new FileLedgers(folder, { onTornTail: () => {} });
  const logs = new FileDecisionLogs(folder, { retainMs: 1e12, now });
  const ledger = await ledgers.open('default');
  const log = await logs.open('default');
  await ledger.append(setUp);
  for (let from = 0; from < count; from += ROUND) {
    await ledger.append(entries.slice(from, from + ROUND));
    await Promise.all(decisions.slice(from, from + ROUND).map((decision) => log.append(decision)));
  }
  const policy = settings('cosine', 'greedy');
  const span = await spanOf(ledger);
  let best = 0;
  for (let turn = 0; turn < 4; turn++) {
    const candidates = [{ name: policy.name, policy }];
    const replay = new Replay(state, candidates, { kernels, derived: true }, { alpha: 0.05 });
    const start = process.cpuUsage();
    await replayLedger(replay, { ledger, log }, span, () => null);
    const { user, system } = process.cpuUsage(start);
    if (replay.decisions !== count) throw new Error(JSON.stringify(replay.skipped));
    best = Math.max(best, Math.round((1e6 * count) / (user + system)));
    replay.free();
  }
  await logs.close();
  await ledger.close();
  rmSync(folder, { recursive: true });
  return best;
}

const rows = POLICIES.map((policy) => ({
  candidate: `${policy.name}, ${policy.exploration}`,
  frozen: frozen(policy),
  learning: learning(policy),
}));
console.table(
  rows.map(({ candidate, frozen: f, learning: l }) => ({
    candidate,
    'frozen/s, median': f.median,
    best: f.best,
    'learning/s, median': l.median,
    'best ': l.best,
  })),
);
const readFromDisk = await fromDisk();
console.log(`cosine, greedy, read from the files of a data folder: ${readFromDisk} decisions/s`);
const measured = {
  ...measuredOn('npx tsx bench/replay.ts'),
  dimensions: DIMENSIONS,
  tools,
  candidatesPerDecision: perDecision,
  k: K,
  learnedFrom: half,
  rows,
  readFromDisk,
};
mkdirSync(new URL('results/', import.meta.url), { recursive: true });
writeFileSync(new URL('results/replay.json', import.meta.url), `${JSON.stringify(measured, null, 2)}\n`);
