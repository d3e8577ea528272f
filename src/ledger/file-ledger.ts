import { StoreUnavailableError } from '../errors/store-errors.ts';
import { RecentRecords } from '../storage/recent-records.ts';
import { SegmentLog, type SegmentLogOptions } from '../storage/segment-log.ts';
import {
  StorageCorruptError,
  StorageIncompleteError,
  StorageTrimmedError,
} from '../storage/storage-errors.ts';
import { AppendedEntries } from './appended-entries.ts';
import type { Entry, Position } from './entry.ts';
import { decodeEntries, encodeEntries } from './entry-codec.ts';
import {
  type Ledger,
  LedgerCorruptError,
  type LedgerReader,
  LedgerTrimmedError,
  type PositionedEntry,
} from './ledger.ts';

/** Recent entries that are kept in memory, for those who follow the ledger. */
const RECENT_BYTES = 4 * 1024 * 1024;

/** A ledger in a folder of this machine. One process appends to it. */
export class FileLedger implements Ledger {
  /** Nothing is restored into a folder that is in use. */
  readonly history = '';
  readonly #log: SegmentLog;
  readonly #appended = new AppendedEntries();
  /** The others: a follower folds exactly what a replay will fold, whatever JSON does to a value. */
  readonly #recent = new RecentRecords(RECENT_BYTES);
  readonly #waiters = new Set<() => void>();
  readonly #onClose: () => void;
  #closed = false;

  private constructor(log: SegmentLog, onClose: () => void) {
    this.#log = log;
    this.#onClose = onClose;
  }

  /** @throws LedgerCorruptError, StoreUnavailableError */
  static async open(
    folder: string,
    options: SegmentLogOptions = {},
    onClose = () => {},
  ): Promise<FileLedger> {
    const log = await asLedgerErrors(() => SegmentLog.open(folder, options));
    return new FileLedger(log, onClose);
  }

  append(entries: readonly Entry[]): Promise<Position> {
    return asLedgerErrors(async () => {
      const records = await encodeEntries(entries);
      const { last } = await this.#log.append(records);
      for (let i = 0; i < records.length; i++) {
        const position = last - records.length + 1 + i;
        this.#recent.push(position, records[i]);
        this.#appended.push(position, entries[i], records[i].length);
      }
      this.#wake();
      return last;
    });
  }

  read(after: Position, limit: number): Promise<PositionedEntry[]> {
    return asLedgerErrors(async () => {
      if (this.#closed) throw new StoreUnavailableError('The ledger is closed.');
      const appended = this.#appended.after(after, limit);
      if (appended !== null) return appended;
      const recent = this.#recent.after(after, limit);
      const records = recent ?? (await this.#log.read(after, limit)).map(({ bytes }) => bytes);
      const decoded = await decodeEntries(records);
      return decoded.map((entry, i) => ({ position: after + 1 + i, entry }));
    });
  }

  /** Returns the ledger itself: what is durable on a disk stays there. */
  follower(): LedgerReader {
    return this;
  }

  wait(after: Position, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        if (!this.#closed && !signal.aborted && this.#log.last <= after) return;
        this.#waiters.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiters.add(done);
      signal.addEventListener('abort', done);
      done();
    });
  }

  async head(): Promise<Position> {
    return this.#log.last;
  }

  /** Drops whole segments, and keeps the newest. */
  trim(upTo: Position): Promise<void> {
    return asLedgerErrors(() => this.#log.drop(upTo));
  }

  /** Only this process can remove it, and not while it is open. */
  async exists(): Promise<boolean> {
    return !this.#closed;
  }

  /** Waits for appends that are under way, and resolves every `wait`. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#log.close();
    this.#onClose();
    this.#wake();
  }

  #wake(): void {
    for (const done of this.#waiters) done();
  }
}

/** Runs something on the store and turns the errors of files into those of the port, with the first as `cause`. */
export async function asLedgerErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageTrimmedError) throw new LedgerTrimmedError(error.message, { cause: error });
    if (error instanceof StorageCorruptError) throw new LedgerCorruptError(error.message, { cause: error });
    if (error instanceof StorageIncompleteError) {
      const what =
        `${error.message} when the newest snapshot was made of them. Restore the ledger from a backup, or go on from ` +
        `the newest intact snapshot with: bandolier repair "${error.folder}" --from-snapshot`;
      throw new LedgerCorruptError(what, { cause: error });
    }
    throw error;
  }
}
