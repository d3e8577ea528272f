import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { FileDecisionLogs } from '../../src/decisions/file-decision-logs.ts';
import { FileLedgers } from '../../src/ledger/file-ledgers.ts';
import { FileJobQueue } from '../../src/queue/file-job-queue.ts';
import { FileSnapshotStores } from '../../src/snapshots/file-snapshot-store.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';

const ROUNDS = 20;
const child = fileURLToPath(new URL('append-until-killed.mjs', import.meta.url));
const dataDir = temporaryFolder();

/** Starts the child, kills it with SIGKILL once it has said `lines` lines, and answers all that it said. */
async function killAfter(lines: number, round: number): Promise<string[][]> {
  const process_ = spawn(process.execPath, [child, dataDir, `${round}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: string[][] = [];
  createInterface({ input: process_.stdout }).on('line', (line) => {
    said.push(line.split(' '));
    if (said.length === lines) process_.kill('SIGKILL');
  });
  const [code, signal] = await once(process_, 'close');
  expect([code, signal]).toEqual([null, 'SIGKILL']);
  return said;
}

/** Not uniform, but the same in every run. */
function killPoint(round: number): number {
  return 1 + ((round * 7919) % 97) * ((round * 104_729) % 11);
}

it(`keeps what it promised when it is killed ${ROUNDS} times under load`, async () => {
  const said: string[][] = [];
  for (let round = 0; round < ROUNDS; round++) said.push(...(await killAfter(killPoint(round), round)));
  const all = (word: string): string[][] =>
    said.filter(([first]) => first === word).map((words) => words.slice(1));
  expect(all('entries').length).toBeGreaterThan(500);

  const fences = all('lease').map(([fence]) => Number(fence));
  expect(fences).toEqual(Array.from({ length: ROUNDS }, (_, i) => i + 1));

  await expectEntries(all('entries'));
  await expectDecisions(
    all('decision').map(([id]) => id),
    all('activated'),
  );
  await expectJobs(
    all('job').map(([id]) => id),
    new Set(all('ran').map(([id]) => id)),
  );

  const snapshots = await new FileSnapshotStores(dataDir).open('default');
  for (const position of await snapshots.list()) {
    const { bytes } = (await snapshots.get(position))!;
    expect(Buffer.alloc(200_000, bytes[0]).equals(bytes)).toBe(true);
  }
  expect((await snapshots.list())[0]).toBeGreaterThanOrEqual(
    Math.max(...all('snapshot').map(([at]) => Number(at))),
  );
});

/** Every acknowledged batch stands where it was said to stand; of the others, all or nothing, and nothing twice. */
async function expectEntries(acknowledged: string[][]): Promise<void> {
  const ledger = await new FileLedgers(dataDir).open('default');
  const keys: string[] = [];
  while (keys.length < (await ledger.head())) {
    for (const { position, entry } of await ledger.read(keys.length, 1000)) {
      expect(position).toBe(keys.push(entry.key));
    }
  }
  await ledger.close();
  for (const [key, count, last] of acknowledged) {
    const first = Number(last) - Number(count);
    expect(keys.slice(first, Number(last))).toEqual(following(key, Number(count)));
  }
  expect(new Set(keys).size).toBe(keys.length);
  for (let at = 0; at < keys.length; ) {
    const n = Number(keys[at].split('/')[2]);
    const batch = following(keys[at], 1 + (n % 3));
    expect(keys.slice(at, at + batch.length)).toEqual(batch);
    at += batch.length;
  }
}

/** `round/producer/n` and the keys after it. */
function following(key: string, count: number): string[] {
  const [round, producer, n] = key.split('/');
  return Array.from({ length: count }, (_, i) => `${round}/${producer}/${Number(n) + i}`);
}

async function expectDecisions(ids: string[], activations: string[][]): Promise<void> {
  const log = await new FileDecisionLogs(dataDir, { now: () => Date.now(), retainMs: 1e9 }).open('default');
  const times = new Map<string, number | null>();
  for await (const { id, activatedAt } of log.read()) {
    expect(times.has(id)).toBe(false);
    times.set(id, activatedAt);
  }
  for (const id of ids) {
    const found = await log.get(id);
    expect([found?.id, found?.candidates]).toEqual([id, ['known', id.replace('default.', 'tool-')]]);
  }
  for (const id of ids) expect(times.has(id)).toBe(true);
  for (const [id, at] of activations) expect(times.get(id)).toBe(Number(at));
  await log.close();
}

/** Every acknowledged job has run or will run. */
async function expectJobs(acknowledged: string[], ran: Set<string>): Promise<void> {
  const queue = await FileJobQueue.open(join(dataDir, 'jobs'));
  const left = new Set<string>();
  for (const name of ['work', 'later']) {
    queue.process(name, async ({ id }) => void left.add(id), { concurrency: 10 });
  }
  while ((await queue.pending()) > 0) await new Promise((resolve) => setImmediate(resolve));
  await queue.close(10_000);
  expect(acknowledged.filter((id) => !ran.has(id) && !left.has(id))).toEqual([]);
  expect(acknowledged.filter((id) => Number(id.split('/')[1]) % 3 === 0 && !left.has(id))).toEqual([]);
}
