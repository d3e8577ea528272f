import type { Entry } from '../ledger/entry.ts';
import { OutcomeUnknownError } from '../store-errors.ts';
import type { FoldOutcome } from './outcome.ts';

/** So long a command waits for what the fold decides about it while nothing is folded at all. */
const TIMEOUT_MS = 10_000;
/** While other entries are, or this one is: ten thousand tools take seconds on a busy machine. */
const LONGEST_WAIT_MS = 60_000;

interface Waiter {
  resolve(outcome: FoldOutcome): void;
  reject(error: Error): void;
}

/** Who waits for what the fold decides about a command. Nobody waits for ever. */
export class WaitingOutcomes {
  readonly #waiting = new Map<string, Set<Waiter>>();
  #progress = 0;

  /** Something is being folded. */
  progressed(): void {
    this.#progress++;
  }

  /** Appends the entry, and resolves with the outcome of the next one of this command that is folded. */
  after(entry: Entry, append: () => Promise<unknown>): Promise<FoldOutcome> {
    const command = commandOf(entry);
    const waiters = this.#waiting.get(command) ?? new Set();
    this.#waiting.set(command, waiters);
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(patience);
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
          patience = setTimeout(look, TIMEOUT_MS);
        }
      };
      let patience = setTimeout(look, TIMEOUT_MS);
      waiters.add(waiter);
      append().catch(waiter.reject);
    });
  }

  resolve(command: Command, outcome: FoldOutcome): void {
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

/** What tells a command from others, also from one that was given the same key for something else. */
function commandOf({ key, content }: Command): string {
  return content === undefined ? key : `${key} ${content}`;
}
