import type { RedisClient, RedisConnections } from '../redis/redis-connection.ts';
import type { Position } from './entry.ts';

/** Followers look this often even without a message: messages may get lost, and so may the connection. */
const LOOK_EVERY_MS = 5_000;
/** A machine that is gone closes no connection. */
const SILENCE_MS = 3 * LOOK_EVERY_MS;

/** Gets what the feed learns about one ledger. */
export interface Follower {
  /** There is an entry at this position. */
  grewTo(position: number): void;
  /** Entries may have been appended without a message. */
  look(): void;
  /** The store may be another one than it was. */
  wake(): void;
}

/** The channel on which a process that has appended tells all processes of its deployment. */
export function feedChannel({ epoch }: RedisConnections): string {
  return `bandolier:appended:${epoch.deployment}`;
}

/**
 * Receives messages about all entries that any process appends to any ledger, over one connection: one of its own, or
 * the one that a cluster's client keeps for messages. Messages say `<position> <catalog>`.
 */
export class LedgerFeed {
  readonly #connections: RedisConnections;
  readonly #followers = new Map<string, Follower>();
  #connection: RedisClient | null = null;
  #isSubscribed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(connections: RedisConnections) {
    this.#connections = connections;
  }

  /** Until `leave`. Nothing is missed from here on, since the follower looks once more. */
  follow(catalog: string, follower: Follower): void {
    this.#followers.set(catalog, follower);
    if (this.#isSubscribed) follower.look();
    this.#connection ??= this.#connect();
    this.#timer ??= setInterval(() => {
      this.#all((each) => each.wake());
      void this.#subscribe();
    }, LOOK_EVERY_MS).unref();
  }

  leave(catalog: string, follower: Follower): void {
    if (this.#followers.get(catalog) !== follower) return;
    this.#followers.delete(catalog);
    if (this.#followers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#disconnect();
  }

  #connect(): RedisClient {
    const { commands, isCluster } = this.#connections;
    const connection = isCluster
      ? commands
      : this.#connections.another({ socketTimeout: SILENCE_MS, autoResubscribe: false });
    connection.on('message', this.#onMessage);
    connection.on('close', this.#onClose);
    connection.on('ready', this.#subscribe);
    this.#connection = connection;
    void this.#subscribe();
    return connection;
  }

  /** The client of a cluster has other things to do. */
  #disconnect(): void {
    this.#isSubscribed = false;
    this.#connection
      ?.off('message', this.#onMessage)
      .off('close', this.#onClose)
      .off('ready', this.#subscribe);
    if (!this.#connections.isCluster) this.#connection?.disconnect();
    this.#connection = null;
  }

  readonly #onMessage = (_: string, message: string): void => {
    const [position, catalog] = message.split(' ');
    this.#followers.get(catalog)?.grewTo(Number(position));
  };

  readonly #onClose = (): void => {
    this.#isSubscribed = false;
  };

  /** Also to see whether the connection still lives: Redis answers each time. */
  readonly #subscribe = async (): Promise<void> => {
    if (this.#connection?.status !== 'ready') return;
    const wasSubscribed = this.#isSubscribed;
    try {
      await this.#connection.subscribe(feedChannel(this.#connections));
    } catch {
      return; // with the next connection, or the next look
    }
    this.#isSubscribed = true;
    if (!wasSubscribed) this.#all((each) => each.look());
  };

  #all(what: (follower: Follower) => void): void {
    for (const follower of [...this.#followers.values()]) what(follower);
  }
}

/** Waits for one ledger to grow. */
export class LedgerTail implements Follower {
  readonly #feed: LedgerFeed;
  readonly #catalog: string;
  readonly #head: () => Promise<Position>;
  readonly #waiters = new Set<(anyway: boolean) => void>();
  /** The newest position that this process knows. */
  #seen: Position = 0;
  #isFollowing = false;
  #isClosed = false;

  /** @param head asks the store for the newest position */
  constructor(feed: LedgerFeed, catalog: string, head: () => Promise<Position>) {
    this.#feed = feed;
    this.#catalog = catalog;
    this.#head = head;
  }

  grewTo(position: Position): void {
    if (position <= this.#seen) return;
    this.#seen = position;
    this.#wakeWaiters(false);
  }

  look(): void {
    this.#head().then(
      // The store may have lost its last moments while this process was not connected.
      (head) => (head < this.#seen ? this.wake() : this.grewTo(head)),
      () => this.wake(), // the reader gets the error
    );
  }

  wake(): void {
    this.#wakeWaiters(true);
  }

  /** This is the newest position, even if a later one was known: a store can lose its last moments. */
  reset(head: Position): void {
    this.#seen = Math.min(this.#seen, head);
    this.grewTo(head);
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
    this.#wakeWaiters(true);
  }

  #follow(): void {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    this.#feed.follow(this.#catalog, this);
  }

  #wakeWaiters(anyway: boolean): void {
    for (const waiter of [...this.#waiters]) waiter(anyway);
  }
}
