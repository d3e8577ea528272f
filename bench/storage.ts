/**
 * How fast do bytes become durable? Records of 186 bytes, appended by 1, 16 and 256 producers that each wait for
 * the last one, beside the plain way (write and fdatasync for every record); then what a decision costs.
 *
 * The folder given with `--folder` must lie on the disk that is meant: /tmp may be memory.
 */
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import { decodeDecision, encodeDecision } from '../src/decisions/decision-codec.ts';
import { FileDecisionLog } from '../src/decisions/file-decision-log.ts';
import { encodeGroup } from '../src/storage/record-format.ts';
import { SegmentLog } from '../src/storage/segment-log.ts';
import { sampleDecision } from '../tests/decisions/arbitrary-decision.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';

const { values: options } = parseArgs({
  options: {
    folder: { type: 'string', default: packageRoot() },
    rounds: { type: 'string', default: '5' },
  },
});
const rounds = Number(options.rounds);
const RECORD = Buffer.alloc(186, 'r');
const CANDIDATES = 60;
/** What a route may spend on it. */
const BUDGET_US = 30;

const folder = await mkdtemp(join(options.folder, '.bench-storage-'));
try {
  const appends = [];
  for (const [producers, records] of [
    [1, 300],
    [16, 300],
    [256, 100],
  ] as const) {
    appends.push(await compareAppends(producers, records));
  }
  console.table(appends);
  const decision = await measureDecisions();
  console.table(decision);
  const results = join(packageRoot(), 'bench', 'results');
  await mkdir(results, { recursive: true });
  const report = { ...measuredOn('npx tsx bench/storage.ts'), rounds, appends, decision };
  await writeFile(join(results, 'storage.json'), `${JSON.stringify(report, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true });
}

/** Records per second, ours and plain; rounds take turns, medians count. */
async function compareAppends(producers: number, perProducer: number) {
  const ours: number[] = [];
  const plain: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const log = await SegmentLog.open(join(folder, `${producers}-${round}`));
    const file = await openPlain(join(folder, `${producers}-${round}.plain`));
    // It does not get faster with more producers, so fewer records will do.
    const perPlain = Math.max(2, Math.floor(600 / producers));
    const turns = [
      async () => ours.push(await rate(producers, perProducer, () => log.append([RECORD]))),
      async () => plain.push(await rate(producers, perPlain, file.append)),
    ];
    for (const turn of round % 2 === 0 ? turns : turns.reverse()) await turn();
    await log.close();
    await file.close();
  }
  return {
    producers,
    'records/s': Math.round(median(ours)),
    'plain records/s': Math.round(median(plain)),
    ratio: Number((median(ours) / median(plain)).toFixed(1)),
  };
}

async function rate(producers: number, perProducer: number, append: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await Promise.all(
    Array.from({ length: producers }, async () => {
      for (let i = 0; i < perProducer; i++) await append();
    }),
  );
  return (1000 * producers * perProducer) / (performance.now() - start);
}

/** One write and one fdatasync for each record, one after the other. */
async function openPlain(file: string) {
  const handle = await open(file, 'w');
  let last: Promise<void> = Promise.resolve();
  let offset = 0;
  return {
    append(): Promise<void> {
      last = last.then(async () => {
        const group = encodeGroup([RECORD], 1);
        await handle.write(group, 0, group.length, offset);
        offset += group.length;
        await handle.datasync();
      });
      return last;
    },
    close: () => handle.close(),
  };
}

async function measureDecisions() {
  const at = Date.now();
  const decision = sampleDecision('default.0mb1q8xk3a1b2c3d4e5f6a7b8c9d', at, CANDIDATES);
  const bytes = encodeDecision(decision);
  const log = await FileDecisionLog.open(join(folder, 'decisions'), { retainMs: 1e9, now: () => at });
  let n = 0;
  const appended = await rate(64, 100, () => log.append({ ...decision, id: `default.${n++}` }));
  const found = await rate(1, 500, () => log.get(`default.${(n * 7919) % 6000}`));
  await log.close();
  const encodeUs = microseconds(() => encodeDecision(decision));
  return {
    candidates: CANDIDATES,
    bytes: bytes.length,
    'encode µs': encodeUs,
    'within budget': encodeUs <= BUDGET_US,
    'checksum and framing µs': microseconds(() => encodeGroup([bytes], 1)),
    'decode µs': microseconds(() => decodeDecision(bytes)),
    'durable µs, 64 at a time': Math.round(1e6 / appended),
    'found µs': Math.round(1e6 / found),
  };
}

/** Of processor time, so that others on the machine do not count. */
function microseconds(work: () => unknown): number {
  const COUNT = 3000;
  const times = Array.from({ length: rounds + 1 }, () => {
    const start = process.cpuUsage();
    for (let i = 0; i < COUNT; i++) work();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / COUNT;
  });
  return Number(median(times.slice(1)).toFixed(1));
}
