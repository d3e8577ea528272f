import { rm, stat } from 'node:fs/promises';
import { OutcomeUnknownError } from '../errors/store-errors.ts';
import { createFolder, removeUnfinished, syncFolder } from './durable-file.ts';
import { type Appended, type CommittedGroup, GroupCommit, type WriteOptions } from './group-commit.ts';
import type { HeldLock } from './process-lock.ts';
import { encodeGroup, FILE_HEADER, groupBytes } from './record-format.ts';
import { listSegments, Segment } from './segment.ts';
import { type LogRecord, readRecordAt, readRecords } from './segment-reader.ts';
import { SegmentWriter } from './segment-writer.ts';
import {
  StorageCorruptError,
  StorageIncompleteError,
  StorageTrimmedError,
  unavailable,
} from './storage-errors.ts';

export interface SegmentLogOptions {
  /** A new segment starts when this one would grow beyond this size, bytes; default 64 MB, at most 2 GB. */
  readonly segmentBytes?: number;
  /** A new log numbers its records from the one after this; default 0. */
  readonly startAfter?: number;
  /** The log is known to have reached this record at least, from a snapshot of it; default 0. */
  readonly knownUpTo?: number;
  /** The lock of the data folder: nothing is acknowledged once it is lost. */
  readonly lock?: Pick<HeldLock, 'verify' | 'lost' | 'predecessor'>;
  /** Is called when something was cut off while the log was opened. */
  readonly onTornTail?: (tail: TornTail) => void;
}

/** Bytes that a crash had left unfinished, and that were cut off when the log was opened. */
export interface TornTail {
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
}

const MEGABYTE = 1024 * 1024;
const SCRATCH_BYTES = 64 * 1024;

/**
 * An append-only log of byte strings, numbered 1, 2, 3, …, in a folder of segment files. Batches that are appended while
 * the disk is busy are written and synced together. There is one writer per folder.
 */
export class SegmentLog {
  readonly folder: string;
  readonly #segmentBytes: number;
  readonly #lock: SegmentLogOptions['lock'];
  /** Groups are encoded here, one at a time. */
  readonly #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  readonly #segments: Segment[];
  readonly #commits: GroupCommit;
  #writer: SegmentWriter;
  #next: number;
  /** Bytes of all segments but the newest. */
  #sealedBytes: number;

  private constructor(folder: string, opened: OpenedLog, options: SegmentLogOptions) {
    this.folder = folder;
    this.#segmentBytes = options.segmentBytes ?? 64 * MEGABYTE;
    this.#lock = options.lock;
    this.#writer = opened.writer;
    this.#segments = opened.segments;
    this.#next = opened.next;
    this.#sealedBytes = opened.sealedBytes;
    this.#commits = new GroupCommit((records, startSegment) => this.#commit(records, startSegment));
  }

  /** Opens a log, or creates one. @throws StorageCorruptError, StorageIncompleteError, StoreUnavailableError */
  static async open(folder: string, options: SegmentLogOptions = {}): Promise<SegmentLog> {
    try {
      return new SegmentLog(folder, await openFolder(folder, options), options);
    } catch (error) {
      const { knownUpTo = 0 } = options;
      if (error instanceof StorageCorruptError && error.intactUpTo < knownUpTo) {
        throw new StorageIncompleteError(error.file, error.intactUpTo, knownUpTo, { cause: error });
      }
      throw unavailable(error, `The log in "${folder}" cannot be opened`);
    }
  }

  /** Sequence number of the oldest record that is kept; `last + 1` when there is none. */
  get first(): number {
    return this.#segments[0].first;
  }

  /** Sequence number of the newest durable record, 0 when there is none. */
  get last(): number {
    return this.#next - 1;
  }

  /** First sequence numbers of the segments, oldest first. */
  get segments(): readonly number[] {
    return this.#segments.map((segment) => segment.first);
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#sealedBytes + this.#writer.length;
  }

  /**
   * Appends a batch, all or nothing, and resolves once it is durable.
   * @throws StoreUnavailableError when it was not kept; OutcomeUnknownError when it may have been
   */
  append(records: readonly Uint8Array[], options: WriteOptions = {}): Promise<Appended> {
    return this.#commits.add(records, options);
  }

  /** Returns durable records after `after`: at least one if there is any, at most `limit`. */
  read(after: number, limit: number): Promise<LogRecord[]> {
    return readRecords(this.#segments, { after, upTo: this.last, limit });
  }

  /** Returns the durable record that starts at this byte of this segment. */
  async readAt(segment: number, offset: number): Promise<Uint8Array> {
    const found = this.#segments.find(({ first }) => first === segment);
    if (found === undefined) throw new StorageTrimmedError(`Segment ${segment} is not kept any more.`);
    return readRecordAt(found, offset);
  }

  /** Deletes whole segments, oldest first, that hold only records up to `upTo`. The newest segment always stays. */
  async drop(upTo: number): Promise<void> {
    let dropped = false;
    while (this.#segments.length > 1 && this.#segments[1].first - 1 <= upTo) {
      const oldest = this.#segments[0];
      const { size } = await stat(oldest.file);
      if (this.#segments[0] !== oldest) continue; // another call was faster
      this.#segments.shift();
      this.#sealedBytes -= size;
      await rm(oldest.file, { force: true });
      dropped = true;
    }
    if (dropped) await syncFolder(this.folder);
  }

  /** Waits for the current writes and closes the file. Appending afterwards is refused. */
  async close(): Promise<void> {
    await this.#commits.close();
    await this.#writer.close();
  }

  /**
   * Verifies the lock between the write and its acknowledgement, so that every later holder of the lock finds the group. A process
   * that knows that it lost the lock writes nothing.
   */
  async #commit(records: readonly Uint8Array[], startSegment: boolean): Promise<CommittedGroup> {
    try {
      this.#lock?.lost.throwIfAborted();
      const filled = this.#writer.length + groupBytes(records) > this.#segmentBytes;
      if ((startSegment || filled) && this.#writer.length > FILE_HEADER.length) await this.#startSegment();
      const first = this.#next;
      const { segment, length } = this.#writer;
      if (records.length > 0) {
        await this.#writer.append(encodeGroup(records, first, this.#scratch));
        this.#stillHolds();
        segment.mark(first, length);
        this.#next += records.length;
      }
      return { first, segment: segment.first, offset: length };
    } catch (error) {
      throw unavailable(error, `Nothing can be written to "${this.folder}"`);
    }
  }

  /** @throws OutcomeUnknownError when another process has the lock: it may have read what was written last */
  #stillHolds(): void {
    try {
      this.#lock?.verify();
    } catch (error) {
      throw new OutcomeUnknownError((error as Error).message, { cause: error });
    }
  }

  async #startSegment(): Promise<void> {
    const sealed = this.#writer;
    const next = await SegmentWriter.create(this.folder, this.#next);
    try {
      this.#lock?.verify();
    } catch (error) {
      await next.discard(); // in the log of the new holder it would be a segment too many
      throw error;
    }
    this.#writer = next;
    this.#segments.push(next.segment);
    this.#sealedBytes += sealed.length;
    await sealed.close();
  }
}

interface OpenedLog {
  readonly writer: SegmentWriter;
  readonly segments: Segment[];
  readonly next: number;
  readonly sealedBytes: number;
}

async function openFolder(
  folder: string,
  { startAfter = 0, knownUpTo = 0, lock, onTornTail }: SegmentLogOptions,
): Promise<OpenedLog> {
  await createFolder(folder);
  await removeUnfinished(folder);
  const firsts = await listSegments(folder);
  const newest = firsts.at(-1);
  if (newest === undefined) {
    const next = startAfter + 1;
    const { file } = new Segment(folder, next);
    if (startAfter < knownUpTo) throw new StorageIncompleteError(file, startAfter, knownUpTo);
    const writer = await SegmentWriter.create(folder, next);
    return { writer, segments: [writer.segment], next, sealedBytes: 0 };
  }
  const opened = await SegmentWriter.open(folder, newest, knownUpTo);
  const { segment, length } = opened.writer;
  if (opened.cut > 0) onTornTail?.({ file: segment.file, offset: length, bytes: opened.cut });
  let { writer } = opened;
  if (lock?.predecessor === 'silent') {
    await writer.close();
    writer = await SegmentWriter.replace(folder, opened.next);
  }
  const sealed = firsts
    .filter((first) => first < writer.segment.first)
    .map((first) => new Segment(folder, first));
  const sizes = await Promise.all(sealed.map(async ({ file }) => (await stat(file)).size));
  return {
    writer,
    segments: [...sealed, writer.segment],
    next: opened.next,
    sealedBytes: sizes.reduce((sum, size) => sum + size, 0),
  };
}
