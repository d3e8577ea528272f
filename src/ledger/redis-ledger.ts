import { catalogKey } from '../redis/keys.ts';
import type { RedisClient, RedisConnections } from '../redis/redis-connection.ts';
import { Script } from '../redis/script.ts';
import type { Entry, Position } from './entry.ts';
import { decodeEntry, encodeEntry } from './entry-codec.ts';
import { type Ledger, LedgerTrimmedError, LedgerUnavailableError, type PositionedEntry } from './ledger.ts';

/**
 * Appends a batch under the next positions. The id of a stream entry is `<position>-0`, so positions have no gaps
 * and a stream can be read from any of them.
 * KEYS stream, head (newest position). ARGV most entries that the stream may hold, entries. Answers the new head.
 */
const APPEND = new Script(`
local head = tonumber(redis.call('GET', KEYS[2]) or '0')
if redis.call('XLEN', KEYS[1]) + #ARGV - 1 > tonumber(ARGV[1]) then return redis.error_reply('LEDGERFULL') end
for i = 2, #ARGV do
  head = head + 1
  redis.call('XADD', KEYS[1], head .. '-0', 'e', ARGV[i])
end
redis.call('SET', KEYS[2], head)
return head
`);

/** Twenty times what is kept between two snapshots: nobody trims any more, and Redis must not fill up. */
const MOST_ENTRIES = 1_000_000;
/** Redis answers at least this often, so that a lost connection is noticed. */
const BLOCK_MS = 5_000;
const RETRY_MS = 200;

/** A ledger in a Redis stream. Any number of processes append to it and follow it. */
export class RedisLedger implements Ledger {
  readonly #commands: RedisClient;
  readonly #connections: RedisConnections;
  readonly #stream: string;
  readonly #headKey: string;
  readonly #onClose: () => void;
  readonly #closing = new AbortController();
  #tail: RedisClient | null = null;
  /** The newest position that this process has seen. */
  #seen: Position = 0;
  #waiters = new Set<() => void>();
  #watching = false;

  constructor(connections: RedisConnections, catalog: string, onClose: () => void) {
    this.#connections = connections;
    this.#commands = connections.commands;
    this.#stream = catalogKey(catalog, 'ledger');
    this.#headKey = catalogKey(catalog, 'ledger-head');
    this.#onClose = onClose;
  }

  async append(entries: readonly Entry[]): Promise<Position> {
    if (entries.length === 0) return this.head();
    const records = entries.map((entry) => Buffer.from(encodeEntry(entry)));
    const head = await available(() =>
      APPEND.run(this.#commands, [this.#stream, this.#headKey], [MOST_ENTRIES, ...records]),
    );
    this.#notice(Number(head));
    return Number(head);
  }

  async read(after: Position, limit: number): Promise<PositionedEntry[]> {
    const found = await available(() =>
      this.#commands.xrangeBuffer(this.#stream, `(${after}-0`, '+', 'COUNT', limit),
    );
    const entries = found.map(([id, fields]) => ({
      position: positionOf(id),
      entry: decodeEntry(fields[1]),
    }));
    if (entries.length > 0 ? entries[0].position !== after + 1 : (await this.head()) > after) {
      throw new LedgerTrimmedError(
        `Entry ${after + 1} of the ledger has been trimmed; a newer snapshot has it.`,
      );
    }
    return entries;
  }

  /** Everybody who waits here shares one connection that blocks. */
  wait(after: Position, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        if (!this.#closing.signal.aborted && !signal.aborted && this.#seen <= after) return;
        this.#waiters.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiters.add(done);
      signal.addEventListener('abort', done);
      done();
      if (this.#waiters.has(done)) this.#watch(after);
    });
  }

  async head(): Promise<Position> {
    const head = Number((await available(() => this.#commands.get(this.#headKey))) ?? 0);
    this.#notice(head);
    return head;
  }

  async trim(upTo: Position): Promise<void> {
    await available(() => this.#commands.xtrim(this.#stream, 'MINID', `${upTo + 1}-0`));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    this.#tail?.disconnect();
    this.#onClose();
  }

  /** Blocks until the stream grows, for as long as somebody waits. */
  async #watch(after: Position): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    this.#tail ??= this.#connections.another({ maxRetriesPerRequest: null });
    while (this.#waiters.size > 0 && !this.#closing.signal.aborted) {
      const from = Math.max(after, this.#seen);
      try {
        const found = await this.#tail.xread(
          'COUNT',
          1,
          'BLOCK',
          BLOCK_MS,
          'STREAMS',
          this.#stream,
          `${from}-0`,
        );
        // Only that it grew matters here; how far, the head says.
        if (found !== null) await this.head();
      } catch {
        await pause(RETRY_MS, this.#closing.signal);
      }
    }
    this.#watching = false;
  }

  #notice(position: Position): void {
    if (position <= this.#seen) return;
    this.#seen = position;
    this.#wake();
  }

  #wake(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }
}

function positionOf(id: Buffer): Position {
  return Number(id.toString('latin1').split('-')[0]);
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

async function available<T>(command: () => Promise<T>): Promise<T> {
  try {
    return await command();
  } catch (error) {
    throw new LedgerUnavailableError(`The ledger in Redis cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
