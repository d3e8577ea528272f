import { StoreUnavailableError } from '../errors/store-errors.ts';

/** A user of a catalog, under the name that stands for them (`Seals.nameOf`): 32 hex digits. */
export interface UserPlace {
  readonly catalog: string;
  readonly user: string;
}

/** What is kept of one user. A store cannot read any of it. */
export interface SealedUser {
  /** Another one after every change, and after an erasure. */
  readonly stamp: string;
  /** The key of the user, wrapped by the service's key. */
  readonly key: Buffer;
  /** Encrypted under the key of the user; null: never written. */
  readonly items: Buffer | null;
  readonly signals: Buffer | null;
}

/** What is written; a part that is absent stays as it is. */
export interface SealedChange {
  readonly key?: Buffer;
  readonly items?: Buffer;
  readonly signals?: Buffer;
  readonly examples?: Buffer;
}

/** What is kept of one user for training, which routes do not read. */
export interface SealedExamples {
  readonly key: Buffer;
  readonly examples: Buffer;
}

/** Some of the users of a catalog. */
export interface UserPage {
  readonly users: readonly string[];
  /** Where the next ones begin; null: these are the last. */
  readonly next: string | null;
}

/** Thrown by a change of a user who is being erased. Nothing was changed. */
export class BeingErasedError extends StoreUnavailableError {
  override readonly name = 'BeingErasedError';
  readonly suggestedFix =
    'Send it again in a moment: an erasure that broke off is completed by the service. If it lasts, erase the user again.';

  constructor() {
    super('What is held about this user is being erased. Nothing was changed.');
  }
}

/**
 * Keeps what users have, sealed, apart from ledgers and snapshots. Keys lie apart from what they encrypt, so that without them
 * nothing can be read. Everything is durable when it resolves. Contract: tests/contracts/context-store.contract.ts.
 */
export interface ContextStore {
  /** Whether the service's key may lie in it as it is, since nobody but the owner of the service reads it. */
  readonly isPrivate: boolean;
  /** How long nothing is kept of a user of whom nothing was found, unless this process writes it, ms: other processes may. */
  readonly absenceMs: number;
  /** The record of the service's key; null: there is none yet. */
  readServiceKey(): Promise<Buffer | null>;
  /** Keeps this record unless there is one. Returns the one that is kept. */
  createServiceKey(record: Buffer): Promise<Buffer>;
  replaceServiceKey(record: Buffer): Promise<void>;
  /** Returns what is kept of a user; 'same' if its stamp is `known`; null: nothing, or an erasure has begun. */
  read(place: UserPlace, known?: string): Promise<SealedUser | 'same' | null>;
  /**
   * Writes what `update` returns (null: nothing); it runs again if another change came between. The first change of a user has a
   * `key`. Of one change the items are written before the signals, and these before the examples. Returns the stamp; null: nothing is kept.
   * @throws BeingErasedError
   */
  change(
    place: UserPlace,
    update: (current: SealedUser | null) => Promise<SealedChange | null>,
  ): Promise<string | null>;
  /** Returns what is kept of a user for training; null: nothing, or an erasure has begun. */
  examples(place: UserPlace): Promise<SealedExamples | null>;
  /** From here on nothing of the user is read or written. Twice is once. */
  beginErasure(place: UserPlace, note: string): Promise<void>;
  /**
   * Destroys the key of the user, then what it encrypted. Does nothing if no erasure has begun.
   * @param keepMark the erasure goes on, since there is more to erase elsewhere
   */
  finishErasure(place: UserPlace, keepMark?: boolean): Promise<void>;
  /** Users whose erasure has begun and not ended: its process died, or the ledger was away. */
  unfinishedErasures(catalog: string): Promise<readonly string[]>;
  /** The note of such an erasure; null: it has ended. */
  erasureNote(place: UserPlace): Promise<string | null>;
  /**
   * Some users of whom something is kept, about `most`. A cursor stays good when users come and go; one may be named twice.
   * @param cursor `next` of the page before; null: from the beginning
   */
  someUsers(catalog: string, cursor: string | null, most: number): Promise<UserPage>;
  /** How far the search for items whose time is over has come, as it was written last. */
  readSweep(catalog: string): Promise<Buffer | null>;
  writeSweep(catalog: string, progress: Buffer): Promise<void>;
  /** Removes what writes left behind that were cut off by the end of their process; nothing of those under way. */
  removeUnfinished(catalog: string): Promise<void>;
  /** Destroys everything of a catalog. Called again it goes on where it broke off. */
  remove(catalog: string): Promise<void>;
}

const USERS_AT_ONCE = 500;

/** All users of a catalog of whom something is kept, each once. */
export async function* allUsers(
  store: Pick<ContextStore, 'someUsers'>,
  catalog: string,
): AsyncIterable<string> {
  const seen = new Set<string>();
  let cursor: string | null = null;
  do {
    const page: UserPage = await store.someUsers(catalog, cursor, USERS_AT_ONCE);
    for (const user of page.users) if (seen.size < seen.add(user).size) yield user;
    cursor = page.next;
  } while (cursor !== null);
}
