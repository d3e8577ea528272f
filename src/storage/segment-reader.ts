import type { FileHandle } from 'node:fs/promises';
import { readFully } from './durable-file.ts';
import { RECORD_HEADER_BYTES, type Record, recordAt, recordBytesAt } from './record-format.ts';
import type { Segment } from './segment.ts';
import { errorCode, StorageCorruptError, StorageTrimmedError } from './storage-errors.ts';

const WINDOW_BYTES = 1024 * 1024;

export interface ScannedRecord extends Record {
  /** Byte in the file at which the record starts. */
  readonly offset: number;
}

/**
 * Reads the records of a file, a window at a time:
 *
 *   while (await scan.fill()) for (let record = scan.next(); record; record = scan.next()) …
 *
 * It stops at the first record that is cut off or does not match its checksum; `offset < end` then.
 */
export class SegmentScan {
  /** Byte at which the next record starts. */
  offset: number;
  readonly end: number;
  readonly #handle: FileHandle;
  #window: Buffer = Buffer.alloc(0);
  #at = 0;
  #damaged = false;

  constructor(handle: FileHandle, from: number, end: number) {
    this.#handle = handle;
    this.offset = from;
    this.end = end;
  }

  /** Loads the bytes of at least one more record; returns false at the end, or at a record that cannot be read. */
  async fill(): Promise<boolean> {
    const left = this.end - this.offset;
    if (this.#damaged || left < RECORD_HEADER_BYTES) return false;
    let wanted = Math.min(left, WINDOW_BYTES);
    if (this.#window.length - this.#at >= RECORD_HEADER_BYTES) {
      const next = recordBytesAt(this.#window, this.#at);
      if (next > left) return false;
      wanted = Math.max(wanted, next);
    }
    const had = this.#window.length - this.#at;
    this.#window = await readFully(this.#handle, this.offset, wanted);
    this.#at = 0;
    // The loop above goes on only if this window holds more than the last one did.
    return this.#window.length > had;
  }

  /** Returns the next record of the window, or null when no complete one is left. `bytes` stays valid. */
  next(): ScannedRecord | null {
    const available = this.#window.length - this.#at;
    if (this.#damaged || available < RECORD_HEADER_BYTES) return null;
    const total = recordBytesAt(this.#window, this.#at);
    if (total > available) return null;
    const record = recordAt(this.#window, this.#at);
    if (record === null) {
      this.#damaged = true;
      return null;
    }
    const scanned = { ...record, offset: this.offset };
    this.#at += total;
    this.offset += total;
    return scanned;
  }
}

/** One record of a log and its position. `bytes` may share memory with other records: copy them to keep them. */
export interface LogRecord {
  readonly sequence: number;
  readonly segment: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Which records: those after `after`, up to and including `upTo`. */
export interface ReadRange {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}

const READ_BYTES = 8 * 1024 * 1024;
const SINGLE_READ_BYTES = 16 * 1024;

/**
 * Returns records of a log in order: at least one if there is any, at most `limit`, and not much more than 8 MB.
 * @param segments all segments, ascending; every record up to `range.upTo` must be durable.
 * @throws StorageTrimmedError, StorageCorruptError
 */
export async function readRecords(segments: readonly Segment[], range: ReadRange): Promise<LogRecord[]> {
  const from = range.after + 1;
  if (from > range.upTo || range.limit <= 0) return [];
  const at = segments.findLastIndex((segment) => segment.first <= from);
  if (at < 0) throw new StorageTrimmedError(`Record ${from} is not kept any more.`);
  const upTo = Math.min(range.upTo, (segments.at(at + 1)?.first ?? Number.POSITIVE_INFINITY) - 1);
  return readSegment(segments[at], { ...range, upTo });
}

function readSegment(segment: Segment, { after, upTo, limit }: ReadRange): Promise<LogRecord[]> {
  return opened(segment, async (handle) => {
    const start = segment.nearest(after + 1);
    const scan = new SegmentScan(handle, start.offset, (await handle.stat()).size);
    const records: LogRecord[] = [];
    let expected = start.sequence;
    while (await scan.fill()) {
      for (let record = scan.next(); record !== null; record = scan.next()) {
        if (record.sequence !== expected) throw outOfOrder(segment, record.offset, expected, record.sequence);
        segment.mark(expected, record.offset);
        if (expected++ > after) records.push({ ...record, segment: segment.first });
        const full = records.length >= limit || scan.offset - start.offset >= READ_BYTES;
        if (expected > upTo || (full && records.length > 0)) {
          segment.readTo(expected, scan.offset);
          return records;
        }
      }
    }
    const what = `record ${expected} is unreadable or missing`;
    throw new StorageCorruptError(segment.file, scan.offset, what, expected - 1);
  });
}

/** Returns the record that starts at this byte. @throws StorageTrimmedError, StorageCorruptError */
export function readRecordAt(segment: Segment, offset: number): Promise<Uint8Array> {
  return opened(segment, async (handle) => {
    let buffer = await readFully(handle, offset, SINGLE_READ_BYTES);
    const total = buffer.length < RECORD_HEADER_BYTES ? Number.POSITIVE_INFINITY : recordBytesAt(buffer, 0);
    if (total > buffer.length && offset + total <= (await handle.stat()).size) {
      buffer = await readFully(handle, offset, total);
    }
    const record = total <= buffer.length ? recordAt(buffer, 0) : null;
    if (record === null) throw new StorageCorruptError(segment.file, offset, 'its record is unreadable');
    return record.bytes;
  });
}

export function outOfOrder(segment: Segment, offset: number, expected: number, found: number): Error {
  return new StorageCorruptError(
    segment.file,
    offset,
    `record ${expected} should be here, but it is ${found}`,
    expected - 1,
  );
}

async function opened<Result>(
  segment: Segment,
  read: (handle: FileHandle) => Promise<Result>,
): Promise<Result> {
  try {
    return await segment.handle.use(read);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw new StorageTrimmedError(`"${segment.file}" is not kept any more.`, { cause: error });
  }
}
