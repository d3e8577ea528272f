import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Ledger,
  type LedgerReader,
  LedgerTrimmedError,
  type PositionedEntry,
} from '../ledger/ledger.ts';
import { inSlices, type Steps } from '../scheduling/slices.ts';
import type { CatalogState } from './catalog-state.ts';
import { foldInSteps } from './fold.ts';
import type { FoldResult } from './fold-result.ts';
import { digestInSteps, type StateDigest } from './snapshot-codec.ts';

/** Between two entries folding pauses for the event loop after this many milliseconds. */
const FOLD_SLICE_MS = 3;
/** Within an entry folding pauses after this many milliseconds; rankings meanwhile see a part of the entry. */
const ENTRY_SLICE_MS = 4;
const READ_BATCH = 256;

export interface FollowingOptions {
  /** Milliseconds of a steady clock; it only cuts folding into slices, the fold never sees it. */
  readonly now: () => number;
  /** When this aborts, folding stops before the next entry, and `readConsistent` rejects. */
  readonly signal: AbortSignal;
  /** `Ledger.history` of the entries that the state was made from. */
  readonly history: string;
  readonly onFold: (folded: PositionedEntry, outcome: FoldResult) => void;
  /** Called again and again while something is being folded or digested. */
  readonly onProgress: () => void;
}

/**
 * A state and its position in a ledger. `foldNext` folds what follows there, a few milliseconds at a time. In between the
 * state can be ranked with as it is; `readConsistent` and `readInSteps` see it where no entry is half folded, and folding
 * waits until they have read everything. If an entry fails, the state stays as it is at that moment, and must not be folded again.
 */
export class FollowingState {
  readonly state: CatalogState;
  readonly #ledger: Ledger;
  /** A reader for this state alone. */
  readonly #reader: LedgerReader;
  readonly #options: FollowingOptions;
  /** Calls of `readConsistent` that wait for the end of the entry that is being folded; null while none is. */
  #readers: ((error: Error | null) => void)[] | null = null;
  #digest: Promise<StateDigest> | null = null;
  /** Until what `readInSteps` was given has read everything; null while nothing is read. */
  #reading: Promise<unknown> | null = null;
  /** The entries that were read last, while they are being folded. */
  #batch: Promise<unknown> = Promise.resolve();

  constructor(state: CatalogState, ledger: Ledger, options: FollowingOptions) {
    this.state = state;
    this.#ledger = ledger;
    this.#reader = ledger.follower();
    this.#options = options;
  }

  /** False in the middle of an entry, when parts of the state may contradict each other. */
  get isConsistent(): boolean {
    return this.#readers === null;
  }

  get isBeingRead(): boolean {
    return this.#reading !== null || this.#digest !== null;
  }

  /**
   * Reads what is new and folds it, and returns how many entries were read.
   * @throws LedgerTrimmedError when the ledger does not reach back to this state, and whatever reading and folding throw
   */
  async foldNext(): Promise<number> {
    if (this.#ledger.history !== this.#options.history) {
      throw new LedgerTrimmedError(
        'The ledger was restored from a backup; the state has to be loaded from its newest snapshot.',
      );
    }
    const entries = await this.#reader.read(this.state.position, READ_BATCH);
    // What was asked for before this line is read before these entries are folded, the rest after them.
    const batch = this.readers().then(() => this.#fold(entries));
    this.#batch = batch;
    return batch;
  }

  /**
   * Calls `read` when no entry is half folded, and returns its result: at once, or before the next entry is begun.
   * @throws the reason of `signal`, or what `rejectReaders` is given
   */
  readConsistent<Seen>(read: (state: CatalogState) => Seen | Promise<Seen>): Promise<Seen> {
    return new Promise((resolve, reject) => {
      this.#options.signal.throwIfAborted();
      const see = (error: Error | null): void => {
        try {
          if (error !== null) throw error;
          resolve(read(this.state));
        } catch (thrown) {
          reject(thrown);
        }
      };
      if (this.#readers === null) see(null);
      else this.#readers.push(see);
    });
  }

  /**
   * Reads all that was folded, in slices while folding waits. Since it begins after the batch that is being folded, calls in
   * a row do not stop folding. @throws as `readConsistent`
   */
  readInSteps<Seen>(read: (state: CatalogState) => Steps<Seen>): Promise<Seen> {
    const seen = this.#batch
      .catch(() => {})
      .then(() => this.readConsistent((state) => inSlices(this.#progressing(read(state)))));
    const ended = Promise.allSettled([this.#reading, seen]).then(() => {
      if (this.#reading === ended) this.#reading = null;
    });
    this.#reading = ended;
    return seen;
  }

  /** Returns the digest of all that was folded. Calls at the same time share one digest. @throws as `readConsistent` */
  digest(): Promise<StateDigest> {
    this.#digest ??= this.readInSteps(digestInSteps).finally(() => {
      this.#digest = null;
    });
    return this.#digest;
  }

  /** Resolves when all that is being read in steps has been read. */
  async readers(): Promise<void> {
    await Promise.allSettled([this.#reading, this.#digest]);
  }

  /** Rejects the calls that wait for the end of an entry. */
  rejectReaders(error: Error): void {
    for (const see of this.#readers?.splice(0) ?? []) see(error);
  }

  async #fold(entries: readonly PositionedEntry[]): Promise<number> {
    const { now, signal, onFold, onProgress } = this.#options;
    let sliceStart = now();
    const giveTurn = async (): Promise<void> => {
      onProgress();
      await nextTurn();
      sliceStart = now();
    };
    for (const positioned of entries) {
      const steps = foldInSteps(this.state, positioned);
      this.#readers = [];
      let step = steps.next();
      while (!step.done) {
        if (now() - sliceStart >= ENTRY_SLICE_MS) await giveTurn();
        step = steps.next();
      }
      const readers = this.#readers;
      this.#readers = null;
      for (const see of readers) see(null);
      onFold(positioned, step.value);
      if (now() - sliceStart < FOLD_SLICE_MS) continue;
      await giveTurn();
      if (signal.aborted) break;
    }
    return entries.length;
  }

  *#progressing<Result>(steps: Steps<Result>): Steps<Result> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      this.#options.onProgress();
      yield;
    }
  }
}
