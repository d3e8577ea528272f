/**
 * For how long does learning hold the event loop at a stretch? A replica gives requests their turn between the steps
 * of a fold and between the slices of a re-factorisation; what matters is the longest of these. 10,000 tools of 256
 * dimensions, slates of 5 and of 50; every report closes its decision, so that all tools of the slate are learned.
 * Beside the whole entry at once.
 * Milliseconds of processor time, and of the clock; on a busy machine only the first mean anything.
 *
 *   npx tsx bench/hold.ts [--tools 10000] [--rounds 150]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { randomFor } from '../bandit/random.ts';
import { Cholesky } from '../bandit/ridge/cholesky.ts';
import { observedDecision } from '../src/decisions/observed-decision.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../src/ledger/catalog-settings.ts';
import { definitionHash } from '../src/ledger/definition-hash.ts';
import type { Entry } from '../src/ledger/entry.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { type PreparedTool, SimulatedCatalog } from '../src/simulation/simulated-catalog.ts';
import type { CatalogState } from '../src/state/catalog-state.ts';
import { foldInSteps } from '../src/state/fold.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { measuredOn } from './measured-on.ts';

const { values } = parseArgs({
  options: {
    tools: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '150' },
  },
});
const TOOLS = Number(values.tools);
const ROUNDS = Number(values.rounds);
const DIMENSIONS = 256;
const POLICY = DEFAULT_CATALOG_SETTINGS.policy;

const random = randomFor('bench/hold');
let draws = 0;
const uniform = (): number => random.uniform(draws++);

function vector(): Float32Array {
  const noise = Float32Array.from({ length: DIMENSIONS }, () => uniform() - 0.5);
  const length = Math.hypot(...noise);
  return noise.map((value) => value / length);
}

function words(count: number): string {
  return Array.from({ length: count }, () => `w${Math.floor(4000 * uniform() ** 2)}`).join(' ');
}

function tools(count: number, first = 0): PreparedTool[] {
  return Array.from({ length: count }, (_, i) => ({
    tool: { name: `tool_${first + i}`, description: words(20), inputSchema: { type: 'object' } },
    embedding: vector(),
  }));
}

interface Stretch {
  readonly processor: number;
  readonly clock: number;
}

function measure<T>(work: () => T): Stretch & { readonly result: T } {
  const usage = process.cpuUsage();
  const start = performance.now();
  const result = work();
  const clock = performance.now() - start;
  const { user, system } = process.cpuUsage(usage);
  return { processor: (user + system) / 1000, clock, result };
}

/** One row: quantiles over what was measured. */
function row(what: string, stretches: readonly Stretch[]) {
  const quantile = (of: 'processor' | 'clock', share: number): number => {
    const sorted = stretches.map((stretch) => stretch[of]).sort((a, b) => a - b);
    return Number(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(3));
  };
  return {
    what,
    times: stretches.length,
    'processor p50': quantile('processor', 0.5),
    p99: quantile('processor', 0.99),
    longest: quantile('processor', 1),
    'clock p50': quantile('clock', 0.5),
    'clock p99': quantile('clock', 0.99),
  };
}

/** Folds in steps, as a replica does. */
function foldMeasured(
  state: CatalogState,
  entry: Entry,
): { readonly whole: Stretch; readonly steps: Stretch[] } {
  const fold = foldInSteps(state, { position: state.position + 1, entry });
  const steps: Stretch[] = [];
  for (let done = false; !done; ) {
    const step = measure(() => fold.next());
    done = step.result.done === true;
    steps.push(step);
  }
  const sum = (of: 'processor' | 'clock'): number => steps.reduce((total, step) => total + step[of], 0);
  return { whole: { processor: sum('processor'), clock: sum('clock') }, steps };
}

const catalog = new SimulatedCatalog(await loadKernels(), DIMENSIONS, POLICY);
const rows = [];
for (const [count, first] of [
  [TOOLS, 0],
  [100, TOOLS],
]) {
  const put = tools(count, first).map(({ tool, embedding }) => ({
    tool,
    hash: definitionHash(tool),
    embedding,
  }));
  const { fingerprint } = catalog.state;
  const entry: Entry = {
    kind: 'tools',
    source: 'api',
    key: `put/${first}`,
    at: 0,
    put,
    remove: [],
    fingerprint,
  };
  const { whole, steps } = foldMeasured(catalog.state, entry);
  rows.push(row(`a put of ${count} tools, at once`, [whole]), row('  one step of it', steps));
}

for (const k of [5, 50]) {
  const whole: Stretch[] = [];
  const steps: Stretch[] = [];
  for (let round = -20; round < ROUNDS; round++) {
    const text = words(8);
    const asked = { text, tokens: tokenise(text), embedding: vector() };
    const decision = catalog.decide(`bench.${k}x${round}`, asked, k, true);
    const tool = decision.candidates[decision.slate[0]];
    const report = { rewardId: decision.id, tool, outcome: 'success', value: 1, weight: 1, at: 0 } as const;
    const measured = foldMeasured(catalog.state, {
      kind: 'observation',
      key: decision.id,
      at: 0,
      decision: observedDecision(decision, [tool]),
      reports: [report],
      closes: true,
    });
    if (round < 0) continue;
    whole.push(measured.whole);
    steps.push(...measured.steps);
  }
  rows.push(row(`a decision of ${k} tools, at once`, whole), row(`  one step of it`, steps));
}

const [ridge] = catalog.state.learners.active.policy.ridges();
const begin = measure(() => ridge.beginRefactorisation());
rows.push(row('re-factorisation: beginning', [begin]));
const inverse = Cholesky.of(begin.result.matrix, ridge.size).inverse();
for (let i = 0; i < 500; i++) {
  ridge.learn(
    Float64Array.from({ length: ridge.size }, () => (uniform() - 0.5) / 10),
    0,
    1,
  );
}
const slices: Stretch[] = [];
const finishing = ridge.finishRefactorisation(inverse);
for (let done = false; !done; ) {
  const slice = measure(() => finishing.next());
  done = slice.result.done === true;
  slices.push(slice);
}
rows.push(row('  finishing, 500 updates came meanwhile', slices));
const text = words(8);
const asked = { text, tokens: tokenise(text), embedding: vector() };
rows.push(row('  first decision after it', [measure(() => catalog.decide('bench.after', asked, 5, true))]));
catalog.free();

console.table(rows);
mkdirSync('bench/results', { recursive: true });
const results = { ...measuredOn('npx tsx bench/hold.ts'), tools: TOOLS, rows };
writeFileSync('bench/results/hold.json', `${JSON.stringify(results, null, 2)}\n`);
