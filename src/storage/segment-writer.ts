import { constants, type FileHandle, open, rm } from 'node:fs/promises';
import { OutcomeUnknownError } from '../errors/store-errors.ts';
import { createFileWhole, syncFolder, writeFileDurably, writeFully } from './durable-file.ts';
import { FILE_HEADER } from './record-format.ts';
import { Segment } from './segment.ts';
import { recoverSegment } from './segment-recovery.ts';
import { StorageIncompleteError } from './storage-errors.ts';

/**
 * Where the kernel makes each write durable by itself (O_DSYNC), one call does what a write and an fdatasync do. On a Mac it does
 * not reach the disk that way, and Windows does not know it.
 */
const SYNCED = process.platform === 'linux' ? constants.O_DSYNC : 0;
const FLAGS = constants.O_RDWR | SYNCED;

/** Appends to the newest segment. Its caller, `SegmentLog`, writes one group at a time. */
export class SegmentWriter {
  readonly segment: Segment;
  readonly #handle: FileHandle;
  #length: number;
  /** Whether bytes beyond `#length` may be on disk, because a write failed and they could not be cut off. */
  #untidy = false;

  private constructor(segment: Segment, handle: FileHandle, length: number) {
    this.segment = segment;
    this.#handle = handle;
    this.#length = length;
  }

  /**
   * Creates a segment together with its header, so that a file without a header is damaged.
   * @throws Error when there is one already: another process must have created it.
   */
  static async create(folder: string, first: number): Promise<SegmentWriter> {
    const segment = new Segment(folder, first);
    if (!(await createFileWhole(segment.file, FILE_HEADER))) {
      throw new Error(`"${segment.file}" exists already.`);
    }
    return SegmentWriter.#begin(segment);
  }

  /** Creates a segment in place of an empty one that a paused process may still have open. */
  static async replace(folder: string, first: number): Promise<SegmentWriter> {
    const segment = new Segment(folder, first);
    await writeFileDurably(segment.file, FILE_HEADER);
    return SegmentWriter.#begin(segment);
  }

  /**
   * Opens the newest segment and cuts off its torn tail of `cut` bytes.
   * @throws StorageIncompleteError, before anything is cut, when it does not reach to record `knownUpTo`.
   */
  static async open(folder: string, first: number, knownUpTo: number) {
    const segment = new Segment(folder, first);
    const handle = await open(segment.file, FLAGS);
    try {
      const { size } = await handle.stat();
      const { length, next } = await recoverSegment(handle, segment);
      if (next <= knownUpTo) throw new StorageIncompleteError(segment.file, next - 1, knownUpTo);
      if (length < size) await handle.truncate(length);
      // What was recovered may never have been synced, and is read from now on as if it had been.
      await handle.datasync();
      return { writer: new SegmentWriter(segment, handle, length), next, cut: size - length };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  static async #begin(segment: Segment): Promise<SegmentWriter> {
    try {
      await syncFolder(segment.folder);
      return new SegmentWriter(segment, await open(segment.file, FLAGS), FILE_HEADER.length);
    } catch (error) {
      await rm(segment.file, { force: true });
      throw error;
    }
  }

  /** Bytes that are durable, file header included. */
  get length(): number {
    return this.#length;
  }

  /**
   * Writes and syncs a group. Returns the byte at which it starts. If it throws, nothing was kept.
   * @throws OutcomeUnknownError when it could not be cut off: a crash before the next write would keep it
   */
  async append(bytes: Uint8Array): Promise<number> {
    if (this.#untidy) await this.#cutBack();
    const offset = this.#length;
    try {
      await writeFully(this.#handle, bytes, offset);
      if (SYNCED === 0) await this.#handle.datasync();
    } catch (error) {
      this.#untidy = true;
      await this.#cutBack().catch((reason: Error) => {
        // It is tried again before the next write.
        throw new OutcomeUnknownError(`The disk fails: ${reason.message}.`, { cause: error });
      });
      throw error;
    }
    this.#length += bytes.length;
    return offset;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  /** Deletes a segment to which nothing was written. */
  async discard(): Promise<void> {
    await this.close();
    await rm(this.segment.file, { force: true });
  }

  async #cutBack(): Promise<void> {
    await this.#handle.truncate(this.#length);
    await this.#handle.datasync();
    this.#untidy = false;
  }
}
