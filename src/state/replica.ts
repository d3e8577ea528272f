import { setTimeout as wait } from 'node:timers/promises';
import { OutcomeUnknownError, StoreUnavailableError } from '../errors/store-errors.ts';
import type { Entry, Position } from '../ledger/entry.ts';
import {
  type Ledger,
  LedgerRemovedError,
  LedgerTrimmedError,
  type PositionedEntry,
} from '../ledger/ledger.ts';
import type { CatalogState } from './catalog-state.ts';
import type { FoldResult } from './fold-result.ts';
import { FollowingState } from './following-state.ts';
import { encodeSnapshotInSteps, type StateDigest } from './snapshot-codec.ts';
import { WaitingCommands, WaitingPositions } from './waiting.ts';

/** After so many reloads in a row the replica fails, because no snapshot reaches the ledger. */
const MAX_STARTS = 3;
/** Pause between two attempts while the store is away. */
const RETRY_MS = 200;
/** `caughtUp` waits this long for entries that are durable already. */
const TIMEOUT_MS = 10_000;

export interface ReplicaOptions {
  /** Milliseconds of a steady clock; it only cuts folding into slices, the fold never sees it. */
  readonly now: () => number;
  /** Loads the newest state from a snapshot, when the ledger no longer holds the entry that this replica needs next. */
  readonly reload: () => Promise<CatalogState>;
  readonly onFold?: (folded: PositionedEntry, outcome: FoldResult) => void;
  /** Is called when `fresh` replaces `old`, in the same turn of the event loop; `old` must not be used afterwards. */
  readonly onReload?: (fresh: CatalogState, old: CatalogState) => void;
}

/** Thrown when a replica has stopped following its ledger for good; the message says where and why. Nothing was accepted. */
export class ReplicaFailedError extends Error {
  override readonly name = 'ReplicaFailedError';
  readonly retryAfterSeconds = 10;
  readonly suggestedFix =
    'Nothing was accepted. Restart this process, or send the request to another one; if it fails again, `bandolier doctor` says what can be done.';
}

/**
 * A state that follows its ledger. Everything that ranks reads `state`; only the replica changes it. Its states:
 *
 * - **Opened.** It folds only when `catchUp` is called, until `follow` is. Commands are appended and wait.
 * - **Following.** It reads what is new, folds it a few milliseconds at a time, and waits for more. Commands are
 *   appended, and answered when their entry has been folded here.
 * - **Store away** (from following). The store does not answer. The state stays as it is and can be ranked with; the
 *   replica tries again five times a second, and follows again when the store is back. Commands fail with what the
 *   ledger says.
 * - **Starting over** (from opened or following). The ledger no longer has the entry that comes next, because it was
 *   trimmed, has lost entries or was restored from a backup. The newest snapshot and the entries after it are folded into
 *   a fresh state, while the old one goes on serving; then the fresh one takes its place. Commands that wait are answered
 *   from the fresh state, or fail with OutcomeUnknownError. Then it goes on as before.
 * - **Failed** (from following or starting over). An entry cannot be read or folded, or no snapshot reaches the ledger.
 *   Nothing is folded any more until the process is restarted; `failure` says why. Commands are refused with it, those
 *   that wait fail with OutcomeUnknownError. Between two entries the state goes on serving as it is; in the middle of
 *   one it contradicts itself (`isConsistent`).
 * - **Removed** (from following). Another process deleted the catalog. Everything is refused with LedgerRemovedError.
 * - **Closed** (from any state). Everything is refused with the reason that `close` was given, or with the failure or the
 *   removal before it; commands that wait fail with OutcomeUnknownError. The state may be freed.
 *
 * Failed, removed and closed are final. No call waits for ever: commands and `caughtUp` give up after ten seconds, commands
 * after a minute while something is being folded.
 */
export class Replica {
  readonly #ledger: Ledger;
  readonly #options: ReplicaOptions;
  readonly #commands = new WaitingCommands();
  readonly #positions = new WaitingPositions();
  /** Aborts when the replica fails, is removed or closed; all later calls are refused with its reason. */
  readonly #ended = new AbortController();
  #following: FollowingState;
  #running: Promise<void> | null = null;
  #failure: ReplicaFailedError | null = null;

  constructor(state: CatalogState, ledger: Ledger, options: ReplicaOptions) {
    this.#ledger = ledger;
    this.#options = options;
    this.#following = this.#followingFrom(state, ledger.history);
  }

  /** Do not keep it over an `await`: the replica may have another state afterwards. */
  get state(): CatalogState {
    return this.#following.state;
  }

  /** Why the replica no longer follows its ledger; null while it does. */
  get failure(): ReplicaFailedError | null {
    return this.#failure;
  }

  /** False when it failed in the middle of an entry, so that parts of the state may contradict each other. */
  get isConsistent(): boolean {
    return this.#failure === null || this.#following.isConsistent;
  }

  /** Folds everything that the ledger holds now, and resolves when that is done. */
  async catchUp(): Promise<void> {
    const head = await this.#ledger.head();
    while (this.state.position < head && !this.#ended.signal.aborted) await this.#foldOrStartOver();
  }

  /** Follows the ledger until `close`. `onFailure` is called when the replica fails. */
  follow(onFailure: (error: unknown) => void): void {
    this.#running = this.#loop().catch((error: Error) => {
      if (error instanceof LedgerRemovedError) return this.#end(error);
      this.#failure = new ReplicaFailedError(
        `It stopped following its ledger after entry ${this.state.position}: ${error.message}`,
        { cause: error },
      );
      this.#end(this.#failure);
      onFailure(error);
    });
  }

  /**
   * Appends a command and returns what the fold decided about it.
   * @throws StoreUnavailableError, ReplicaFailedError, or the reason that `close` was given: nothing was accepted
   * @throws OutcomeUnknownError when it may have been
   */
  async submit(entry: Entry): Promise<FoldResult> {
    this.#ended.signal.throwIfAborted();
    return this.#commands.after(entry, () => this.#ledger.append([entry]));
  }

  /** Returns the number of entries that are durable but not folded here yet. */
  async lag(): Promise<number> {
    return (await this.#ledger.head()) - this.state.position;
  }

  /**
   * Resolves when everything that is durable now has been folded here.
   * @throws StoreUnavailableError when that takes too long, ReplicaFailedError, or the reason that `close` was given
   */
  async caughtUp(): Promise<void> {
    const head = await this.#ledger.head();
    await this.reached(head, AbortSignal.timeout(TIMEOUT_MS));
    if (this.state.position >= head) return;
    throw new StoreUnavailableError(`entries up to ${head} have not been folded here in time`);
  }

  /** Resolves when the entry at this position has been folded here, or when `giveUp` aborts. @throws as above */
  async reached(position: Position, giveUp: AbortSignal): Promise<void> {
    this.#ended.signal.throwIfAborted();
    if (this.state.position < position) await this.#positions.wait(position, giveUp);
  }

  /** Calls `read` when no entry is half folded, now or before the next one, and returns its result. @throws as above */
  readConsistent<Seen>(read: (state: CatalogState) => Seen | Promise<Seen>): Promise<Seen> {
    return this.#following.readConsistent(read);
  }

  /** Returns the digest of everything that was folded here; folding waits while it is computed. @throws as above */
  digest(): Promise<StateDigest> {
    return this.#following.digest();
  }

  /** Returns everything that was folded here as a snapshot; folding waits while it is encoded. @throws as above */
  snapshot(): Promise<{ readonly position: Position; readonly bytes: Uint8Array }> {
    return this.#following.readInSteps(function* (state) {
      const { position } = state;
      return { position, bytes: yield* encodeSnapshotInSteps(state) };
    });
  }

  /** @param reason with which everything is refused from then on */
  async close(reason: Error = new StoreUnavailableError('the catalog is closed')): Promise<void> {
    if (!this.#ended.signal.aborted) this.#ended.abort(reason);
    await this.#running;
    this.#end(reason);
    await this.#following.readers();
  }

  async #loop(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        const folded = await this.#foldOrStartOver();
        if (folded === 0) await this.#ledger.wait(this.state.position, signal);
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        await wait(RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  async #foldOrStartOver(): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      try {
        if (attempt > 1) await this.#startOver();
        return await this.#following.foldNext();
      } catch (error) {
        if (!(error instanceof LedgerTrimmedError) || attempt === MAX_STARTS) throw error;
      }
    }
  }

  async #startOver(): Promise<void> {
    const { history } = this.#ledger;
    const fresh = this.#followingFrom(await this.#options.reload(), history);
    try {
      while (!this.#ended.signal.aborted && (await fresh.foldNext()) > 0);
    } catch (error) {
      fresh.state.free();
      throw error;
    }
    const old = this.#following;
    while (old.isBeingRead) await old.readers();
    this.#following = fresh;
    this.#options.onReload?.(fresh.state, old.state);
    old.state.free();
    for (const [key, { outcome, content }] of fresh.state.answers) {
      this.#commands.resolve({ key, content }, outcome);
    }
    this.#commands.rejectAll(new OutcomeUnknownError('The ledger does not reach back to it.'));
    this.#positions.reached(fresh.state.position);
  }

  #followingFrom(state: CatalogState, history: string): FollowingState {
    const { now, onFold } = this.#options;
    return new FollowingState(state, this.#ledger, {
      ...{ now, history, signal: this.#ended.signal },
      onFold: (folded, outcome) => {
        onFold?.(folded, outcome);
        if (this.state !== state) return; // a fresh state, which does not serve yet
        this.#commands.resolve(folded.entry, outcome);
        this.#positions.reached(folded.position);
      },
      onProgress: () => this.#commands.progressed(),
    });
  }

  /** Nothing is folded any more. Commands that wait may be in the ledger already. */
  #end(reason: Error): void {
    if (!this.#ended.signal.aborted) this.#ended.abort(reason);
    const isRemoved = reason instanceof LedgerRemovedError;
    this.#commands.rejectAll(isRemoved ? reason : new OutcomeUnknownError(reason.message, { cause: reason }));
    this.#positions.rejectAll(reason);
    this.#following.rejectReaders(reason);
  }
}
