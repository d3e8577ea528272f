import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LostNamesError } from '../../src/decisions/decision-names.ts';
import { FileDecisionLog } from '../../src/decisions/file-decision-log.ts';
import { FileDecisionLogs } from '../../src/decisions/file-decision-logs.ts';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { taskKey } from '../../src/ledger/unit.ts';
import { truncateLog } from '../../src/storage/log-repair.ts';
import { packDocument } from '../../src/storage/packed-document.ts';
import { SegmentLog } from '../../src/storage/segment-log.ts';
import { StorageCorruptError } from '../../src/storage/storage-errors.ts';
import { decisionLogContract } from '../contracts/decision-log.contract.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { sampleDecision } from './arbitrary-decision.ts';

const root = temporaryFolder();
const newFolder = (): string => join(root, randomUUID());
const START = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;

for (const [name, segmentBytes] of [
  ['FileDecisionLogs', undefined],
  ['FileDecisionLogs with small segments', 4000],
] as const) {
  decisionLogContract(name, async () => {
    const dataDir = newFolder();
    let time = START;
    return {
      connect: async () =>
        new FileDecisionLogs(dataDir, { segmentBytes, retainMs: 16 * HOUR, now: () => time }),
      retainMs: 16 * HOUR,
      now: () => time,
      advance: async (ms) => {
        time += ms;
      },
      dispose: async () => {},
    };
  });
}

afterEach(() => vi.restoreAllMocks());

describe('FileDecisionLog', () => {
  /** Makes a decision every ten minutes for so many hours; the clock stays where it ends. */
  async function hours(folder: string, count: number) {
    const clock = { time: START };
    const options = { retainMs: 16 * HOUR, now: () => clock.time };
    const log = await FileDecisionLog.open(folder, options);
    const ids: string[] = [];
    for (; clock.time < START + count * HOUR; clock.time += HOUR / 6) {
      const id = `default.${clock.time}`;
      await log.append(sampleDecision(id, clock.time, 2));
      ids.push(id);
    }
    return { log, ids, clock, options };
  }

  it('refuses a log whose newest decision another version wrote, before anything is written', async () => {
    const [folder, other] = [newFolder(), newFolder()];
    const options = { retainMs: HOUR, now: () => START };
    const log = await FileDecisionLog.open(folder, options);
    await log.append(sampleDecision('default.1', START, 2));
    await log.close();
    const older = await SegmentLog.open(other);
    await older.append([packDocument(2, [3, ['default.1'], {}], [])]);
    await older.close();
    // With its table no decision of the log is read.
    const segments = readdirSync(other).filter((name) => name.endsWith('.log'));
    for (const name of segments) cpSync(join(other, name), join(folder, name));
    expect(readdirSync(folder).filter((name) => name.endsWith('.keys'))).toHaveLength(1);
    await expect(FileDecisionLog.open(folder, options)).rejects.toThrow('a decision of version 3');
  });

  it('finds the decisions of a task after a crash, in full segments and in the last one', async () => {
    const [folder, copy, task] = [newFolder(), newFolder(), taskKey({ task: 'job' })];
    const options = { segmentBytes: 20_000, retainMs: 16 * HOUR, now: () => START + 30 };
    const log = await FileDecisionLog.open(folder, options);
    for (let n = 0; n < 30; n++) {
      const decision = sampleDecision(`default.${n}`, START + n);
      await log.append({ ...decision, activatedAt: START + n, ...(n % 2 === 0 && { task }) });
    }
    cpSync(folder, copy, { recursive: true });
    const found = (await log.ofTask(task)).map(({ id }) => id);
    await log.close();
    expect(segmentsIn(copy).length).toBeGreaterThan(2);
    expect(found).toEqual(Array.from({ length: 15 }, (_, n) => `default.${28 - 2 * n}`));
    for (const one of [copy, folder]) {
      const again = await FileDecisionLog.open(one, options);
      expect((await again.ofTask(task)).map(({ id }) => id)).toEqual(found);
      await again.close();
    }
  });

  it('has of an id that is used again when its decision expired the new one, in memory and on the disk', async () => {
    const folder = newFolder();
    const clock = { time: START };
    const options = { retainMs: HOUR, now: () => clock.time };
    const log = await FileDecisionLog.open(folder, options);
    expect(await log.append(sampleDecision('default.1', START, 5))).toBe(true);
    clock.time += 2 * HOUR;
    expect(await log.get('default.1')).toBeNull();
    expect(await log.append(sampleDecision('default.1', clock.time, 7))).toBe(true);
    expect(await log.get('default.1')).toMatchObject({ at: clock.time });
    await log.close();
    const again = await FileDecisionLog.open(folder, options);
    expect(await again.get('default.1')).toMatchObject({ at: clock.time });
    await again.close();
  });

  it('gives back the same decision, bit for bit, while it is new, from its record, and from the disk', async () => {
    const folder = newFolder();
    const options = { retainMs: HOUR, now: () => START };
    const log = await FileDecisionLog.open(folder, options);
    const ids = Array.from({ length: 40 }, (_, n) => `default.${n}`);
    for (const id of ids) await log.append(sampleDecision(id, START, 6));
    const found = await Promise.all(ids.map((id) => log.get(id)));
    await log.close();
    const again = await FileDecisionLog.open(folder, options);
    expect(await Promise.all(ids.map((id) => again.get(id)))).toEqual(found);
    await again.close();
    for (const one of found) expect(one).toEqual({ ...found[0], id: one!.id });
  });

  const segmentsIn = (folder: string): string[] =>
    readdirSync(folder).filter((file) => file.endsWith('.log'));

  it('deletes what has expired, an hour of sixteen at a time', async () => {
    const folder = newFolder();
    const { log, ids } = await hours(folder, 40);
    await log.close();
    expect(segmentsIn(folder).length).toBeGreaterThan(15);
    expect(segmentsIn(folder).length).toBeLessThan(20);
    // The table of every segment, and none of a deleted one.
    const tables = readdirSync(folder).filter((file) => file.endsWith('.keys'));
    expect(tables.length).toBe(segmentsIn(folder).length);
    expect(ids).toHaveLength(240);
  });

  it('goes on slicing the time when the process is started again and again', async () => {
    const folder = newFolder();
    const { log, clock, options } = await hours(folder, 1);
    await log.close();
    for (let start = 0; start < 40; start++) {
      const again = await FileDecisionLog.open(folder, options);
      await again.append(sampleDecision(`default.${start}`, clock.time, 2));
      await again.close();
      clock.time += HOUR / 2;
    }
    expect(segmentsIn(folder).length).toBeGreaterThan(10);
    expect(segmentsIn(folder).length).toBeLessThan(20);
    expect(segmentsIn(folder)[0]).not.toMatch(/^0*1\.log$/);
  });

  it('deletes everything when nothing is added any more', async () => {
    const folder = newFolder();
    const { log, clock } = await hours(folder, 3);
    clock.time += 17 * HOUR;
    await log.expire();
    expect(segmentsIn(folder)).toHaveLength(1);
    expect(readFileSync(join(folder, segmentsIn(folder)[0])).length).toBe(8);
    await log.close();
  });

  it('does not read full segments again at the next start, unless their tables are missing or damaged', async () => {
    const folder = newFolder();
    const { log, ids, options } = await hours(folder, 10);
    await log.close();
    const tables = readdirSync(folder).filter((file) => file.endsWith('.keys'));
    expect(tables.length).toBeGreaterThan(5);
    const damage = [
      () => {},
      () => rmSync(join(folder, tables[0])),
      () => writeFileSync(join(folder, tables[1]), 'nonsense that is longer than four bytes'),
      () => writeFileSync(join(folder, tables[2]), readFileSync(join(folder, tables[3]))),
    ];
    for (const happen of damage) {
      happen();
      const again = await FileDecisionLog.open(folder, options);
      for (const id of ids) expect((await again.get(id))?.id).toBe(id);
      await again.close();
    }
  });

  it('knows the newest segment from its table, unless the log went on after that', async () => {
    const folder = newFolder();
    const options = { retainMs: 16 * HOUR, now: () => START };
    const rewarded = { defaultReward: 0, activatedAt: START };
    const log = await FileDecisionLog.open(folder, options);
    await log.append({ ...sampleDecision('default.a', START, 2), ...rewarded });
    await log.append(sampleDecision('default.b', START, 2));
    await log.close();
    const [table] = readdirSync(folder).filter((file) => file.endsWith('.keys'));
    const stored = readFileSync(join(folder, table));

    const again = await FileDecisionLog.open(folder, options);
    expect(existsSync(join(folder, table))).toBe(false);
    expect(again.takeAwaitingDefault().map(({ id }) => id)).toEqual(['default.a']);
    expect(await again.countSince(START)).toBe(2);
    await again.append(sampleDecision('default.c', START, 2));
    expect((await again.get('default.b'))?.id).toBe('default.b');
    await again.close();

    // As after a crash: the table is that of an earlier end.
    writeFileSync(join(folder, table), stored);
    const last = await FileDecisionLog.open(folder, options);
    for (const id of ['default.a', 'default.b', 'default.c']) expect((await last.get(id))?.id).toBe(id);
    expect(await last.countSince(START)).toBe(3);
    expect(last.takeAwaitingDefault().map(({ id }) => id)).toEqual(['default.a']);
    await last.close();
  });

  it('finds the activation of a decision in a later segment', async () => {
    const folder = newFolder();
    const { log, ids, clock, options } = await hours(folder, 10);
    await log.activate(ids[0], clock.time);
    await log.close();
    const again = await FileDecisionLog.open(folder, options);
    expect((await again.get(ids[0]))?.activatedAt).toBe(clock.time);
    await again.close();
  });

  it('reads no other tools for a decision whose names were given up in a repair', async () => {
    const folder = newFolder();
    const reported: string[] = [];
    const options = {
      retainMs: HOUR,
      now: () => START,
      onError: (message: string) => reported.push(message),
    };
    const showing = (id: string, tools: readonly string[]) => ({
      ...sampleDecision(`default.${id}`, START, tools.length),
      candidates: tools,
    });
    const log = await FileDecisionLog.open(folder, options);
    const before = [
      showing('a', ['one', 'two', 'three', 'four', 'five']),
      showing('b', ['one', 'six', 'seven', 'eight', 'nine']),
      showing('c', ['ten', 'eleven', 'twelve', 'six', 'one']),
    ];
    for (const decision of before) await log.append(decision);
    await log.close();

    const names = join(folder, 'names', segmentsIn(join(folder, 'names'))[0]);
    const bytes = readFileSync(names);
    bytes[bytes.indexOf('seven')] ^= 1;
    writeFileSync(names, bytes);
    const damage = await FileDecisionLog.open(folder, options).catch((error: unknown) => error);
    if (!(damage instanceof StorageCorruptError)) return expect.unreachable(`${damage}`);
    await truncateLog(damage.file, damage.offset);

    const again = await FileDecisionLog.open(folder, options);
    const after = showing('d', ['mail', 'maps', 'music', 'money']);
    await again.append(after);
    expect(await again.get('default.a')).toEqual(before[0]);
    await expect(again.get('default.b')).rejects.toThrow(LostNamesError);
    await expect(again.get('default.c')).rejects.toThrow(LostNamesError);
    const read: string[] = [];
    for await (const { id } of again.read()) read.push(id);
    for await (const { decision } of again.newestFirst()!) read.push(decision.id);
    expect(read).toEqual(['default.a', 'default.d', 'default.d', 'default.a']);
    expect(reported).toEqual(['decisions without their names are left out']);
    await again.close();
  });

  it.skipIf(process.platform !== 'linux')('leaves no file open when it cannot be opened', async () => {
    const folder = newFolder();
    const { log, options } = await hours(folder, 3);
    await log.close();
    const names = join(folder, 'names', segmentsIn(join(folder, 'names'))[0]);
    const handlesIn = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
        } catch {
          return false; // closed meanwhile: it was the one that read this folder
        }
      });
    const [oldest] = segmentsIn(folder);
    for (const file of [names, join(folder, oldest)]) {
      const bytes = readFileSync(file);
      rmSync(file.replace('.log', '.keys'), { force: true });
      writeFileSync(file, Buffer.alloc(bytes.length, 1));
      for (let attempt = 0; attempt < 3; attempt++)
        await expect(FileDecisionLog.open(folder, options)).rejects.toThrow(StorageCorruptError);
      expect(handlesIn()).toEqual([]);
      writeFileSync(file, bytes);
    }
    const again = await FileDecisionLog.open(folder, options);
    expect(handlesIn()).toHaveLength(2);
    await again.close();
  });

  it('keeps nothing of a decision that did not fit on the disk', async () => {
    const log = await FileDecisionLog.open(newFolder(), { retainMs: HOUR, now: () => START });
    const handle = await open(root, 'r');
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
    vi.spyOn(Object.getPrototypeOf(handle), 'write').mockRejectedValueOnce(full);
    await handle.close();
    await expect(log.append(sampleDecision('default.a', START))).rejects.toThrow(StoreUnavailableError);
    expect(await log.get('default.a')).toBeNull();
    await log.append(sampleDecision('default.a', START));
    expect((await log.get('default.a'))?.id).toBe('default.a');
    await log.close();
    await expect(log.append(sampleDecision('default.b', START))).rejects.toThrow(StoreUnavailableError);
  });

  it('tries again to open a log that could not be opened', async () => {
    const dataDir = newFolder();
    const logs = new FileDecisionLogs(dataDir, { retainMs: HOUR, now: () => START });
    await expect(logs.open('../escape')).rejects.toThrow(RangeError);
    const handle = await open(root, 'r');
    vi.spyOn(Object.getPrototypeOf(handle), 'write').mockRejectedValueOnce(new Error('broken'));
    await handle.close();
    await expect(logs.open('default')).rejects.toThrow(StoreUnavailableError);
    expect(await (await logs.open('default')).get('default.a')).toBeNull();
    await logs.close();
  });
});

describe('FileDecisionLogs', () => {
  it('creates no folder in order to look, neither before a log is opened nor after it was removed', async () => {
    const dataDir = newFolder();
    const logs = new FileDecisionLogs(dataDir, { retainMs: HOUR, now: () => START });
    expect(await logs.find('default')).toBeNull();
    expect(existsSync(dataDir)).toBe(false);
    const log = await logs.open('default');
    expect(await logs.find('default')).toBe(log);
    const removing = logs.remove('default');
    expect(await logs.find('default')).toBeNull();
    await removing;
    expect(readdirSync(join(dataDir, 'catalogs/default'))).toEqual([]);
    await logs.close();
  });
});
