import { open } from 'node:fs/promises';
import { listSegments, Segment } from '../../src/storage/segment.ts';
import { SegmentLog } from '../../src/storage/segment-log.ts';
import { readRecords } from '../../src/storage/segment-reader.ts';
import { recoverSegment } from '../../src/storage/segment-recovery.ts';
import { StorageCorruptError } from '../../src/storage/storage-errors.ts';

/** All records of a log as text. */
export async function contentsOf(log: SegmentLog): Promise<string[]> {
  const contents: string[] = [];
  for (let after = log.first - 1; after < log.last; ) {
    for (const { sequence, bytes } of await log.read(after, 100)) {
      contents.push(Buffer.from(bytes).toString());
      after = sequence;
    }
  }
  return contents;
}

/** Opens the log in a folder, reads it whole and closes it. */
export async function contentsIn(folder: string): Promise<string[]> {
  const log = await SegmentLog.open(folder);
  try {
    return await contentsOf(log);
  } finally {
    await log.close();
  }
}

export function records(...texts: string[]): Buffer[] {
  return texts.map((text) => Buffer.from(text));
}

/** Reads a whole log, also its older segments, which opening does not look at. Changes nothing. */
export async function checkLog(
  folder: string,
): Promise<{ last: number; damage: StorageCorruptError | null }> {
  const segments = (await listSegments(folder)).map((first) => new Segment(folder, first));
  const newest = segments[segments.length - 1];
  let last = segments[0].first - 1;
  try {
    while (last < newest.first - 1) {
      const records = await readRecords(segments, { after: last, upTo: newest.first - 1, limit: 10_000 });
      last += records.length;
    }
    const handle = await open(newest.file, 'r');
    const { next } = await recoverSegment(handle, newest).finally(() => handle.close());
    return { last: next - 1, damage: null };
  } catch (error) {
    if (error instanceof StorageCorruptError) return { last, damage: error };
    throw error;
  }
}
