/**
 * What does a million rewarded decisions that may still change cost? Bytes of memory for each, the size of the snapshot
 * that holds them, how long it takes to write and to read one, and for how long any of it holds the event loop.
 *
 *   npx tsx --expose-gc bench/hostile/open-decisions.ts [--decisions 100000,1000000]
 *
 * Five tools are shown; every second decision is reported twice, every second one closes. Vectors are short, because
 * what is kept of a decision does not depend on them. Times are of the processor: on a busy machine those of the clock
 * say nothing.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { randomFor } from '../../bandit/random.ts';
import { decisionIdFor } from '../../src/decisions/decision-id.ts';
import type { Entry, ObservedDecision, OutcomeReport } from '../../src/ledger/entry.ts';
import { CatalogState } from '../../src/state/catalog-state.ts';
import { fold } from '../../src/state/fold.ts';
import {
  decodeSnapshotInSteps,
  encodeSnapshot,
  encodeSnapshotInSteps,
} from '../../src/state/snapshot-codec.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
import { measuredOn } from '../measured-on.ts';

const { values } = parseArgs({
  options: {
    decisions: { type: 'string', default: '100000,1000000' },
  },
});
const TOOLS = 500;
const SHOWN = 5;
const DIMENSIONS = 8;
const WINDOW_MS = 600_000;
const BATCH = 1000;
const START = Date.UTC(2026, 0, 1);
const context = { kernels: await loadKernels(), derived: false };

const draws = randomFor('bench/hostile/open-decisions');
let drawn = 0;
const uniform = (): number => draws.uniform(drawn++);
const hex = (digits: number): string =>
  Array.from({ length: digits }, () => Math.floor(uniform() * 16).toString(16)).join('');

function unitVector(): Float32Array {
  const vector = Float32Array.from({ length: DIMENSIONS }, () => uniform() - 0.5);
  const norm = Math.hypot(...vector);
  return vector.map((value) => value / norm);
}

const setUp: Entry[] = [
  {
    kind: 'embedder',
    key: 'e',
    at: START,
    model: 'letters',
    fingerprint: 'e',
    dimensions: DIMENSIONS,
    vectors: [],
  },
  {
    kind: 'tools',
    source: 'api',
    key: 't',
    at: START,
    put: Array.from({ length: TOOLS }, (_, i) => ({
      tool: { name: `tool_${i}`, description: `tool ${i}`, inputSchema: { type: 'object' } },
      hash: `h${i}`,
      embedding: unitVector(),
    })),
    remove: [],
    fingerprint: 'e',
  },
];

/** Observations of decision `i` of `count`; all are made within one window, so that none can be dropped. */
function observations(i: number, count: number): Entry[] {
  const at = START + Math.floor((i / count) * WINDOW_MS);
  const first = Math.floor(uniform() * TOOLS);
  const values = Float32Array.from({ length: SHOWN }, uniform);
  const decision: ObservedDecision = {
    id: decisionIdFor('default', at),
    at,
    deadline: at + WINDOW_MS,
    fingerprint: 'e',
    embedding: unitVector(),
    terms: { terms: Uint32Array.of(i % 50), weights: Float32Array.of(1) },
    tools: Array.from({ length: SHOWN }, (_, place) => `tool_${(first + 7 * place) % TOOLS}`),
    shown: SHOWN,
    columns: { similarity: values, lexical: values, dense: values, retrieval: values },
    features: { 'sc-linucb-memory@2': new Float32Array(SHOWN * 6).fill(0.25) },
    unit: 1 + Math.floor(uniform() * 2 ** 31),
    learn: true,
  };
  const closes = i % 2 === 0;
  const reports = i % 4 < 2 ? 1 : 2;
  return Array.from({ length: reports }, (_, n): Entry => {
    const rewardId = `${decision.id}.${hex(16)}`;
    const value = n === 0 ? 1 : Math.floor(uniform() * 100) / 100;
    const report: OutcomeReport = {
      ...{ rewardId, tool: decision.tools[n], outcome: 'success', value, weight: 1, at },
    };
    return { kind: 'observation', key: `o${i}/${n}`, at, decision, reports: [report], closes };
  });
}

function* batches(count: number): Generator<Entry[]> {
  yield setUp;
  for (let from = 0; from < count; from += BATCH) {
    const indices = Array.from({ length: Math.min(BATCH, count - from) }, (_, i) => from + i);
    yield indices.flatMap((i) => observations(i, count));
  }
}

/** Megabytes in use, inside of V8's heap and beside it. */
async function memory(): Promise<number> {
  // What lies beside the heap is given back some turns after its owner is gone.
  for (let turn = 0; turn < 5; turn++) {
    global.gc?.();
    await wait(20);
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 2 ** 20;
}

/** Milliseconds of processor time: of each stretch the longest, and of all together. */
class Stopwatch {
  longest = 0;
  total = 0;

  time<T>(work: () => T): T {
    const before = process.cpuUsage();
    const result = work();
    const { user, system } = process.cpuUsage(before);
    this.longest = Math.max(this.longest, (user + system) / 1000);
    this.total += (user + system) / 1000;
    return result;
  }

  /** All steps of a generator, one by one. */
  run<Result>(steps: Generator<void, Result>): Result {
    for (;;) {
      const step = this.time(() => steps.next());
      if (step.done) return step.value;
    }
  }
}

const seconds = (ms: number): number => Number((ms / 1000).toFixed(2));
const tenths = (ms: number): number => Number(ms.toFixed(1));

async function measure(count: number) {
  const state = new CatalogState('default', context);
  const [folds, encoding, decoding] = [new Stopwatch(), new Stopwatch(), new Stopwatch()];
  let position = 0;
  let before = 0;
  for (const entries of batches(count)) {
    for (const entry of entries) folds.time(() => fold(state, { position: ++position, entry }));
    if (entries === setUp) before = await memory();
  }
  const used = (await memory()) - before;
  const bytes = encoding.run(encodeSnapshotInSteps(state));
  state.free();
  const folder = mkdtempSync(join(tmpdir(), 'open-decisions-'));
  writeFileSync(join(folder, 'snapshot'), bytes, { flush: true });
  const stored = readFileSync(join(folder, 'snapshot'));
  rmSync(folder, { recursive: true });
  const read = decoding.run(decodeSnapshotInSteps(stored, 'default', context));
  const again = Buffer.from(encodeSnapshot(read));
  read.free();
  return {
    decisions: count,
    'memory, MB': Math.round(used),
    'bytes each': Math.round((used * 2 ** 20) / count),
    'fold, ms': Number((folds.total / position).toFixed(3)),
    'longest fold, ms': tenths(folds.longest),
    'snapshot, MB': tenths(stored.length / 2 ** 20),
    'written in, s': seconds(encoding.total),
    'longest step of writing, ms': tenths(encoding.longest),
    'read in, s': seconds(decoding.total),
    'longest step of reading, ms': tenths(decoding.longest),
    'same bytes': again.equals(stored),
  };
}

const rows: Awaited<ReturnType<typeof measure>>[] = [];
for (const count of values.decisions.split(',')) rows.push(await measure(Number(count)));
console.table(rows);
const folder = new URL('../results/hostile/', import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(
  new URL('open-decisions.json', folder),
  `${JSON.stringify({ ...measuredOn('bench/hostile/open-decisions.ts'), rows }, null, 2)}\n`,
);
