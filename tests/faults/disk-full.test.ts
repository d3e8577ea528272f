import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { FileDecisionLogs } from '../../src/decisions/file-decision-logs.ts';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { FileLedgers } from '../../src/ledger/file-ledgers.ts';
import { FileJobQueue } from '../../src/queue/file-job-queue.ts';
import { FileLeases } from '../../src/snapshots/file-leases.ts';
import { FileSnapshotStores } from '../../src/snapshots/file-snapshot-store.ts';
import { sampleDecision } from '../decisions/arbitrary-decision.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';

const root = temporaryFolder();
const disk = join(root, 'disk');
mkdirSync(disk);
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', disk], { encoding: 'utf8' });
const reason =
  mounted.status === 0 ? null : `no tmpfs can be mounted here: ${mounted.stderr ?? mounted.error}`;
afterAll(() => {
  if (reason === null) spawnSync('umount', [disk]);
});

const now = (): number => Date.now();
const ballast = join(disk, 'ballast');

/** Fills the disk to its last byte. */
function fillDisk(): void {
  for (const bytes of [1_000_000, 10_000, 1]) {
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(bytes), { flag: 'a' });
    } catch {
      // the next smaller piece
    }
  }
}

function entry(n: number): Entry {
  return { kind: 'forget', key: `${n}`, at: n, tool: 'x'.repeat(20_000) };
}

describe.skipIf(reason !== null)(`a full disk${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  it('is said, nothing is kept by halves, and everything goes on when there is room again', async () => {
    const ledgers = new FileLedgers(disk, { segmentBytes: 200_000 });
    const ledger = await ledgers.open('default');
    const queue = await FileJobQueue.open(join(disk, 'jobs'));
    const decisionLogs = new FileDecisionLogs(disk, { now, retainMs: 1e9 });
    const decisions = await decisionLogs.open('default');
    const snapshots = await new FileSnapshotStores(disk).open('default');
    await ledger.append([entry(1)]);
    await queue.add([{ name: 'work', id: 'before', payload: null }]);
    await decisions.append(sampleDecision('default.before', now()));
    await snapshots.put({ position: 1, bytes: Buffer.alloc(1000) }, 1, 3);

    fillDisk();
    // Files have a little room left in their last page; after that, none of many is kept.
    const attempts = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) => ledger.append([entry(100 + i)])),
    );
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailableError) });
    }
    await expect(ledger.append([entry(110)])).rejects.toThrow('the disk is full');
    const payload = 'x'.repeat(20_000);
    await expect(queue.add([{ name: 'work', id: 'full', payload }])).rejects.toThrow(StoreUnavailableError);
    await expect(decisions.append(sampleDecision('default.full', now(), 60))).rejects.toThrow(
      StoreUnavailableError,
    );
    await expect(snapshots.put({ position: 2, bytes: Buffer.alloc(1000) }, 1, 3)).rejects.toThrow(
      StoreUnavailableError,
    );
    expect(await ledger.head()).toBe(1);
    expect(await decisions.get('default.full')).toBeNull();
    expect(await queue.pending()).toBe(1);
    expect(await snapshots.list()).toEqual([1]);

    rmSync(ballast);
    for (let n = 2; n <= 30; n++) expect(await ledger.append([entry(n)])).toBe(n);
    await queue.add([{ name: 'work', id: 'after', payload }]);
    await decisions.append(sampleDecision('default.after', now()));
    await snapshots.put({ position: 2, bytes: Buffer.alloc(1000) }, 1, 3);
    await ledger.close();
    await queue.close(0);
    await decisionLogs.close();

    const again = await ledgers.open('default');
    const entries = await again.read(0, 100);
    expect(entries.map(({ entry: { key } }) => Number(key))).toEqual(
      Array.from({ length: entries.length }, (_, i) => i + 1),
    );
    expect(await again.head()).toBe(30);
    await again.close();
    const jobs = await FileJobQueue.open(join(disk, 'jobs'));
    expect(await jobs.pending()).toBe(2);
    await jobs.close(0);
    const ids: string[] = [];
    for await (const { id } of (await decisionLogs.open('default')).read()) ids.push(id);
    expect(ids).toEqual(['default.before', 'default.after']);
    await decisionLogs.close();
  });

  it('keeps no lease from being given back, and taken again when there is room', async () => {
    const leases = new FileLeases(join(disk, 'third'));
    const lease = (await leases.acquire('snapshot'))!;
    fillDisk();
    await lease.release();
    await leases.close();
    await expect(leases.acquire('snapshot')).rejects.toMatchObject({ code: 'ENOSPC' });
    rmSync(ballast);
    expect((await leases.acquire('snapshot'))!.fence).toBeGreaterThan(lease.fence);
    await leases.close();
  });

  it('stays in the old segment until a new one fits', async () => {
    const ledgers = new FileLedgers(join(disk, 'second'), { segmentBytes: 30_000 });
    const ledger = await ledgers.open('default');
    await ledger.append([entry(1)]);
    fillDisk();
    await expect(ledger.append([entry(2)])).rejects.toThrow('the disk is full');
    await expect(ledger.append([entry(2)])).rejects.toThrow('the disk is full');
    rmSync(ballast);
    expect(await ledger.append([entry(2), entry(3)])).toBe(3);
    await ledger.close();
    const again = await ledgers.open('default');
    expect((await again.read(0, 10)).map(({ entry: { key } }) => key)).toEqual(['1']);
    expect((await again.read(1, 10)).map(({ entry: { key } }) => key)).toEqual(['2', '3']);
    await again.close();
  });
});
