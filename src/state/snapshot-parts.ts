import { crc32 } from 'node:zlib';
import { type NumberArray, packDocument, unpackDocument } from '../storage/packed-document.ts';

/**
 * A snapshot is a sequence of parts, so that no string and no step is longer than a part. Little-endian:
 *
 *   "BSNP" | version u32 | per part: bytes u32 | CRC-32 of them u32 | a packed document
 *
 * The last part is named `end`: without it the snapshot was cut short.
 */
const MAGIC = 'BSNP';
const VERSION = 17;
const HEAD_BYTES = 8;
const PART_HEAD_BYTES = 8;
const DOCUMENT_TAG = 3;
const END = 'end';
/** The largest ones, of which what is read is copied to where it is used. */
const READ_IN_PLACE: readonly unknown[] = ['numbers', 'tools'];
const NOTHING = new Uint8Array(0);

export interface SnapshotPart {
  readonly part: string;
  /** Plain JSON. */
  readonly json: unknown;
  readonly arrays: readonly NumberArray[];
}

export class SnapshotUnreadableError extends Error {
  override readonly name = 'SnapshotUnreadableError';
}

export function part(name: string, json: unknown, arrays: readonly NumberArray[] = []): SnapshotPart {
  return { part: name, json, arrays };
}

/** Divides a long list into several parts. */
export function* inBlocks<T>(all: Iterable<T>, size: number): Generator<T[]> {
  let block: T[] = [];
  for (const one of all) {
    block.push(one);
    if (block.length < size) continue;
    yield block;
    block = [];
  }
  if (block.length > 0) yield block;
}

/** Yields the bytes of a snapshot, part by part. Between them it may yield none: a pause in the making of a part. */
export function* writeParts(parts: Iterable<SnapshotPart | null>): Generator<Uint8Array> {
  const head = Buffer.alloc(HEAD_BYTES);
  head.write(MAGIC);
  head.writeUInt32LE(VERSION, 4);
  yield head;
  for (const one of parts) {
    if (one === null) yield NOTHING;
    else yield* writePart(one);
  }
  yield* writePart(part(END, null));
}

function* writePart({ part, json, arrays }: SnapshotPart): Generator<Uint8Array> {
  const document = packDocument(DOCUMENT_TAG, [part, json], arrays);
  const head = Buffer.alloc(PART_HEAD_BYTES);
  head.writeUInt32LE(document.length);
  head.writeUInt32LE(crc32(document), 4);
  yield head;
  yield document;
}

/**
 * Yields the parts. Numbers of learners and vectors of tools are views of `bytes`, the arrays of other parts their own.
 * @throws SnapshotUnreadableError where it is damaged, cut short, or of another version.
 */
export function* readParts(bytes: Uint8Array): Generator<SnapshotPart> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  checkHead(buffer);
  let at = HEAD_BYTES;
  for (;;) {
    const { start, end } = checkPart(buffer, at);
    const { json, arrays } = unpackDocument(DOCUMENT_TAG, buffer.subarray(start, end), isReadInPlace);
    const [part, content] = json as [string, unknown];
    at = end;
    if (part === END) break;
    yield { part, json: content, arrays };
  }
  if (at !== buffer.length) throw damaged();
}

function isReadInPlace(json: unknown): boolean {
  const [part] = json as [string, unknown];
  return READ_IN_PLACE.includes(part);
}

function checkHead(bytes: Buffer): void {
  if (bytes.length < HEAD_BYTES || bytes.toString('latin1', 0, 4) !== MAGIC) {
    throw new SnapshotUnreadableError('This is no snapshot, or only the beginning of one.');
  }
  if (bytes.readUInt32LE(4) !== VERSION) {
    throw new SnapshotUnreadableError(
      `This snapshot has version ${bytes.readUInt32LE(4)}; version ${VERSION} can be read here.`,
    );
  }
}

function checkPart(bytes: Buffer, at: number): { start: number; end: number } {
  const start = at + PART_HEAD_BYTES;
  if (start > bytes.length) throw damaged();
  const end = start + bytes.readUInt32LE(at);
  if (end > bytes.length) throw damaged();
  if (crc32(bytes.subarray(start, end)) !== bytes.readUInt32LE(at + 4)) throw damaged();
  return { start, end };
}

function damaged(): SnapshotUnreadableError {
  return new SnapshotUnreadableError(
    'This snapshot is damaged: a part is cut short, or its checksum does not match.',
  );
}
