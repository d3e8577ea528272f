import { listSegments, Segment } from '../storage/segment.ts';
import { readRecords } from '../storage/segment-reader.ts';
import type { Position } from './entry.ts';
import { decodeEntry } from './entry-codec.ts';
import { inWordsOfTheLedger } from './file-ledger-errors.ts';
import type { PositionedEntry } from './ledger.ts';

/**
 * Reads a ledger that another thread of this process appends to, for instance while a snapshot is made. It never
 * looks beyond what that thread has said is durable, so it cannot see an entry that is being written, or one that
 * will be taken back because the disk is full.
 */
export class FileLedgerReader {
  readonly #folder: string;
  #segments: Segment[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Entries after `after` up to and including `upTo`, which is durable; at most `limit`, at least one if any.
   * @throws LedgerTrimmedError, LedgerCorruptError
   */
  read(after: Position, upTo: Position, limit: number): Promise<PositionedEntry[]> {
    return inWordsOfTheLedger(async () => {
      await this.#refresh();
      const records = await readRecords(this.#segments, { after, upTo, limit });
      return records.map(({ sequence, bytes }) => ({ position: sequence, entry: decodeEntry(bytes) }));
    });
  }

  /** Segments come and go; what is known about those that stay is kept. */
  async #refresh(): Promise<void> {
    const known = new Map(this.#segments.map((segment) => [segment.first, segment]));
    const firsts = await listSegments(this.#folder);
    this.#segments = firsts.map((first) => known.get(first) ?? new Segment(this.#folder, first));
  }
}
