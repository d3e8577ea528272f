import type { FileHandle } from 'node:fs/promises';
import { readFully } from './durable-file.ts';
import { FILE_HEADER, holdsLaterGroup, judgeFileHeader } from './record-format.ts';
import type { Segment } from './segment.ts';
import { outOfOrder, SegmentScan } from './segment-reader.ts';
import { StorageCorruptError } from './storage-errors.ts';

export interface RecoveredSegment {
  /** Bytes that hold complete groups; the rest was never acknowledged. */
  readonly length: number;
  /** Sequence number of the next record. */
  readonly next: number;
}

/**
 * Reads the newest segment of a log to its end and distinguishes a torn tail from damage.
 * @throws StorageCorruptError when an intact group follows unreadable bytes, which were acknowledged then.
 */
export async function recoverSegment(handle: FileHandle, segment: Segment): Promise<RecoveredSegment> {
  const { size } = await handle.stat();
  const header = await readFully(handle, 0, Math.min(size, FILE_HEADER.length));
  const judgement = judgeFileHeader(header);
  if (judgement === 'newer') throw newerVersion(segment);
  if (judgement === 'unreadable') {
    throw new StorageCorruptError(
      segment.file,
      0,
      'the file does not begin as it was made',
      segment.first - 1,
    );
  }

  const scan = new SegmentScan(handle, FILE_HEADER.length, size);
  let whole = { length: FILE_HEADER.length, next: segment.first };
  let expected = segment.first;
  while (await scan.fill()) {
    for (let record = scan.next(); record !== null; record = scan.next()) {
      // A crash cannot leave an intact record at the wrong position.
      if (record.sequence !== expected || record.index !== expected - whole.next) {
        throw outOfOrder(segment, record.offset, expected, record.sequence);
      }
      segment.mark(record.sequence, record.offset);
      expected++;
      if (record.last) whole = { length: scan.offset, next: expected };
    }
  }
  if (scan.offset < size) {
    const rest = await readFully(handle, scan.offset, size - scan.offset);
    if (holdsLaterGroup(rest, whole.next)) {
      const what = 'a record is unreadable, but later ones are intact';
      throw new StorageCorruptError(segment.file, scan.offset, what, expected - 1);
    }
  }
  return whole;
}

function newerVersion(segment: Segment): Error {
  return new Error(
    `"${segment.file}" was written by a newer version of Bandolier. Start that version instead.`,
  );
}
