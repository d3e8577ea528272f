import { SegmentLog, type SegmentLogOptions } from '../storage/segment-log.ts';
import { JobBook } from './job-book.ts';
import type { JobEvent } from './job-event.ts';

/** A journal below this size is not rewritten. */
const SMALL_BYTES = 8 * 1024 * 1024;
/** A journal that has grown to so many times what its last checkpoint left is rewritten. */
const GROWTH = 3;
const BATCH = 10_000;

interface Waiting {
  readonly event: JobEvent;
  readonly bytes: Buffer;
  /** Absent for a note: no caller waits for it, but it must be written as well. */
  readonly writer?: { resolve(): void; reject(error: unknown): void };
}

/**
 * Keeps a book of jobs on disk: a write-ahead log of events, which is replayed when it is opened and replaced by a
 * checkpoint when it has grown to three times its size. One batch is written at a time, so events stay in order.
 */
export class JobJournal {
  readonly book: JobBook;
  readonly #log: SegmentLog;
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | null = null;
  #checkpointAt = SMALL_BYTES;

  private constructor(log: SegmentLog, book: JobBook) {
    this.#log = log;
    this.book = book;
  }

  /** @throws StorageCorruptError, StoreUnavailableError */
  static async open(folder: string, options: SegmentLogOptions): Promise<JobJournal> {
    const log = await SegmentLog.open(folder, options);
    const replayed = new JobBook();
    for (let after = log.first - 1; after < log.last; ) {
      for (const { sequence, bytes } of await log.read(after, BATCH)) {
        replayed.apply(JSON.parse(Buffer.from(bytes).toString()));
        after = sequence;
      }
    }
    return new JobJournal(log, replayed.copy());
  }

  /** Makes an event durable, then applies it. @throws StoreUnavailableError when it did not happen. */
  write(event: JobEvent): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#add({ event, bytes: encode(event), writer: { resolve, reject } });
    });
  }

  /** Applies an event now, and writes it as soon as the disk takes it. */
  note(event: JobEvent): void {
    this.book.apply(event);
    this.#add({ event, bytes: encode(event) });
  }

  /** Writes what was noted, if the disk takes it, and closes the file. */
  async close(): Promise<void> {
    await this.#flushing;
    if (this.#waiting.length > 0) await this.#flush();
    await this.#log.close();
  }

  #add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#flushing ??= this.#flush();
  }

  async #flush(): Promise<void> {
    // Notes that could not be written are kept, and written together with the next event that a caller waits for.
    for (let failed = false; failed ? this.#hasWriter() : this.#waiting.length > 0; ) {
      if (this.#log.bytes > this.#checkpointAt) await this.#checkpoint();
      const batch = this.#waiting.splice(0, BATCH);
      try {
        await this.#log.append(batch.map(({ bytes }) => bytes));
        failed = false;
        for (const { event, writer } of batch) {
          if (writer === undefined) continue;
          this.book.apply(event);
          writer.resolve();
        }
      } catch (error) {
        failed = true;
        this.#waiting.unshift(...batch.filter(({ writer }) => writer === undefined));
        for (const { writer } of batch) writer?.reject(error);
      }
    }
    this.#flushing = null;
  }

  #hasWriter(): boolean {
    return this.#waiting.some(({ writer }) => writer !== undefined);
  }

  /** Writes the whole book to a new segment and deletes the others. If that fails, the journal only stays larger. */
  async #checkpoint(): Promise<void> {
    try {
      const records = [...this.book.checkpoint()].map(encode);
      const { last } = await this.#log.append(records, { startSegment: true });
      await this.#log.drop(last - records.length);
      this.#checkpointAt = Math.max(SMALL_BYTES, GROWTH * this.#log.bytes);
    } catch {
      this.#checkpointAt = this.#log.bytes + SMALL_BYTES;
    }
  }
}

function encode(event: JobEvent): Buffer {
  return Buffer.from(JSON.stringify(event));
}
