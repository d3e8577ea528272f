import { type FileHandle, open, rm } from 'node:fs/promises';
import { syncFolder, writeFully } from './durable-file.ts';
import { FILE_HEADER } from './record-format.ts';
import { Segment } from './segment.ts';
import { recoverSegment } from './segment-recovery.ts';

/** The segment that is being appended to. One write at a time: `SegmentLog` sees to that. */
export class SegmentWriter {
  readonly segment: Segment;
  readonly #handle: FileHandle;
  #length: number;
  /** Bytes beyond `#length` may be on disk: a write failed, and so did the attempt to take it back. */
  #untidy = false;

  private constructor(segment: Segment, handle: FileHandle, length: number) {
    this.segment = segment;
    this.#handle = handle;
    this.#length = length;
  }

  /** Starts a segment. Whatever an earlier attempt left under this name is overwritten. */
  static async create(folder: string, first: number): Promise<SegmentWriter> {
    const segment = new Segment(folder, first);
    const handle = await open(segment.file, 'w');
    try {
      await writeFully(handle, FILE_HEADER, 0);
      await handle.datasync();
      await syncFolder(folder);
    } catch (error) {
      await handle.close();
      await rm(segment.file, { force: true });
      throw error;
    }
    return new SegmentWriter(segment, handle, FILE_HEADER.length);
  }

  /** Opens the newest segment and cuts off what a crash left unfinished: `cut` bytes. */
  static async open(folder: string, first: number) {
    const segment = new Segment(folder, first);
    const handle = await open(segment.file, 'r+');
    try {
      const { size } = await handle.stat();
      const { length, next } = await recoverSegment(handle, segment);
      if (length < size) await handle.truncate(length);
      if (length === 0) await writeFully(handle, FILE_HEADER, 0);
      if (length < size || length === 0) await handle.datasync();
      const writer = new SegmentWriter(segment, handle, Math.max(length, FILE_HEADER.length));
      return { writer, next, cut: size - length };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Bytes that are durable, file header included. */
  get length(): number {
    return this.#length;
  }

  /** Writes and syncs; answers the byte at which it starts. When it throws, nothing was kept. */
  async append(bytes: Uint8Array): Promise<number> {
    if (this.#untidy) await this.#cutBack();
    const offset = this.#length;
    try {
      await writeFully(this.#handle, bytes, offset);
      await this.#handle.datasync();
    } catch (error) {
      this.#untidy = true;
      await this.#cutBack().catch(() => {}); // tried again before the next write
      throw error;
    }
    this.#length += bytes.length;
    return offset;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #cutBack(): Promise<void> {
    await this.#handle.truncate(this.#length);
    await this.#handle.datasync();
    this.#untidy = false;
  }
}
