import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FILE_HEADER } from './record-format.ts';

const MARK_EVERY_BYTES = 256 * 1024;
const NAME = /^(\d{16})\.log$/;

/** A position in a segment: the record with this sequence number starts at this byte. */
export interface Mark {
  readonly sequence: number;
  readonly offset: number;
}

/** One file of a log. Its name is the sequence number of its first record. It keeps a few positions of records, for seeking. */
export class Segment {
  readonly folder: string;
  readonly first: number;
  readonly handle: SharedHandle;
  readonly #marks: Mark[];
  #lastRead: Mark;

  constructor(folder: string, first: number) {
    this.folder = folder;
    this.first = first;
    this.handle = new SharedHandle(this.file);
    this.#lastRead = { sequence: first, offset: FILE_HEADER.length };
    this.#marks = [this.#lastRead];
  }

  get file(): string {
    return join(this.folder, `${String(this.first).padStart(16, '0')}.log`);
  }

  /** Keeps the position of a record, one every 256 KB. */
  mark(sequence: number, offset: number): void {
    if (offset - this.#marks[this.#marks.length - 1].offset >= MARK_EVERY_BYTES) {
      this.#marks.push({ sequence, offset });
    }
  }

  /** Keeps the position at which a reader stopped, because the next one probably starts there. */
  readTo(sequence: number, offset: number): void {
    this.#lastRead = { sequence, offset };
  }

  /** Returns the nearest known position at or before this sequence number. */
  nearest(sequence: number): Mark {
    if (this.#lastRead.sequence === sequence) return this.#lastRead;
    let low = 0;
    let high = this.#marks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#marks[middle].sequence <= sequence) low = middle;
      else high = middle - 1;
    }
    return this.#marks[low];
  }
}

/** First sequence numbers of the segments in a folder, ascending; empty when there is no folder. */
export async function listSegments(folder: string): Promise<number[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names
    .map((name) => NAME.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
}

/** Opens a file while it is being read, once for all readers at the same time. */
export class SharedHandle {
  readonly #file: string;
  #handle: Promise<FileHandle> | null = null;
  #readers = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** Calls `read` with the open file. @throws what opening the file throws, and what `read` throws. */
  async use<Result>(read: (handle: FileHandle) => Promise<Result>): Promise<Result> {
    this.#handle ??= open(this.#file, 'r');
    const opening = this.#handle;
    this.#readers++;
    try {
      return await read(await opening);
    } finally {
      this.#readers--;
      if (this.#readers === 0) {
        this.#handle = null;
        await opening.then(
          (handle) => handle.close(),
          () => {},
        );
      }
    }
  }
}
