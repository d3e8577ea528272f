import type { Position } from './entry.ts';
import type { Follower, LedgerFeed } from './redis-ledger-feed.ts';

/** Waits for one ledger to grow. */
export class LedgerTail implements Follower {
  readonly #feed: LedgerFeed;
  readonly #catalog: string;
  readonly #head: () => Promise<Position>;
  readonly #waiters = new Set<(anyway: boolean) => void>();
  /** The newest position that this process has heard of. */
  #seen: Position = 0;
  #isFollowing = false;
  #isClosed = false;

  /** @param head asks the store for the newest position */
  constructor(feed: LedgerFeed, catalog: string, head: () => Promise<Position>) {
    this.#feed = feed;
    this.#catalog = catalog;
    this.#head = head;
  }

  notice(position: Position): void {
    if (position <= this.#seen) return;
    this.#seen = position;
    this.#tellAll(false);
  }

  look(): void {
    this.#head().then(
      // It may have lost its last moments while nobody was connected.
      (head) => (head < this.#seen ? this.wake() : this.notice(head)),
      () => this.wake(), // the reader is told why
    );
  }

  wake(): void {
    this.#tellAll(true);
  }

  /** This is the newest position, even if a later one was known: a store can lose its last moments. */
  reset(head: Position): void {
    this.#seen = Math.min(this.#seen, head);
    this.notice(head);
  }

  /** Resolves when there is more, and now and then without: a store that lost its last moments grows unseen. */
  wait(after: Position, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (anyway: boolean): void => {
        if (!anyway && !this.#isClosed && this.#seen <= after) return;
        this.#waiters.delete(done);
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => done(true);
      this.#waiters.add(done);
      signal.addEventListener('abort', onAbort);
      done(signal.aborted);
      if (this.#waiters.has(done)) this.#follow();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#feed.leave(this.#catalog, this);
    this.#tellAll(true);
  }

  #follow(): void {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    this.#feed.follow(this.#catalog, this);
  }

  #tellAll(anyway: boolean): void {
    for (const waiter of [...this.#waiters]) waiter(anyway);
  }
}
