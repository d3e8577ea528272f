import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Entry } from '../ledger/entry.ts';
import type { Ledger, PositionedEntry } from '../ledger/ledger.ts';
import type { CatalogState } from './catalog-state.ts';
import { fold } from './fold.ts';
import type { FoldOutcome } from './outcome.ts';

/** Folding gives the event loop back after this many milliseconds. */
const FOLD_SLICE_MS = 3;
const READ_BATCH = 256;

/**
 * A state that follows its ledger. Everything that ranks reads `state`; nobody but the loop in here writes it.
 */
export class Replica {
  readonly #ledger: Ledger;
  readonly #stop = new AbortController();
  readonly #waiting = new Map<
    string,
    { resolve: (outcome: FoldOutcome) => void; reject: (error: Error) => void }[]
  >();
  readonly #now: () => number;
  readonly #onFold: (folded: PositionedEntry, outcome: FoldOutcome) => void;
  readonly state: CatalogState;
  #running: Promise<void> | null = null;
  #failure: Error | null = null;

  /** @param now milliseconds of a steady clock; it only cuts folding into slices, the fold never sees it. */
  constructor(
    state: CatalogState,
    ledger: Ledger,
    now: () => number,
    onFold: (folded: PositionedEntry, outcome: FoldOutcome) => void = () => {},
  ) {
    this.state = state;
    this.#ledger = ledger;
    this.#now = now;
    this.#onFold = onFold;
  }

  /** Why it no longer follows its ledger; null while it does. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Folds everything that the ledger holds now, and resolves when that is done. */
  async catchUp(): Promise<void> {
    const head = await this.#ledger.head();
    while (this.state.position < head && !this.#stop.signal.aborted) await this.#foldSome();
  }

  /** Follows the ledger until `close`. A failure of the loop itself is reported through `failed`. */
  follow(failed: (error: unknown) => void): void {
    this.#running = this.#loop().catch((error) => {
      this.#failure = error;
      for (const key of [...this.#waiting.keys()]) this.#settle(key, (waiter) => waiter.reject(error));
      failed(error);
    });
  }

  /** Appends a command and answers what the fold decided about it. @throws LedgerUnavailableError */
  async submit(entry: Entry): Promise<FoldOutcome> {
    const outcome = this.outcomeOf(entry.key);
    // Whoever waits below hears of the failure; this keeps it from being an unhandled one as well.
    outcome.catch(() => {});
    try {
      await this.#ledger.append([entry]);
    } catch (error) {
      this.#settle(entry.key, (waiter) => waiter.reject(error as Error));
    }
    return outcome;
  }

  /** Resolves with the outcome of the next entry of this key that is folded here. */
  outcomeOf(key: string): Promise<FoldOutcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), { resolve, reject }]);
    });
  }

  /** Entries that are durable but not folded here yet. */
  async lag(): Promise<number> {
    return (await this.#ledger.head()) - this.state.position;
  }

  /** Resolves when everything that is durable now has been folded here. @throws Error when it no longer follows. */
  async caughtUp(): Promise<void> {
    const head = await this.#ledger.head();
    while (this.state.position < head) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#stop.signal.aborted) return;
      await nextTurn();
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    const closed = new Error('the replica was closed before its outcome was known');
    for (const key of [...this.#waiting.keys()]) this.#settle(key, (waiter) => waiter.reject(closed));
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const folded = await this.#foldSome();
      if (folded === 0) await this.#ledger.wait(this.state.position, signal);
    }
  }

  async #foldSome(): Promise<number> {
    const entries = await this.#ledger.read(this.state.position, READ_BATCH);
    let sliceStart = this.#now();
    for (const positioned of entries) {
      this.#foldOne(positioned);
      if (this.#now() - sliceStart < FOLD_SLICE_MS) continue;
      await nextTurn();
      if (this.#stop.signal.aborted) break;
      sliceStart = this.#now();
    }
    return entries.length;
  }

  #foldOne(positioned: PositionedEntry): void {
    const outcome = fold(this.state, positioned);
    this.#onFold(positioned, outcome);
    this.#settle(positioned.entry.key, (waiter) => waiter.resolve(outcome));
  }

  #settle(
    key: string,
    settle: (waiter: { resolve: (outcome: FoldOutcome) => void; reject: (error: Error) => void }) => void,
  ): void {
    const waiters = this.#waiting.get(key);
    if (waiters === undefined) return;
    this.#waiting.delete(key);
    for (const waiter of waiters) settle(waiter);
  }
}
