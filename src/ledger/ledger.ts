import { StoreUnavailableError } from '../errors/store-errors.ts';
import type { Entry, Position } from './entry.ts';

export interface PositionedEntry {
  readonly position: Position;
  readonly entry: Entry;
}

/** Reads entries of a ledger. */
export interface LedgerReader {
  /**
   * Entries after `after`, oldest first, at most `limit`; empty when there are none yet.
   * @throws LedgerTrimmedError when the entry after `after` has been trimmed: load a snapshot first.
   */
  read(after: Position, limit: number): Promise<PositionedEntry[]>;
}

/**
 * The totally ordered log of one catalog. Appends may be repeated by their callers; readers ignore a key that
 * they have applied already. Contract: tests/contracts/ledger.contract.ts.
 */
export interface Ledger extends LedgerReader {
  /**
   * Identifies the contents: it changes when the store was restored from a backup, since positions that were read before
   * may belong to other entries now.
   */
  readonly history: string;
  /**
   * Appends in the given order, all or nothing, and resolves once the entries are durable.
   * @returns the position of the last one.
   * @throws StoreUnavailableError when the store is full or away; nothing was accepted then.
   * @throws OutcomeUnknownError when the store did not answer: it may have been accepted.
   */
  append(entries: readonly Entry[]): Promise<Position>;
  /**
   * Returns a reader that remembers what it read last, and also throws LedgerTrimmedError when the store has lost that entry
   * and another one took its position. `read` of the ledger itself remembers nothing.
   */
  follower(): LedgerReader;
  /** Resolves as soon as there is an entry after `after`, or when `signal` aborts. */
  wait(after: Position, signal: AbortSignal): Promise<void>;
  /** Position of the newest durable entry, 0 when there is none. */
  head(): Promise<Position>;
  /** Entries up to and including `upTo` are not needed any more; implementations may keep some of them. */
  trim(upTo: Position): Promise<void>;
  /** False once the ledger was removed, be it by another process. */
  exists(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Reads the newest entry of a ledger that was just opened, and closes it if that fails. Where a snapshot stands at it, nothing else
 * is read before something is written: what another version of Bandolier wrote has to be refused before that.
 * @throws OtherVersionError
 */
export async function readNewest(ledger: Ledger): Promise<void> {
  try {
    const head = await ledger.head();
    if (head > 0) await ledger.read(head - 1, 1);
  } catch (error) {
    if (error instanceof LedgerTrimmedError) return;
    await ledger.close();
    throw error;
  }
}

/** The ledgers of one deployment, one per catalog. */
export interface Ledgers {
  /** Names of the catalogs that have a ledger, sorted. */
  list(): Promise<string[]>;
  /**
   * Opens the ledger of a catalog, creating an empty one if there is none.
   * @throws StoreUnavailableError also while the one before is being removed
   * @throws LedgerCorruptError when there are snapshots of one that is lost
   */
  open(catalog: string): Promise<Ledger>;
  /** Opens an existing ledger and never creates one. @throws LedgerRemovedError when there is none. */
  openExisting(catalog: string): Promise<Ledger>;
  /**
   * Creates an empty ledger whose first entry will take the position after this one: what comes before is in a
   * snapshot. @throws Error when there is a ledger already.
   */
  begin(catalog: string, after: Position): Promise<void>;
  /**
   * Deletes the ledger that was opened here last, for good; it must not be open. Nothing happens where another process
   * has deleted it, also if there is a later one of this name. Then erases what belongs to it: none of this name is
   * made before that is done.
   */
  remove(catalog: string, erase?: () => Promise<void>): Promise<void>;
  /** Calls `erase` for each removed catalog whose erasure broke off, because the process that did it has died. */
  finishRemovals(erase: (catalog: string) => Promise<void>): Promise<void>;
}

/** Another process is deleting the catalog: in a moment it can be made again. */
export class LedgerErasingError extends StoreUnavailableError {
  readonly suggestedFix = 'Send the request again after the time in Retry-After.';

  constructor(catalog: string) {
    super(`Catalog "${catalog}" is being deleted by another process. Nothing was accepted.`);
  }
}

/** The catalog was deleted: nothing can be appended any more. */
export class LedgerRemovedError extends Error {
  override readonly name = 'LedgerRemovedError';

  constructor(catalog: string) {
    super(`Catalog "${catalog}" was deleted.`);
  }
}

export class LedgerTrimmedError extends Error {
  override readonly name = 'LedgerTrimmedError';
}

/** The log is damaged, or lost while its snapshots are there: the store refuses to open rather than to guess. */
export class LedgerCorruptError extends Error {
  override readonly name = 'LedgerCorruptError';
}
