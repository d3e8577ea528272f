import { open, rename } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { createFolder, readFully, syncFolder, writeFileDurably } from './durable-file.ts';
import { endGroupHere, FILE_HEADER } from './record-format.ts';
import { listSegments, Segment } from './segment.ts';
import { SegmentScan } from './segment-reader.ts';

/** The result of a repair, to be shown to the user. */
export interface Truncation {
  /** Sequence number of the newest record that was kept. */
  readonly last: number;
  readonly cutBytes: number;
  /** New names of the cut bytes and the later segments, which are kept. */
  readonly setAside: readonly string[];
}

/**
 * Cuts off a log at this byte of this segment file, and everything after it. The log must not be open.
 * @throws RangeError when no record ends at this byte.
 */
export async function truncateLog(file: string, offset: number): Promise<Truncation> {
  const folder = dirname(file);
  const segment = new Segment(folder, Number.parseInt(basename(file), 10));
  if (basename(segment.file) !== basename(file)) throw new RangeError(`"${file}" is not a segment of a log.`);
  const content = await readWhole(file);
  const kept = await keepUntil(segment, content, offset);

  const setAside = [];
  if (offset < content.length) {
    setAside.push(`${file}.cut-at-${offset}`);
    await writeFileDurably(setAside[0], content.subarray(offset));
  }
  const later = (await listSegments(folder)).filter((first) => first > segment.first);
  setAside.push(...(await setAsideSegments(folder, later)));
  await writeFileDurably(file, kept.bytes);
  return { last: kept.last, cutBytes: content.length - offset, setAside };
}

/**
 * Empties a log; its next record is the one after this number. The log must not be open.
 * @returns the new names of its segments, which are kept
 */
export async function restartLog(folder: string, after: number): Promise<readonly string[]> {
  await createFolder(folder);
  const setAside = await setAsideSegments(folder, await listSegments(folder));
  await writeFileDurably(new Segment(folder, after + 1).file, FILE_HEADER);
  return setAside;
}

/** Renames segments, newest first, so that a crash in between leaves a shorter log and not one with a gap. */
async function setAsideSegments(folder: string, firsts: readonly number[]): Promise<string[]> {
  const setAside: string[] = [];
  for (const first of [...firsts].reverse()) {
    const { file } = new Segment(folder, first);
    setAside.push(`${file}.cut`);
    await rename(file, `${file}.cut`);
  }
  await syncFolder(folder);
  return setAside;
}

async function readWhole(file: string): Promise<Buffer> {
  const handle = await open(file, 'r');
  try {
    return await readFully(handle, 0, (await handle.stat()).size);
  } finally {
    await handle.close();
  }
}

/** Returns the content up to `offset`, with its last record marked as the end of its group. */
async function keepUntil(segment: Segment, content: Buffer, offset: number) {
  const bytes = Buffer.from(content.subarray(0, Math.max(offset, FILE_HEADER.length)));
  if (offset <= FILE_HEADER.length) {
    if (offset !== 0 && offset !== FILE_HEADER.length)
      throw noRecordEnds(segment.file, offset, FILE_HEADER.length);
    return { bytes: FILE_HEADER, last: segment.first - 1 };
  }
  const handle = await open(segment.file, 'r');
  try {
    const scan = new SegmentScan(handle, FILE_HEADER.length, offset);
    let last = segment.first - 1;
    let lastStart = FILE_HEADER.length;
    while (await scan.fill()) {
      for (let record = scan.next(); record !== null; record = scan.next()) {
        last = record.sequence;
        lastStart = record.offset;
      }
    }
    if (scan.offset !== offset) throw noRecordEnds(segment.file, offset, scan.offset);
    endGroupHere(bytes.subarray(lastStart));
    return { bytes, last };
  } finally {
    await handle.close();
  }
}

function noRecordEnds(file: string, offset: number, nearest: number): RangeError {
  return new RangeError(
    `No record of "${file}" ends at byte ${offset}; the nearest one before it ends at byte ${nearest}.`,
  );
}
