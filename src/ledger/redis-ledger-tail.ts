import type { RedisClient, RedisConnections } from '../redis/redis-connection.ts';
import type { Position } from './entry.ts';

/** Redis answers at least this often, so that a lost connection is noticed. */
const BLOCK_MS = 5_000;
/** A machine that is gone closes no connection. */
const SILENCE_MS = 3 * BLOCK_MS;
const RETRY_MS = 200;

/** Waits for a stream to grow. Everybody who waits shares one connection that blocks. */
export class LedgerTail {
  readonly #connections: RedisConnections;
  readonly #stream: string;
  readonly #closing = new AbortController();
  readonly #waiters = new Set<(anyway: boolean) => void>();
  #connection: RedisClient | null = null;
  /** The newest position that this process has heard of. */
  #seen: Position = 0;
  #watching = false;

  constructor(connections: RedisConnections, stream: string) {
    this.#connections = connections;
    this.#stream = stream;
  }

  /** There is an entry at this position. */
  notice(position: Position): void {
    if (position <= this.#seen) return;
    this.#seen = position;
    this.#wake();
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
        if (!anyway && !this.#closing.signal.aborted && this.#seen <= after) return;
        this.#waiters.delete(done);
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => done(true);
      this.#waiters.add(done);
      signal.addEventListener('abort', onAbort);
      done(signal.aborted);
      if (this.#waiters.has(done)) void this.#watch(after);
    });
  }

  close(): void {
    this.#closing.abort();
    this.#wake();
    this.#connection?.disconnect();
  }

  /** Blocks until the stream grows, for as long as somebody waits. */
  async #watch(after: Position): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    this.#connection ??= this.#connect();
    while (this.#waiters.size > 0 && !this.#closing.signal.aborted) {
      const from = Math.max(after, this.#seen);
      try {
        const found = await this.#connection.xread(
          'COUNT',
          1,
          'BLOCK',
          BLOCK_MS,
          'STREAMS',
          this.#stream,
          `${from}-0`,
        );
        if (found === null) this.#wake(true);
        else this.notice(Number(found[0][1][0][0].split('-')[0]));
      } catch {
        await pause(RETRY_MS, this.#closing.signal);
      }
    }
    this.#watching = false;
  }

  #connect(): RedisClient {
    const connection = this.#connections.another({ maxRetriesPerRequest: null, socketTimeout: SILENCE_MS });
    // Redis may have been away, and come back as it was before.
    connection.on('ready', () => this.#wake(true));
    return connection;
  }

  #wake(anyway = false): void {
    for (const waiter of [...this.#waiters]) waiter(anyway);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
