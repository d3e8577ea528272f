import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { cp, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { FileJobQueue, systemClock } from '../../src/queue/file-job-queue.ts';
import { JobBook } from '../../src/queue/job-book.ts';
import { DueHeap, Fifo } from '../../src/queue/job-order.ts';
import { type Job, retryDelayMs, UnrecoverableJobError } from '../../src/queue/job-queue.ts';
import { jobQueueContract } from '../contracts/job-queue.contract.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { ManualClock } from './manual-clock.ts';

const root = temporaryFolder();
const newFolder = (): string => join(root, randomUUID());

/** Lets the disk do its work, and turns the clock when nothing else happens. */
async function until(clock: ManualClock, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 1; !(await condition()); turn++) {
    await nextTurn();
    if (turn % 20 === 0) clock.advance(100);
    if (turn > 1e6) throw new Error('this never happens');
  }
}

jobQueueContract('FileJobQueue', async () => {
  const folder = newFolder();
  const clock = new ManualClock();
  return {
    connect: (limits) => FileJobQueue.open(folder, { clock, ...limits }),
    secondMs: 1000,
    now: () => clock.now(),
    until: (condition) => until(clock, condition),
    dispose: async () => {},
  };
});

const job = (id: string, payload: unknown = null): Job => ({ name: 'work', id, payload });

afterEach(() => vi.restoreAllMocks());

describe('FileJobQueue', () => {
  it('keeps exactly the schedule of retries', async () => {
    const clock = new ManualClock();
    const queue = await FileJobQueue.open(newFolder(), { clock });
    const begin = clock.now();
    const attempts: number[] = [];
    const handler = async (): Promise<void> => {
      attempts.push((clock.now() - begin) / 1000);
      throw new Error('broken');
    };
    queue.process('work', handler, { concurrency: 1 });
    await queue.add([job('a')]);
    while ((await queue.deadJobs(1)).length === 0) {
      await nextTurn();
      if (clock.timers === 1) clock.advance(500);
    }
    const waits = attempts.slice(1).map((at, i) => at - attempts[i]);
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(waits).toEqual(waits.map((_, i) => retryDelayMs(i + 1) / 1000));
    await queue.close(0);
    expect(clock.timers).toBe(0);
  });

  it('runs what is due next when a nearer job is added', async () => {
    const clock = new ManualClock();
    const queue = await FileJobQueue.open(newFolder(), { clock });
    const seen: string[] = [];
    queue.process('work', async ({ id }) => void seen.push(id), { concurrency: 1 });
    await queue.add([{ ...job('far'), runAt: clock.now() + 90 * 24 * 3_600_000 }]);
    await queue.add([{ ...job('near'), runAt: clock.now() + 1000 }]);
    clock.advance(999);
    expect(seen).toEqual([]);
    clock.advance(1);
    expect(seen).toEqual(['near']);
    await until(clock, async () => (await queue.pending()) === 0);
    clock.advance(90 * 24 * 3_600_000);
    expect(seen).toEqual(['near', 'far']);
    await queue.close(0);
  });

  it('rewrites its journal when it has grown, without losing or repeating anything', async () => {
    const folder = newFolder();
    const clock = new ManualClock();
    let queue = await FileJobQueue.open(folder, { clock });
    const seen = new Set<string>();
    const handler = async ({ id }: Job): Promise<void> => {
      if (seen.has(id)) throw new Error(`${id} ran twice`);
      seen.add(id);
      if (id.endsWith('dead')) throw new UnrecoverableJobError('on purpose');
    };
    queue.process('work', handler, { concurrency: 8 });
    const payload = 'x'.repeat(60_000);
    await queue.add([{ ...job('waits for long', payload), runAt: clock.now() + 1e9 }, job('dead', payload)]);
    for (let round = 0; round < 50; round++) {
      await queue.add(Array.from({ length: 10 }, (_, i) => job(`${round}/${i}`, payload)));
    }
    await until(clock, async () => (await queue.pending()) === 0);
    await queue.close(0);
    const segments = readdirSync(folder);
    expect(segments.length).toBe(1);
    expect(segments[0]).not.toMatch(/^0*1\.log$/);

    queue = await FileJobQueue.open(folder, { clock });
    expect([await queue.pending(), await queue.delayed()]).toEqual([0, 1]);
    expect(await queue.deadJobs(10)).toMatchObject([{ job: { id: 'dead', payload } }]);
    queue.process('work', async ({ id }) => void seen.add(`again ${id}`), { concurrency: 1 });
    clock.advance(1e9);
    await until(clock, async () => (await queue.pending()) === 0);
    expect([...seen].filter((id) => id.startsWith('again'))).toEqual(['again waits for long']);
    await queue.close(0);
  });

  it('has every acknowledged job in its folder at any time: what a crash would leave behind', async () => {
    const folder = newFolder();
    const clock = new ManualClock();
    const queue = await FileJobQueue.open(folder, { clock });
    const gate = gateOf();
    queue.process('work', () => gate.promise, { concurrency: 2 });
    await queue.add([job('a'), job('b'), job('c')]);
    const left = newFolder();
    await cp(folder, left, { recursive: true });
    const after = await FileJobQueue.open(left, { clock });
    const seen: string[] = [];
    after.process('work', async ({ id }) => void seen.push(id), { concurrency: 1 });
    await until(clock, async () => (await after.pending()) === 0);
    expect(seen).toEqual(['a', 'b', 'c']);
    gate.resolve();
    await after.close(0);
    await queue.close(60_000);
  });

  it('accepts nothing while the disk is full, and loses no outcome of a job', async () => {
    const folder = newFolder();
    const clock = new ManualClock();
    const queue = await FileJobQueue.open(folder, { clock });
    await queue.add([job('a'), job('b')]);
    const handle = await open(root, 'r');
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
    const write = vi.spyOn(Object.getPrototypeOf(handle), 'write').mockRejectedValue(full);
    await handle.close();
    const seen: string[] = [];
    queue.process('work', async ({ id }) => void seen.push(id), { concurrency: 1 });
    await until(clock, async () => (await queue.pending()) === 0);
    await expect(queue.add([job('c')])).rejects.toThrow(StoreUnavailableError);
    await expect(queue.add([job('c')])).rejects.toThrow('the disk is full');
    expect(await queue.pending()).toBe(0);
    write.mockRestore();
    await queue.add([job('c')]);
    await until(clock, async () => (await queue.pending()) === 0);
    await queue.close(0);
    const again = await FileJobQueue.open(folder, { clock });
    expect(await again.pending()).toBe(0);
    expect(seen).toEqual(['a', 'b', 'c']);
    await again.close(0);
  });

  it('does not acknowledge a repeated id before the first one is durable', async () => {
    const clock = new ManualClock();
    const queue = await FileJobQueue.open(newFolder(), { clock });
    const handle = await open(root, 'r');
    const broken = Object.assign(new Error('broken'), { code: 'EIO' });
    vi.spyOn(Object.getPrototypeOf(handle), 'write').mockRejectedValueOnce(broken);
    await handle.close();
    const results = await Promise.allSettled([queue.add([job('a')]), queue.add([job('a')])]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await queue.add([job('a')]);
    expect(await queue.pending()).toBe(1);
    await queue.close(0);
  });

  it('refuses more text than it may hold', async () => {
    const queue = await FileJobQueue.open(newFolder());
    await expect(queue.add([job('a', 'x'.repeat(128_000_000))])).rejects.toThrow(StoreUnavailableError);
    await queue.add([job('a', 'x'.repeat(1000))]);
    expect(await queue.pending()).toBe(1);
    await queue.close(0);
  });

  it('works with the clock of the machine, too', async () => {
    const queue = await FileJobQueue.open(newFolder());
    const done = new Promise<number>((resolve) => {
      queue.process('work', async () => resolve(systemClock.now()), { concurrency: 1 });
    });
    const runAt = systemClock.now() + 30;
    await queue.add([{ ...job('a'), runAt }]);
    expect(await done).toBeGreaterThanOrEqual(runAt);
    await queue.close(1000);
  });
});

describe('DueHeap and Fifo', () => {
  const due = fc.record({ runAt: fc.integer({ min: 0, max: 20 }), order: fc.nat() });

  it('give back what a sorted list, and a plain list, would', () => {
    fc.assert(
      fc.property(fc.array(fc.option(due)), (steps) => {
        const heap = new DueHeap<{ runAt: number; order: number }>();
        const fifo = new Fifo<{ runAt: number; order: number }>();
        let sorted: { runAt: number; order: number }[] = [];
        const plain: { runAt: number; order: number }[] = [];
        for (const step of steps) {
          if (step === null) {
            expect(heap.take()).toEqual(sorted.shift());
            expect(fifo.take()).toBe(plain.shift());
          } else {
            heap.add(step);
            fifo.add(step);
            plain.push(step);
            sorted = [...sorted, step].sort((a, b) => a.runAt - b.runAt || a.order - b.order);
          }
          expect([heap.size, fifo.size]).toEqual([sorted.length, plain.length]);
          expect(heap.top).toEqual(sorted[0]);
        }
      }),
      { seed: 8, numRuns: 200 },
    );
  });

  it('reclaims the places of what was taken', () => {
    const fifo = new Fifo<number>();
    for (let i = 0; i < 10_000; i++) {
      fifo.add(i);
      if (i >= 10) expect(fifo.take()).toBe(i - 10);
    }
    expect(fifo.size).toBe(10);
  });
});

function gateOf() {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

it('a failed attempt that is replayed over a checkpoint which has it already counts once', () => {
  const failed = { event: 'failed', id: 'a', runAt: 1_000, attempts: 1 } as const;
  const book = new JobBook();
  book.apply({ event: 'added', jobs: [{ name: 'work', id: 'a', payload: 'null', runAt: 0, attempts: 0 }] });
  book.apply(failed);
  const replayed = new JobBook();
  for (const event of [...book.checkpoint(), failed]) replayed.apply(event);
  expect(replayed.live()).toMatchObject([{ id: 'a', attempts: 1, runAt: 1_000 }]);
});
