import { OutcomeUnknownError } from '../errors/store-errors.ts';
import type { Entry, Position } from '../ledger/entry.ts';
import type { FoldResult } from './fold-result.ts';

/** A command waits this long while no entry is folded. */
const TIMEOUT_MS = 10_000;
/** A command waits this long while entries are folded: ten thousand tools take seconds on a busy machine. */
const LONGEST_WAIT_MS = 60_000;

interface Waiter {
  resolve(outcome: FoldResult): void;
  reject(error: Error): void;
}

/** Keeps the commands that are not decided yet: their entries are being appended, or were not folded yet. */
export class WaitingCommands {
  readonly #waiting = new Map<string, Set<Waiter>>();
  #progress = 0;

  /** Call while something is being folded: it extends the timeout. */
  progressed(): void {
    this.#progress++;
  }

  /** Appends the entry, and resolves with the result of its fold. */
  after(entry: Entry, append: () => Promise<unknown>): Promise<FoldResult> {
    const command = commandOf(entry);
    const waiters = this.#waiting.get(command) ?? new Set();
    this.#waiting.set(command, waiters);
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timeout);
        waiters.delete(waiter);
        if (waiters.size === 0 && this.#waiting.get(command) === waiters) this.#waiting.delete(command);
        settle();
      };
      const waiter: Waiter = {
        resolve: (outcome) => end(() => resolve(outcome)),
        reject: (error) => end(() => reject(error)),
      };
      let progress = this.#progress;
      let waited = 0;
      const look = (): void => {
        waited += TIMEOUT_MS;
        if (this.#progress === progress || waited >= LONGEST_WAIT_MS) {
          waiter.reject(new OutcomeUnknownError('The router did not get to it in time.'));
        } else {
          progress = this.#progress;
          timeout = setTimeout(look, TIMEOUT_MS);
        }
      };
      let timeout = setTimeout(look, TIMEOUT_MS);
      waiters.add(waiter);
      append().catch(waiter.reject);
    });
  }

  resolve(command: Command, outcome: FoldResult): void {
    for (const waiter of [...(this.#waiting.get(commandOf(command)) ?? [])]) waiter.resolve(outcome);
  }

  rejectAll(error: Error): void {
    for (const waiters of [...this.#waiting.values()])
      for (const waiter of [...waiters]) waiter.reject(error);
  }
}

interface Command {
  readonly key: string;
  readonly content?: string;
}

/** Returns text that identifies a command, also among commands with the same key. */
function commandOf({ key, content }: Command): string {
  return content === undefined ? key : `${key} ${content}`;
}

/** Keeps the few callers that wait until a position was folded, in no order. */
export class WaitingPositions {
  readonly #waiting = new Set<{ readonly position: Position; readonly done: (error?: Error) => void }>();

  /** Resolves when this position was folded, or when `giveUp` aborts. */
  wait(position: Position, giveUp: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => waiter.done();
      const waiter = {
        position,
        done: (error?: Error) => {
          this.#waiting.delete(waiter);
          giveUp.removeEventListener('abort', onAbort);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      this.#waiting.add(waiter);
      giveUp.addEventListener('abort', onAbort);
      if (giveUp.aborted) waiter.done();
    });
  }

  /** Call when everything up to this position was folded. */
  reached(position: Position): void {
    for (const waiter of [...this.#waiting]) if (waiter.position <= position) waiter.done();
  }

  rejectAll(error: Error): void {
    for (const waiter of [...this.#waiting]) waiter.done(error);
  }
}
