import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import type { Entry, Position } from '../ledger/entry.ts';
import {
  type Ledger,
  LedgerTrimmedError,
  LedgerUnavailableError,
  type PositionedEntry,
} from '../ledger/ledger.ts';
import type { CatalogState } from './catalog-state.ts';
import { foldInSteps } from './fold.ts';
import type { FoldOutcome } from './outcome.ts';

/** Folding gives the event loop back after this many milliseconds. */
const FOLD_SLICE_MS = 3;
/** An entry that teaches much is cut there, too: what is ranked in between knows part of it. */
const ENTRY_SLICE_MS = 4;
const READ_BATCH = 256;
/** After so many reloads in a row no snapshot reaches the ledger, and none will. */
const MAX_STARTS = 3;
/** While the store is away. */
const RETRY_MS = 200;

type Waiter = { resolve: (outcome: FoldOutcome) => void; reject: (error: Error) => void };

export interface ReplicaOptions {
  /** Milliseconds of a steady clock; it only cuts folding into slices, the fold never sees it. */
  readonly now: () => number;
  /** The newest state that can be had, for when the ledger does not reach back to where this replica is. */
  readonly reload: () => Promise<CatalogState>;
  readonly onFold?: (folded: PositionedEntry, outcome: FoldOutcome) => void;
  /** `fresh` takes the place of `old`, in the same turn of the event loop; `old` must not be used after it. */
  readonly onReload?: (fresh: CatalogState, old: CatalogState) => void;
}

/**
 * A state that follows its ledger. Everything that ranks reads `state`; nobody but the loop in here writes it.
 */
export class Replica {
  readonly #ledger: Ledger;
  readonly #stop = new AbortController();
  readonly #waiting = new Map<string, Waiter[]>();
  /** Who waits for a position, in no order: there are few. */
  readonly #reaching = new Set<{ readonly position: Position; readonly done: (error?: Error) => void }>();
  readonly #options: ReplicaOptions;
  /** Who waits for the entry that is being folded; null while none is. */
  #beforeNext: ((error: Error | null) => void)[] | null = null;
  #state: CatalogState;
  #running: Promise<void> | null = null;
  #failure: Error | null = null;

  constructor(state: CatalogState, ledger: Ledger, options: ReplicaOptions) {
    this.#state = state;
    this.#ledger = ledger;
    this.#options = options;
  }

  /** Not to be kept over an `await`: it may be another one afterwards. */
  get state(): CatalogState {
    return this.#state;
  }

  /** Why it no longer follows its ledger; null while it does. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Folds everything that the ledger holds now, and resolves when that is done. */
  async catchUp(): Promise<void> {
    const head = await this.#ledger.head();
    while (this.state.position < head && !this.#stop.signal.aborted) await this.#foldOrStartOver();
  }

  /** Follows the ledger until `close`. A failure of the loop itself is reported through `failed`. */
  follow(failed: (error: unknown) => void): void {
    this.#running = this.#loop().catch((error) => {
      this.#failure = error;
      this.#rejectAll(error);
      failed(error);
    });
  }

  /** Appends a command and answers what the fold decided about it. @throws LedgerUnavailableError */
  async submit(entry: Entry): Promise<FoldOutcome> {
    const outcome = this.#outcomeOf(entry);
    // Whoever waits below hears of the failure; this keeps it from being an unhandled one as well.
    outcome.catch(() => {});
    try {
      await this.#ledger.append([entry]);
    } catch (error) {
      this.#settle(commandOf(entry), (waiter) => waiter.reject(error as Error));
    }
    return outcome;
  }

  /** Resolves with the outcome of the next entry of this command that is folded here. */
  #outcomeOf(entry: Entry): Promise<FoldOutcome> {
    const command = commandOf(entry);
    return new Promise((resolve, reject) => {
      this.#waiting.set(command, [...(this.#waiting.get(command) ?? []), { resolve, reject }]);
    });
  }

  /** Entries that are durable but not folded here yet. */
  async lag(): Promise<number> {
    return (await this.#ledger.head()) - this.state.position;
  }

  /** Resolves when everything that is durable now has been folded here. @throws Error when it no longer follows. */
  async caughtUp(): Promise<void> {
    await this.reached(await this.#ledger.head());
  }

  /** Resolves when the entry at this position has been folded here, or when `giveUp` aborts. @throws as above */
  reached(position: Position, giveUp?: AbortSignal): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.state.position >= position || this.#stop.signal.aborted) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onAbort = (): void => waiter.done();
      const waiter = {
        position,
        done: (error?: Error) => {
          this.#reaching.delete(waiter);
          giveUp?.removeEventListener('abort', onAbort);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      this.#reaching.add(waiter);
      giveUp?.addEventListener('abort', onAbort);
      if (giveUp?.aborted) waiter.done();
    });
  }

  /** What `look` sees where no entry is half folded: at once, or before the next one is begun. @throws as above */
  whole<Seen>(look: (state: CatalogState) => Seen): Promise<Seen> {
    return new Promise((resolve, reject) => {
      const see = (error: Error | null): void => {
        try {
          if (error !== null) throw error;
          resolve(look(this.state));
        } catch (error) {
          reject(error);
        }
      };
      if (this.#failure !== null || this.#beforeNext === null) see(this.#failure);
      else this.#beforeNext.push(see);
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#rejectAll(new LedgerUnavailableError('the catalog was closed before the outcome was known'));
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const folded = await this.#foldOrStartOver();
        if (folded === 0) await this.#ledger.wait(this.state.position, signal);
      } catch (error) {
        if (!(error instanceof LedgerUnavailableError)) throw error;
        await wait(RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  async #foldOrStartOver(): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#foldSome();
      } catch (error) {
        if (!(error instanceof LedgerTrimmedError) || attempt === MAX_STARTS) throw error;
        await this.#startOver();
      }
    }
  }

  /** The ledger does not reach back to here: a snapshot does. */
  async #startOver(): Promise<void> {
    const fresh = await this.#options.reload();
    const old = this.#state;
    this.#state = fresh;
    this.#options.onReload?.(fresh, old);
    old.free();
    const uncertain = new LedgerUnavailableError('it is not known whether this was applied; send it again');
    for (const [key, { outcome, content }] of fresh.answers) {
      this.#settle(commandOf({ key, content }), (waiter) => waiter.resolve(outcome));
    }
    for (const command of [...this.#waiting.keys()]) {
      this.#settle(command, (waiter) => waiter.reject(uncertain));
    }
    this.#letGo();
  }

  async #foldSome(): Promise<number> {
    const entries = await this.#ledger.read(this.state.position, READ_BATCH);
    const { now } = this.#options;
    let sliceStart = now();
    const giveTurn = async (): Promise<void> => {
      await nextTurn();
      sliceStart = now();
    };
    for (const positioned of entries) {
      const steps = foldInSteps(this.state, positioned);
      this.#beforeNext = [];
      let step = steps.next();
      while (!step.done) {
        if (now() - sliceStart >= ENTRY_SLICE_MS) await giveTurn();
        step = steps.next();
      }
      const whoWaited = this.#beforeNext;
      this.#beforeNext = null;
      for (const see of whoWaited) see(null);
      this.#settleFolded(positioned, step.value);
      if (now() - sliceStart < FOLD_SLICE_MS) continue;
      await giveTurn();
      if (this.#stop.signal.aborted) break;
    }
    return entries.length;
  }

  #settleFolded(positioned: PositionedEntry, outcome: FoldOutcome): void {
    this.#options.onFold?.(positioned, outcome);
    this.#settle(commandOf(positioned.entry), (waiter) => waiter.resolve(outcome));
    this.#letGo();
  }

  /** Those who waited for a position that is reached. */
  #letGo(): void {
    for (const waiter of [...this.#reaching]) if (waiter.position <= this.state.position) waiter.done();
  }

  #rejectAll(error: Error): void {
    for (const key of [...this.#waiting.keys()]) this.#settle(key, (waiter) => waiter.reject(error));
    for (const waiter of [...this.#reaching]) waiter.done(error);
    for (const see of this.#beforeNext ?? []) see(error);
    this.#beforeNext = null;
  }

  #settle(key: string, settle: (waiter: Waiter) => void): void {
    const waiters = this.#waiting.get(key);
    if (waiters === undefined) return;
    this.#waiting.delete(key);
    for (const waiter of waiters) settle(waiter);
  }
}

/** What tells a command from others, also from one that was given the same key for something else. */
function commandOf({ key, content }: { readonly key: string; readonly content?: string }): string {
  return content === undefined ? key : `${key} ${content}`;
}
