import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { restartLog, truncateLog } from '../../src/storage/log-repair.ts';
import { encodeGroup, FILE_HEADER, groupBytes } from '../../src/storage/record-format.ts';
import { SegmentLog, type TornTail } from '../../src/storage/segment-log.ts';
import { StorageCorruptError, StorageIncompleteError } from '../../src/storage/storage-errors.ts';
import { checkLog, contentsIn, contentsOf, records } from './log-contents.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = temporaryFolder();
const FIRST_SEGMENT = `${'1'.padStart(16, '0')}.log`;

interface WrittenGroup {
  readonly texts: string[];
  /** Bytes in the file at which its records start; the last one is the end of the group. */
  readonly bounds: number[];
}

/** The bytes of a segment with these groups, made as the log makes them. */
function segmentOf(groups: readonly string[][]): { bytes: Buffer; written: WrittenGroup[] } {
  const parts: Buffer[] = [FILE_HEADER];
  const written: WrittenGroup[] = [];
  let offset = FILE_HEADER.length;
  let sequence = 1;
  for (const texts of groups) {
    parts.push(encodeGroup(records(...texts), sequence));
    const bounds = [offset];
    for (const record of records(...texts)) bounds.push(bounds.at(-1)! + groupBytes([record]));
    written.push({ texts, bounds });
    offset = bounds.at(-1)!;
    sequence += texts.length;
  }
  return { bytes: Buffer.concat(parts), written };
}

function folderWith(bytes: Uint8Array): string {
  const folder = join(root, randomUUID());
  mkdirSync(folder);
  writeFileSync(join(folder, FIRST_SEGMENT), bytes);
  return folder;
}

const text = fc.string({ maxLength: 60 });
const groupsOf = (minLength: number) =>
  fc.array(fc.array(text, { minLength: 1, maxLength: 4 }), { minLength, maxLength: 8 });
const RUNS = { numRuns: 80, seed: 20_261_121 };

describe('a damaged log', () => {
  it('opens any prefix of its file to the groups that are whole, and goes on from there', async () => {
    await fc.assert(
      fc.asyncProperty(groupsOf(1), fc.double({ min: 0, max: 1, noNaN: true }), async (groups, share) => {
        const { bytes, written } = segmentOf(groups);
        const length = Math.max(FILE_HEADER.length, Math.floor(share * bytes.length));
        const folder = folderWith(bytes.subarray(0, length));
        const whole = written.filter(({ bounds }) => bounds.at(-1)! <= length).flatMap(({ texts }) => texts);
        const tails: TornTail[] = [];
        const log = await SegmentLog.open(folder, { onTornTail: (tail) => tails.push(tail) });
        expect(await contentsOf(log)).toEqual(whole);
        const end =
          written.findLast(({ bounds }) => bounds.at(-1)! <= length)?.bounds.at(-1) ?? FILE_HEADER.length;
        const file = join(folder, FIRST_SEGMENT);
        expect(tails).toEqual(end === length ? [] : [{ file, offset: end, bytes: length - end }]);
        await log.append(records('next'));
        await log.close();
        expect(await contentsIn(folder)).toEqual([...whole, 'next']);
      }),
      RUNS,
    );
  });

  it.each([
    ['emptied', (bytes: Buffer) => bytes.subarray(0, 0)],
    ['cut within its header', (bytes: Buffer) => bytes.subarray(0, 5)],
    ['zeroed', (bytes: Buffer) => Buffer.alloc(bytes.length)],
    ['overwritten', (bytes: Buffer) => Buffer.alloc(bytes.length, 'nonsense')],
  ])(
    'refuses a file that was %s: it appears with its header, so no crash leaves it like that',
    async (_, harm) => {
      const folder = folderWith(harm(segmentOf([['a'], ['b']]).bytes));
      const file = join(folder, FIRST_SEGMENT);
      const before = readFileSync(file);
      const error = await SegmentLog.open(folder).catch((reason) => reason);
      expect(error).toBeInstanceOf(StorageCorruptError);
      expect(error.message).toContain(`bandolier repair "${file}" --truncate-at 0`);
      expect(readFileSync(file).equals(before)).toBe(true);
      await truncateLog(file, 0);
      expect(await contentsIn(folder)).toEqual([]);
    },
  );

  it.each([
    ['the last group is cut off', (file: string, end: number) => truncateSync(file, end)],
    ['the last group is half there', (file: string, end: number) => truncateSync(file, end + 3)],
    ['the file is emptied', (file: string) => truncateSync(file, 0)],
    ['the file is gone', (file: string) => rmSync(file)],
    ['the folder is gone', (file: string) => rmSync(dirname(file), { recursive: true })],
  ])('changes nothing when fewer records are there than are known: %s', async (_, harm) => {
    const { bytes, written } = segmentOf([['a', 'b'], ['c'], ['d']]);
    const folder = folderWith(bytes);
    const file = join(folder, FIRST_SEGMENT);
    harm(file, written[1].bounds.at(-1)!);
    const left = existsSync(file) ? readFileSync(file) : null;
    const error = await SegmentLog.open(folder, { knownUpTo: 4 }).catch((reason) => reason);
    expect(error).toBeInstanceOf(StorageIncompleteError);
    expect(error.message).toContain(`"${file}"`);
    expect(error.message).toContain('but there were 4');
    expect(existsSync(file) ? readFileSync(file) : null).toEqual(left);

    await restartLog(folder, 4);
    const log = await SegmentLog.open(folder, { knownUpTo: 4 });
    expect((await log.append(records('e'))).last).toBe(5);
    await log.close();
  });

  it('reports a flipped byte with the place of its record, unless only the newest group is concerned', async () => {
    await fc.assert(
      fc.asyncProperty(
        groupsOf(2),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 255 }),
        async (groups, share, flip) => {
          const { bytes, written } = segmentOf(groups);
          const at = Math.min(bytes.length - 1, Math.floor(share * bytes.length));
          bytes[at] ^= flip;
          const folder = folderWith(bytes);
          const newest = written.at(-1)!;
          if (at >= newest.bounds[0]) {
            const older = written.slice(0, -1).flatMap(({ texts }) => texts);
            expect(await contentsIn(folder)).toEqual(older);
            return;
          }
          if (at < FILE_HEADER.length && bytes.readUInt16LE(6) > 1 && at >= 6) return; // reads as a newer version
          const starts = [0, ...written.flatMap(({ bounds }) => bounds)];
          const offset = starts.findLast((start) => start <= at)!;
          const error = await SegmentLog.open(folder).catch((reason) => reason);
          expect(error).toBeInstanceOf(StorageCorruptError);
          expect(error.offset).toBe(offset);
          expect(basename(error.file)).toBe(FIRST_SEGMENT);
          expect(error.message).toContain(`bandolier repair "${error.file}" --truncate-at ${offset}`);
          expect(readFileSync(join(folder, FIRST_SEGMENT)).equals(bytes)).toBe(true);
        },
      ),
      RUNS,
    );
  });

  it('takes holes in the newest group for a torn tail: a power failure may lose any of its pages', async () => {
    const { bytes, written } = segmentOf([
      ['kept'],
      ['one'.repeat(20), 'two'.repeat(20), 'three'.repeat(20)],
    ]);
    bytes.fill(0, written[1].bounds[0], written[1].bounds[1]);
    expect(await contentsIn(folderWith(bytes))).toEqual(['kept']);
  });

  it('finds damage in older segments when they are read or checked', async () => {
    const folder = join(root, randomUUID());
    const log = await SegmentLog.open(folder, { segmentBytes: 200 });
    for (let i = 0; i < 20; i++) await log.append(records(`record ${i}`.padEnd(50, '.')));
    await log.close();
    expect(await checkLog(folder)).toEqual({ last: 20, damage: null });

    const file = join(folder, FIRST_SEGMENT);
    const bytes = readFileSync(file);
    bytes[100] ^= 1;
    writeFileSync(file, bytes);
    const { last, damage } = await checkLog(folder);
    expect(last).toBe(0);
    expect(damage).toMatchObject({ file, offset: 8 + 66 });
    const again = await SegmentLog.open(folder);
    await expect(again.read(0, 10)).rejects.toMatchObject({ offset: 8 + 66 });
    expect((await again.read(10, 1))[0].sequence).toBe(11);
    await again.close();
  });

  it('notices a file that took the place of another', async () => {
    const folder = join(root, randomUUID());
    const log = await SegmentLog.open(folder);
    await log.append(records('a'));
    await log.append(records('b'), { startSegment: true });
    await log.append(records('c'), { startSegment: true });
    await log.close();
    const [first, second, third] = [1, 2, 3].map((n) => join(folder, `${`${n}`.padStart(16, '0')}.log`));
    writeFileSync(first, readFileSync(second));
    const again = await SegmentLog.open(folder);
    await expect(again.read(0, 1)).rejects.toThrow('record 1 should be here, but it is 2');
    await again.close();
    expect((await checkLog(folder)).damage).toMatchObject({ file: first, offset: 8 });
    writeFileSync(third, readFileSync(second));
    await expect(SegmentLog.open(folder)).rejects.toThrow('record 3 should be here, but it is 2');
  });

  it('notices a segment that is missing or cut short', async () => {
    const folder = join(root, randomUUID());
    const log = await SegmentLog.open(folder);
    await log.append(records('a', 'b'));
    await log.append(records('c'), { startSegment: true });
    await log.close();
    const file = join(folder, FIRST_SEGMENT);
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, -1));
    expect((await checkLog(folder)).damage?.offset).toBe(bytes.length - 17);
    writeFileSync(file, bytes.subarray(0, bytes.length - 17));
    expect((await checkLog(folder)).damage?.offset).toBe(bytes.length - 17);
  });
});

describe('truncateLog', () => {
  it('gives up what follows the damage, keeps a copy of it, and lets the log go on', async () => {
    const folder = join(root, randomUUID());
    const log = await SegmentLog.open(folder);
    await log.append(records('a', 'b', 'c', 'd'));
    await log.append(records('e'));
    await log.append(records('f'), { startSegment: true });
    await log.close();
    const file = join(folder, FIRST_SEGMENT);
    const before = readFileSync(file);

    await expect(truncateLog(file, 60)).rejects.toThrow('ends at byte 59');
    const third = 8 + 2 * 17;
    expect(await truncateLog(file, third)).toMatchObject({ last: 2, cutBytes: before.length - third });
    expect(readFileSync(`${file}.cut-at-${third}`).equals(before.subarray(third))).toBe(true);
    expect(readdirSync(folder).filter((name) => name.endsWith('.log'))).toEqual([FIRST_SEGMENT]);
    expect(await contentsIn(folder)).toEqual(['a', 'b']);
    const again = await SegmentLog.open(folder);
    expect((await again.append(records('new'))).last).toBe(3);
    await again.close();

    await truncateLog(file, 0);
    expect(await contentsIn(folder)).toEqual([]);
    await expect(truncateLog(join(folder, 'other.txt'), 0)).rejects.toThrow(RangeError);
  });
});
