import { randomUUID } from 'node:crypto';
import { constants, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { SegmentLog } from '../../src/storage/segment-log.ts';
import { LockLostError, StorageTrimmedError } from '../../src/storage/storage-errors.ts';
import { checkLog, contentsIn, contentsOf, records } from './log-contents.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = temporaryFolder();
const newFolder = (): string => join(root, randomUUID());

/** What every open file inherits from, to make the disk fail. */
async function fileHandlePrototype() {
  const handle = await open(root, 'r');
  await handle.close();
  return Object.getPrototypeOf(handle);
}

/** Makes the next write fail after its bytes have reached the file. */
async function writeThenFail(code: string): Promise<void> {
  const prototype = await fileHandlePrototype();
  const { write } = prototype;
  vi.spyOn(prototype, 'write').mockImplementationOnce(async function (this: unknown, ...args: unknown[]) {
    await write.apply(this, args);
    throw diskError(code);
  });
}

function diskError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

afterEach(() => vi.restoreAllMocks());

describe('SegmentLog', () => {
  it.skipIf(process.platform !== 'linux')('writes through to the disk, also after a restart', async () => {
    const folder = newFolder();
    /** Flags of the files in the folder that this process has open for writing. */
    const flags = () =>
      readdirSync('/proc/self/fd').flatMap((fd) => {
        try {
          if (!readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder)) return [];
          const [, octal] = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))!;
          return [Number.parseInt(octal, 8)];
        } catch {
          return []; // closed meanwhile
        }
      });
    for (let start = 0; start < 2; start++) {
      const log = await SegmentLog.open(folder);
      for (const startSegment of [false, true]) {
        await log.append(records('a'), { startSegment });
        expect(flags()).toHaveLength(1);
        expect(flags()[0] & constants.O_DSYNC).toBe(constants.O_DSYNC);
      }
      await log.close();
    }
  });

  it('numbers records from 1 and finds all of them again', async () => {
    const folder = newFolder();
    const log = await SegmentLog.open(folder);
    expect(log.last).toBe(0);
    expect(await log.read(0, 10)).toEqual([]);
    expect((await log.append(records('a', 'b'))).last).toBe(2);
    expect((await log.append(records('c'))).last).toBe(3);
    await log.close();
    const tails: unknown[] = [];
    const again = await SegmentLog.open(folder, { onTornTail: (tail) => tails.push(tail) });
    expect(tails).toEqual([]);
    expect((await again.append(records('d'))).last).toBe(4);
    expect(await contentsOf(again)).toEqual(['a', 'b', 'c', 'd']);
    expect((await again.read(1, 2)).map(({ sequence }) => sequence)).toEqual([2, 3]);
    expect(await again.read(4, 2)).toEqual([]);
    await again.close();
  });

  it('goes on in a new segment when one is full, and reads across them from any place', async () => {
    const folder = newFolder();
    const log = await SegmentLog.open(folder, { segmentBytes: 1000 });
    const texts = Array.from({ length: 60 }, (_, i) => `${i}`.padEnd(90, '.'));
    for (const text of texts) await log.append(records(text));
    expect(log.segments.length).toBeGreaterThan(5);
    expect(await contentsOf(log)).toEqual(texts);
    for (const after of [0, 8, 9, 10, 31, 59]) {
      const [{ sequence, bytes }] = await log.read(after, 1);
      expect([sequence, Buffer.from(bytes).toString()]).toEqual([after + 1, texts[after]]);
    }
    await log.close();
    expect(await contentsIn(folder)).toEqual(texts);
  });

  it('keeps the order of every producer, and each batch in one piece', async () => {
    const log = await SegmentLog.open(newFolder(), { segmentBytes: 20_000 });
    await Promise.all(
      Array.from({ length: 20 }, async (_, producer) => {
        for (let n = 0; n < 30; n += 3) {
          await log.append(records(...[n, n + 1, n + 2].map((i) => `${producer}:${i}`)));
        }
      }),
    );
    const contents = await contentsOf(log);
    for (let producer = 0; producer < 20; producer++) {
      const own = contents.filter((text) => text.startsWith(`${producer}:`));
      expect(own).toEqual(Array.from({ length: 30 }, (_, i) => `${producer}:${i}`));
    }
    for (let i = 0; i < contents.length; i += 3) {
      const [producer, n] = contents[i].split(':').map(Number);
      expect(contents.slice(i + 1, i + 3)).toEqual([`${producer}:${n + 1}`, `${producer}:${n + 2}`]);
    }
    await log.close();
  });

  it('says where a batch lies, and reads one record from there', async () => {
    const log = await SegmentLog.open(newFolder(), { segmentBytes: 500 });
    const texts = Array.from({ length: 30 }, (_, i) => `record ${i} ${'x'.repeat(i * 3)}`);
    const places = await Promise.all(texts.map((text) => log.append(records(text))));
    for (const [i, { segment, offset }] of places.entries()) {
      expect(Buffer.from(await log.readAt(segment, offset)).toString()).toBe(texts[i]);
    }
    const large = await log.append([Buffer.alloc(100_000, 'y')]);
    expect(Buffer.from(await log.readAt(large.segment, large.offset))).toEqual(Buffer.alloc(100_000, 'y'));
    await log.close();
  });

  it('starts a segment when asked to, and deletes whole old ones', async () => {
    const folder = newFolder();
    const log = await SegmentLog.open(folder);
    await log.append(records('a', 'b'));
    await log.append(records('c'), { startSegment: true });
    await log.append([], { startSegment: true });
    await log.append([], { startSegment: true });
    await log.append(records('d'));
    expect(log.segments).toEqual([1, 3, 4]);
    await log.drop(1);
    expect(log.first).toBe(1);
    await log.drop(2);
    expect(log.segments).toEqual([3, 4]);
    await log.drop(100);
    expect(log.segments).toEqual([4]);
    await expect(log.read(1, 10)).rejects.toThrow(StorageTrimmedError);
    await expect(log.readAt(3, 8)).rejects.toThrow(StorageTrimmedError);
    expect(await contentsOf(log)).toEqual(['d']);
    await log.close();
    const again = await SegmentLog.open(folder);
    expect([again.first, again.last, again.bytes]).toEqual([4, 4, 8 + 16 + 1]);
    await again.close();
  });

  it('keeps counting where it was when everything has been deleted', async () => {
    const folder = newFolder();
    const log = await SegmentLog.open(folder);
    await log.append(records('a', 'b'));
    await log.append([], { startSegment: true });
    await log.drop(2);
    await log.close();
    const again = await SegmentLog.open(folder);
    expect([again.first, again.last]).toEqual([3, 2]);
    expect((await again.append(records('c'))).last).toBe(3);
    await again.close();
  });

  it.each(['ENOSPC', 'EIO'])(
    'keeps nothing of a group that meets %s, and goes on afterwards',
    async (code) => {
      const folder = newFolder();
      const log = await SegmentLog.open(folder);
      await log.append(records('before'));
      await writeThenFail(code);
      const failed = await Promise.allSettled([log.append(records('x', 'y')), log.append(records('z'))]);
      for (const { status, ...rest } of failed) {
        expect(status).toBe('rejected');
        expect((rest as PromiseRejectedResult).reason).toBeInstanceOf(StoreUnavailableError);
      }
      expect((await log.append(records('after'))).last).toBe(2);
      await log.close();
      expect(await contentsIn(folder)).toEqual(['before', 'after']);
    },
  );

  it('does not build on bytes that it could not take back', async () => {
    const folder = newFolder();
    const log = await SegmentLog.open(folder);
    await log.append(records('before'));
    await writeThenFail('EIO');
    vi.spyOn(await fileHandlePrototype(), 'truncate')
      .mockRejectedValueOnce(diskError('EIO'))
      .mockRejectedValueOnce(diskError('EIO'));
    await expect(log.append(records('lost'.repeat(50)))).rejects.toThrow(OutcomeUnknownError);
    await expect(log.append(records('refused'))).rejects.toThrow(StoreUnavailableError);
    await log.append(records('after'));
    await log.close();
    expect(await contentsIn(folder)).toEqual(['before', 'after']);
  });

  it('stays in its segment when the next one cannot be created', async () => {
    const folder = newFolder();
    const log = await SegmentLog.open(folder);
    await log.append(records('a'));
    const prototype = await fileHandlePrototype();
    vi.spyOn(prototype, 'write').mockRejectedValueOnce(diskError('ENOSPC'));
    await expect(log.append(records('b'), { startSegment: true })).rejects.toThrow('the disk is full');
    expect(await readdir(folder)).toHaveLength(1);
    await log.append(records('c'), { startSegment: true });
    expect(log.segments).toEqual([1, 2]);
    await log.close();
    expect(await contentsIn(folder)).toEqual(['a', 'c']);
  });

  it('refuses what would pile up in memory, and everything after it was closed', async () => {
    const log = await SegmentLog.open(newFolder());
    const first = log.append([Buffer.alloc(40 * 1024 * 1024)]);
    await expect(log.append([Buffer.alloc(40 * 1024 * 1024)])).rejects.toThrow('does not keep up');
    await first;
    await log.close();
    await expect(log.append(records('late'))).rejects.toThrow(StoreUnavailableError);
  });

  it('does not touch a file of a newer version', async () => {
    const folder = newFolder();
    await (await SegmentLog.open(folder)).close();
    await writeFile(join(folder, `${'1'.padStart(16, '0')}.log`), 'BNDLOG\x09\x00');
    await expect(SegmentLog.open(folder)).rejects.toThrow('newer version');
  });
});

describe('a SegmentLog whose folder is taken by another process', () => {
  /** A lock that holds for so many questions, and is lost then. */
  function lockFor(questions: number) {
    let left = questions;
    const lost = new AbortController();
    const verify = (): void => {
      if (left-- <= 0) lost.abort(new LockLostError('taken'));
      lost.signal.throwIfAborted();
    };
    return { predecessor: 'ended' as const, verify, lost: lost.signal };
  }
  const held = new AbortController().signal;
  const successor = { predecessor: 'silent' as const, verify: () => {}, lost: held };

  it('acknowledges nothing, and what it writes late does no harm to its successor', async () => {
    const folder = newFolder();
    const lost = await SegmentLog.open(folder, { lock: lockFor(1) });
    await lost.append(records('known'));
    const next = await SegmentLog.open(folder, { lock: successor });
    await expect(lost.append(records('late'))).rejects.toThrow(OutcomeUnknownError);
    await next.append(records('a'));
    await expect(lost.append(records('later'))).rejects.toThrow(LockLostError);
    await next.append(records('b'));
    await Promise.all([lost.close(), next.close()]);
    expect(await contentsIn(folder)).toEqual(['known', 'a', 'b']);
    expect(await checkLog(folder)).toEqual({ last: 3, damage: null });
  });

  it('does not write to the file of its successor, even if that had nothing in it yet', async () => {
    const folder = newFolder();
    const lost = await SegmentLog.open(folder, { lock: lockFor(0) });
    const next = await SegmentLog.open(folder, { lock: successor });
    await next.append(records('a'));
    await expect(lost.append(records('late'))).rejects.toThrow(OutcomeUnknownError);
    await Promise.all([lost.close(), next.close()]);
    expect(await contentsIn(folder)).toEqual(['a']);
  });

  it('takes back a segment that it began too late', async () => {
    const folder = newFolder();
    const lost = await SegmentLog.open(folder, { lock: lockFor(1) });
    await lost.append(records('a'));
    await expect(lost.append(records('late'), { startSegment: true })).rejects.toThrow(LockLostError);
    await lost.close();
    expect(readdirSync(folder)).toEqual([`${'1'.padStart(16, '0')}.log`]);
  });
});
