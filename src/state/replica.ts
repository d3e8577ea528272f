import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import type { Entry, Position } from '../ledger/entry.ts';
import {
  type Ledger,
  type LedgerReader,
  LedgerRemovedError,
  LedgerTrimmedError,
  type PositionedEntry,
} from '../ledger/ledger.ts';
import { inSlices, type Steps } from '../slices.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../store-errors.ts';
import type { CatalogState } from './catalog-state.ts';
import { foldInSteps } from './fold.ts';
import type { FoldOutcome } from './outcome.ts';
import { digestInSteps, type StateDigest } from './state-digest.ts';
import { WaitingOutcomes } from './waiting-outcomes.ts';

/** Folding gives the event loop back after this many milliseconds. */
const FOLD_SLICE_MS = 3;
/** An entry that teaches much is cut there, too: what is ranked in between knows part of it. */
const ENTRY_SLICE_MS = 4;
const READ_BATCH = 256;
/** After so many reloads in a row no snapshot reaches the ledger, and none will. */
const MAX_STARTS = 3;
/** While the store is away. */
const RETRY_MS = 200;
/** So long somebody waits for entries that are durable already. */
const TIMEOUT_MS = 10_000;

export interface ReplicaOptions {
  /** Milliseconds of a steady clock; it only cuts folding into slices, the fold never sees it. */
  readonly now: () => number;
  /** The newest state that can be had, for when the ledger does not reach back to where this replica is. */
  readonly reload: () => Promise<CatalogState>;
  readonly onFold?: (folded: PositionedEntry, outcome: FoldOutcome) => void;
  /** `fresh` takes the place of `old`, in the same turn of the event loop; `old` must not be used after it. */
  readonly onReload?: (fresh: CatalogState, old: CatalogState) => void;
}

/** It stopped following its ledger, for good; the message says where and why. Nothing of the request was accepted. */
export class ReplicaFailedError extends Error {
  override readonly name = 'ReplicaFailedError';
  readonly retryAfterSeconds = 10;
  readonly suggestedFix =
    'Nothing was accepted. Restart this process, or ask another one; if it fails again, `bandolier doctor` says what can be done.';
}

/**
 * A state that follows its ledger. Everything that ranks reads `state`; nobody but the loop in here writes it.
 *
 * Before `follow` it folds only in `catchUp`. From then on it is in one of these states:
 *
 * - **Following.** It reads what is new, folds it a few milliseconds at a time, and waits for more. Commands are
 *   appended, and answered when their entry has been folded here.
 * - **Away.** The store does not answer. The state stays as it is and can be ranked with; it asks again five times a
 *   second. Commands fail with what the ledger says. Then it follows again.
 * - **Starting over.** The ledger has been trimmed, or has lost entries, behind which this state is: the newest
 *   snapshot takes its place. Whoever waits is answered from it, or told that the outcome is unknown.
 * - **Failed.** An entry cannot be read or folded. Nothing is folded any more, until the process is restarted;
 *   `failure` says why. Commands are refused at once, those that wait are told that the outcome is unknown. Between
 *   two entries the state is whole and goes on serving as it is; in the middle of one it is not (`isWhole`).
 * - **Closed**, or its ledger was removed by another process. Commands are refused with the reason that `close` was
 *   given, or with the removal. The state may be freed.
 *
 * No promise in here stays open for ever: commands and `caughtUp` give up after ten seconds, commands after a minute
 * while something is being folded.
 */
export class Replica {
  readonly #ledger: Ledger;
  readonly #stop = new AbortController();
  readonly #waiting = new WaitingOutcomes();
  /** Who waits for a position, in no order: there are few. */
  readonly #reaching = new Set<{ readonly position: Position; readonly done: (error?: Error) => void }>();
  readonly #options: ReplicaOptions;
  /** Who waits for the entry that is being folded; null while none is. */
  #beforeNext: ((error: Error | null) => void)[] | null = null;
  #digest: Promise<StateDigest> | null = null;
  /** What was read last is being folded. */
  #batch: Promise<unknown> = Promise.resolve();
  #state: CatalogState;
  /** Of this state alone: what others read is not what was folded here. */
  #reader: LedgerReader;
  #running: Promise<void> | null = null;
  #failure: ReplicaFailedError | null = null;
  #isWhole = true;
  /** What the state was made from, see `Ledger.history`. */
  #history: string;

  constructor(state: CatalogState, ledger: Ledger, options: ReplicaOptions) {
    this.#state = state;
    this.#ledger = ledger;
    this.#reader = ledger.follower();
    this.#history = ledger.history;
    this.#options = options;
  }

  /** Not to be kept over an `await`: it may be another one afterwards. */
  get state(): CatalogState {
    return this.#state;
  }

  /** Why it no longer follows its ledger; null while it does. */
  get failure(): ReplicaFailedError | null {
    return this.#failure;
  }

  /** False when it failed in the middle of an entry: what the state says may contradict itself. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Folds everything that the ledger holds now, and resolves when that is done. */
  async catchUp(): Promise<void> {
    const head = await this.#ledger.head();
    while (this.state.position < head && !this.#stop.signal.aborted) await this.#foldOrStartOver();
  }

  /** Follows the ledger until `close`. A failure of the loop itself is reported through `failed`. */
  follow(failed: (error: unknown) => void): void {
    this.#running = this.#loop().catch((error: Error) => {
      if (error instanceof LedgerRemovedError) {
        this.#stop.abort(error);
        return this.#rejectAll(error);
      }
      const { position } = this.#state;
      this.#isWhole = this.#beforeNext === null;
      this.#failure = new ReplicaFailedError(
        `It stopped following its ledger after entry ${position}: ${error.message}`,
        { cause: error },
      );
      this.#rejectAll(this.#failure);
      failed(error);
    });
  }

  /**
   * Appends a command and answers what the fold decided about it.
   * @throws StoreUnavailableError, ReplicaFailedError, or whatever `close` was given: nothing was accepted
   * @throws OutcomeUnknownError when it may have been
   */
  async submit(entry: Entry): Promise<FoldOutcome> {
    this.#refuseIfOver();
    return this.#waiting.after(entry, () => this.#ledger.append([entry]));
  }

  /** Entries that are durable but not folded here yet. */
  async lag(): Promise<number> {
    return (await this.#ledger.head()) - this.state.position;
  }

  /**
   * Resolves when everything that is durable now has been folded here.
   * @throws StoreUnavailableError when that takes too long, ReplicaFailedError, or whatever `close` was given
   */
  async caughtUp(): Promise<void> {
    const head = await this.#ledger.head();
    await this.reached(head, AbortSignal.timeout(TIMEOUT_MS));
    if (this.state.position >= head) return;
    throw new StoreUnavailableError(`entries up to ${head} have not been folded here in time`);
  }

  /** Resolves when the entry at this position has been folded here, or when `giveUp` aborts. @throws as above */
  async reached(position: Position, giveUp: AbortSignal): Promise<void> {
    this.#refuseIfOver();
    if (this.state.position >= position) return;
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => waiter.done();
      const waiter = {
        position,
        done: (error?: Error) => {
          this.#reaching.delete(waiter);
          giveUp.removeEventListener('abort', onAbort);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      this.#reaching.add(waiter);
      giveUp.addEventListener('abort', onAbort);
      if (giveUp.aborted) waiter.done();
    });
  }

  /** What `look` sees where no entry is half folded: at once, or before the next one is begun. @throws as above */
  async whole<Seen>(look: (state: CatalogState) => Seen | Promise<Seen>): Promise<Seen> {
    this.#refuseIfOver();
    return new Promise((resolve, reject) => {
      const see = (error: Error | null): void => {
        try {
          if (error !== null) throw error;
          resolve(look(this.state));
        } catch (error) {
          reject(error);
        }
      };
      if (this.#beforeNext === null) see(null);
      else this.#beforeNext.push(see);
    });
  }

  /**
   * Of all that is folded here, made in turns while folding waits; who asks meanwhile gets the same. What was read is folded
   * before it is begun, so that those who ask again and again do not bring folding to a halt. @throws as above
   */
  digest(): Promise<StateDigest> {
    const digest =
      this.#digest ??
      this.#batch
        .catch(() => {})
        .then(() => this.whole((state) => inSlices(this.#goingOn(digestInSteps(state)))))
        .finally(() => {
          this.#digest = null;
        });
    this.#digest = digest;
    return digest;
  }

  /** @param because what everybody is told who wants something afterwards */
  async close(because: Error = new StoreUnavailableError('the catalog is closed')): Promise<void> {
    if (!this.#stop.signal.aborted) this.#stop.abort(because);
    await this.#running;
    this.#rejectAll(because);
    await this.#digested();
  }

  #refuseIfOver(): void {
    if (this.#failure !== null) throw this.#failure;
    this.#stop.signal.throwIfAborted();
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stop;
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
        return await this.#foldSome(this.#state, this.#reader, this.#history);
      } catch (error) {
        if (!(error instanceof LedgerTrimmedError) || attempt === MAX_STARTS) throw error;
      }
    }
  }

  /** The ledger does not reach back to here: a snapshot does. It serves once it knows what came after it as well. */
  async #startOver(): Promise<void> {
    const { history } = this.#ledger;
    const fresh = await this.#options.reload();
    const reader = this.#ledger.follower();
    try {
      while (!this.#stop.signal.aborted && (await this.#foldSome(fresh, reader, history)) > 0);
    } catch (error) {
      fresh.free();
      throw error;
    }
    await this.#digested();
    this.#history = history;
    const old = this.#state;
    this.#state = fresh;
    this.#reader = reader;
    this.#options.onReload?.(fresh, old);
    old.free();
    for (const [key, { outcome, content }] of fresh.answers) {
      this.#waiting.resolve({ key, content }, outcome);
    }
    this.#waiting.rejectAll(new OutcomeUnknownError('The ledger does not reach back to it.'));
    this.#release();
  }

  /** Commands that wait meanwhile are patient. */
  *#goingOn<Result>(steps: Steps<Result>): Steps<Result> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      this.#waiting.progressed();
      yield;
    }
  }

  async #digested(): Promise<void> {
    await this.#digest?.catch(() => {});
  }

  async #foldSome(state: CatalogState, reader: LedgerReader, history: string): Promise<number> {
    if (this.#ledger.history !== history) {
      throw new LedgerTrimmedError(
        'The ledger was restored from a backup; its newest snapshot has what is known.',
      );
    }
    const entries = await reader.read(state.position, READ_BATCH);
    if (state !== this.#state) return this.#foldRead(state, entries);
    // A digest that is asked for from here on comes after these entries, and one that was asked for before them.
    const batch = this.#digested().then(() => this.#foldRead(state, entries));
    this.#batch = batch;
    return batch;
  }

  async #foldRead(state: CatalogState, entries: readonly PositionedEntry[]): Promise<number> {
    const { now } = this.#options;
    let sliceStart = now();
    const giveTurn = async (): Promise<void> => {
      this.#waiting.progressed();
      await nextTurn();
      sliceStart = now();
    };
    for (const positioned of entries) {
      const isServing = state === this.#state;
      const steps = foldInSteps(state, positioned);
      if (isServing) this.#beforeNext = [];
      let step = steps.next();
      while (!step.done) {
        if (now() - sliceStart >= ENTRY_SLICE_MS) await giveTurn();
        step = steps.next();
      }
      this.#options.onFold?.(positioned, step.value);
      if (isServing) this.#settleFolded(positioned, step.value);
      if (now() - sliceStart < FOLD_SLICE_MS) continue;
      await giveTurn();
      if (this.#stop.signal.aborted) break;
    }
    return entries.length;
  }

  #settleFolded({ entry }: PositionedEntry, outcome: FoldOutcome): void {
    const whoWaited = this.#beforeNext ?? [];
    this.#beforeNext = null;
    for (const see of whoWaited) see(null);
    this.#waiting.resolve(entry, outcome);
    this.#release();
  }

  /** Those who waited for a position that is reached. */
  #release(): void {
    for (const waiter of [...this.#reaching]) if (waiter.position <= this.state.position) waiter.done();
  }

  /** Commands that wait may be in the ledger already. */
  #rejectAll(error: Error): void {
    const removed = error instanceof LedgerRemovedError;
    this.#waiting.rejectAll(removed ? error : new OutcomeUnknownError(error.message, { cause: error }));
    for (const waiter of [...this.#reaching]) waiter.done(error);
    for (const see of this.#beforeNext ?? []) see(error);
    this.#beforeNext = null;
  }
}
