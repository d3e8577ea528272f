import { crc32 } from 'node:zlib';

/**
 * How a segment file looks. All numbers are little-endian.
 *
 *   file    "BNDLOG", version u16, then records
 *   record  crc u32 | last flag (top bit) and length u32 | sequence u48 | index u16 | bytes
 *
 * `crc` covers everything after itself. Records that were written and synced together form a **group**; `index`
 * counts within it and the flag marks its last record. A group is on disk whole or not at all: that makes
 * batches atomic, and it tells a torn tail (only ever the newest group) from damage (a newer group is intact).
 */
export const FILE_HEADER = Buffer.from('BNDLOG\x01\x00', 'latin1');
const FORMAT_VERSION = 1;

export const RECORD_HEADER_BYTES = 16;
export const MAX_GROUP_RECORDS = 0x10000;
export const MAX_RECORD_BYTES = 2 ** 30;
const NO_SCRATCH = Buffer.alloc(0);
const LAST_FLAG = 0x80000000;
const LENGTH_MASK = 0x7fffffff;

/** A record within a buffer. `bytes` is a view. */
export interface Record {
  readonly sequence: number;
  readonly index: number;
  readonly last: boolean;
  readonly bytes: Buffer;
}

/** Returns the bytes that this group takes on disk. */
export function groupBytes(records: readonly Uint8Array[]): number {
  let total = records.length * RECORD_HEADER_BYTES;
  for (const record of records) total += record.length;
  return total;
}

/**
 * Returns the bytes of one group, which are to be written at once. `records` has 1 … 65,536 elements.
 * @param scratch is used, and the result is a part of it, if the group fits into it
 */
export function encodeGroup(
  records: readonly Uint8Array[],
  firstSequence: number,
  scratch: Buffer = NO_SCRATCH,
): Buffer {
  const total = groupBytes(records);
  const group = total <= scratch.length ? scratch.subarray(0, total) : Buffer.allocUnsafe(total);
  let at = 0;
  for (let index = 0; index < records.length; index++) {
    const bytes = records[index];
    const flag = index === records.length - 1 ? LAST_FLAG : 0;
    const end = at + RECORD_HEADER_BYTES + bytes.length;
    group.writeUInt32LE((bytes.length | flag) >>> 0, at + 4);
    group.writeUIntLE(firstSequence + index, at + 8, 6);
    group.writeUInt16LE(index, at + 14);
    group.set(bytes, at + RECORD_HEADER_BYTES);
    group.writeUInt32LE(crc32(group.subarray(at + 4, end)), at);
    at = end;
  }
  return group;
}

/** Returns the length of the record at `at`, header included, as its header gives it; `buffer` must hold the 16 header bytes. */
export function recordBytesAt(buffer: Buffer, at: number): number {
  return RECORD_HEADER_BYTES + (buffer.readUInt32LE(at + 4) & LENGTH_MASK);
}

/** Returns the record at `at`, which `buffer` must hold completely; null if its checksum does not match. */
export function recordAt(buffer: Buffer, at: number): Record | null {
  const end = at + recordBytesAt(buffer, at);
  if (crc32(buffer.subarray(at + 4, end)) !== buffer.readUInt32LE(at)) return null;
  return {
    sequence: buffer.readUIntLE(at + 8, 6),
    index: buffer.readUInt16LE(at + 14),
    last: (buffer.readUInt32LE(at + 4) & LAST_FLAG) !== 0,
    bytes: buffer.subarray(at + RECORD_HEADER_BYTES, end),
  };
}

/** Marks the record at the start of `buffer` as the last one of its group. */
export function endGroupHere(record: Buffer): void {
  record.writeUInt32LE((record.readUInt32LE(4) | LAST_FLAG) >>> 0, 4);
  record.writeUInt32LE(crc32(record.subarray(4)), 0);
}

/**
 * Returns whether `buffer` has an intact record that was written after the group that starts with `groupFirst` was synced. It
 * tries every byte, because a damaged length does not say where the next record begins.
 */
export function holdsLaterGroup(buffer: Buffer, groupFirst: number): boolean {
  const largest = groupFirst + MAX_GROUP_RECORDS + buffer.length / RECORD_HEADER_BYTES;
  for (let at = 0; at + RECORD_HEADER_BYTES <= buffer.length; at++) {
    const sequence = buffer.readUIntLE(at + 8, 6);
    if (sequence > largest || sequence - buffer.readUInt16LE(at + 14) <= groupFirst) continue;
    if (at + recordBytesAt(buffer, at) <= buffer.length && recordAt(buffer, at) !== null) return true;
  }
  return false;
}

/** Returns whether the header of a segment is of a known version, unreadable, or of a newer version. */
export function judgeFileHeader(header: Buffer): 'known' | 'unreadable' | 'newer' {
  if (header.equals(FILE_HEADER)) return 'known';
  const magic =
    header.length === FILE_HEADER.length && header.subarray(0, 6).equals(FILE_HEADER.subarray(0, 6));
  return magic && header.readUInt16LE(6) > FORMAT_VERSION ? 'newer' : 'unreadable';
}
