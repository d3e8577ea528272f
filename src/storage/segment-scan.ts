import type { FileHandle } from 'node:fs/promises';
import { readFully } from './durable-file.ts';
import { RECORD_HEADER_BYTES, type Record, recordAt, recordBytesAt } from './record-format.ts';

const WINDOW_BYTES = 1024 * 1024;

export interface ScannedRecord extends Record {
  /** Byte in the file at which the record starts. */
  readonly offset: number;
}

/**
 * Walks over the records of a file, a window at a time:
 *
 *   while (await scan.fill()) for (let record = scan.next(); record; record = scan.next()) …
 *
 * It stops at the first record that is cut off or does not match its checksum; `offset < end` then.
 */
export class SegmentScan {
  /** Where the next record starts. */
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

  /** Loads the bytes of at least one more record; false at the end, or where the records stop making sense. */
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

  /** The next record of the window, or null when it has no whole one left. `bytes` stays valid. */
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
