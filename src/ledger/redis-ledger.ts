import { StoreUnavailableError } from '../errors/store-errors.ts';
import { snapshotsKey } from '../redis/keys.ts';
import type { RedisClient, RedisConnections } from '../redis/redis-connection.ts';
import type { RedisEpoch } from '../redis/redis-epoch.ts';
import { answered, available } from '../redis/redis-failures.ts';
import { Script } from '../redis/script.ts';
import type { Entry, Position } from './entry.ts';
import { decodeEntries, encodeEntries } from './entry-codec.ts';
import {
  type Ledger,
  type LedgerReader,
  LedgerRemovedError,
  LedgerTrimmedError,
  type PositionedEntry,
} from './ledger.ts';
import { feedChannel, type LedgerFeed, LedgerTail } from './redis-ledger-feed.ts';
import { ledgerKeys, ownedBy, removedIdentity } from './redis-ledger-identity.ts';

/**
 * Appends a batch under the next positions, and publishes that. The id of a stream entry is `<position>-0`, so positions
 * have no gaps and a stream can be read from any of them.
 * KEYS stream, head (newest position), identity, snapshots. ARGV identity, most entries after the last snapshot, mark of this
 * batch, channel of the feed, catalog, entries. Returns the new head.
 */
const APPEND = new Script(`
if redis.call('GET', KEYS[3]) ~= ARGV[1] then return redis.error_reply('LEDGERGONE') end
local head = tonumber(redis.call('GET', KEYS[2]) or '0')
local snapshot = redis.call('ZREVRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2] or '0'
if head + #ARGV - 5 - tonumber(snapshot) > tonumber(ARGV[2]) then return redis.error_reply('LEDGERFULL') end
for i = 6, #ARGV do
  head = head + 1
  redis.call('XADD', KEYS[1], head .. '-0', 'e', ARGV[i], 'm', ARGV[3])
end
redis.call('SET', KEYS[2], head)
redis.call('PUBLISH', ARGV[4], head .. ' ' .. ARGV[5])
return head
`);

/**
 * KEYS as above. ARGV identity, position, limit, mark of the entry at the position as the reader knows it or ''.
 * Returns the head, whether that entry is still the same one, the id of the first entry after it and the mark of the last
 * ('' where there is none), then these entries: a list in a list for each would take the reader twice as long.
 */
const READ = new Script(`
if redis.call('GET', KEYS[3]) ~= ARGV[1] then return redis.error_reply('LEDGERGONE') end
local head = tonumber(redis.call('GET', KEYS[2]) or '0')
local same = 1
if head < tonumber(ARGV[2]) then
  same = 0
elseif ARGV[4] ~= '' then
  local known = redis.call('XRANGE', KEYS[1], ARGV[2] .. '-0', ARGV[2] .. '-0')[1]
  if known and known[2][4] ~= ARGV[4] then same = 0 end
end
local answer = {head, same, '', ''}
for i, found in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[2] .. '-0', '+', 'COUNT', ARGV[3]) or {}) do
  if i == 1 then answer[3] = found[1] end
  answer[4] = found[2][4]
  answer[4 + i] = found[2][2]
end
return answer
`);

/** KEYS as above. ARGV identity, oldest position that stays. */
const TRIM = new Script(`
if redis.call('GET', KEYS[3]) ~= ARGV[1] then return redis.error_reply('LEDGERGONE') end
return redis.call('XTRIM', KEYS[1], 'MINID', ARGV[2] .. '-0')
`);

/** The subject of messages. */
const WHAT = 'The ledger';

/** A ledger in a Redis stream. Any number of processes append to it and follow it. */
export class RedisLedger implements Ledger {
  readonly #connections: RedisConnections;
  readonly #commands: RedisClient;
  readonly #epoch: RedisEpoch;
  readonly #catalog: string;
  readonly #keys: readonly [stream: string, head: string, identity: string];
  #identity: string;
  readonly #snapshots: string;
  readonly #mostEntries: number;
  readonly #onClose: () => void;
  readonly #tail: LedgerTail;
  #batches = 0;

  /**
   * @param identity what tells this ledger from an earlier one of the same catalog
   * @param mostEntries that may come after the last snapshot; then nothing more is taken
   */
  constructor(
    connections: RedisConnections,
    feed: LedgerFeed,
    catalog: string,
    identity: string,
    mostEntries: number,
    onClose: () => void,
  ) {
    this.#connections = connections;
    this.#commands = connections.commands;
    this.#epoch = connections.epoch;
    this.#catalog = catalog;
    this.#keys = ledgerKeys(catalog);
    this.#snapshots = snapshotsKey(catalog);
    this.#identity = identity;
    this.#mostEntries = mostEntries;
    this.#onClose = onClose;
    this.#tail = new LedgerTail(feed, catalog, () => this.head());
  }

  get history(): string {
    return this.#identity;
  }

  async append(entries: readonly Entry[]): Promise<Position> {
    if (entries.length === 0) return this.head();
    const records = await encodeEntries(entries);
    const mark = `${process.pid.toString(36)}-${Date.now().toString(36)}-${(this.#batches++).toString(36)}`;
    const channel = feedChannel(this.#connections);
    const args = [this.#identity, this.#mostEntries, mark, channel, this.#catalog, ...records];
    const head = Number(
      await this.#here(() =>
        answered(() => APPEND.run(this.#commands, [...this.#keys, this.#snapshots], args)),
      ),
    );
    this.#tail.grewTo(head);
    return head;
  }

  async read(after: Position, limit: number): Promise<PositionedEntry[]> {
    return (await this.#read(after, limit, '')).entries;
  }

  follower(): LedgerReader {
    let last = { position: 0, mark: '', history: '' };
    return {
      read: async (after, limit) => {
        const isKnown = last.position === after && last.history === this.#identity;
        const { entries, mark } = await this.#read(after, limit, isKnown ? last.mark : '');
        const newest = entries.at(-1);
        if (newest !== undefined) last = { position: newest.position, mark, history: this.#identity };
        return entries;
      },
    };
  }

  /** @param mark of the batch of the entry at `after`, '' if that is not known; returns that of the last one */
  async #read(
    after: Position,
    limit: number,
    mark: string,
  ): Promise<{ entries: PositionedEntry[]; mark: string }> {
    const [head, same, first, last, ...records] = (await this.#here(() =>
      READ.runForBytes(this.#commands, this.#keys, [this.#identity, after, limit, mark]),
    )) as [number, number, first: Buffer, last: Buffer, ...records: Buffer[]];
    this.#tail.reset(head);
    if (same === 0) {
      throw new LedgerTrimmedError(
        `Redis has lost entries of the ledger up to ${after}, with the last moments before it was restarted.`,
      );
    }
    const decoded = await decodeEntries(records);
    const follows = records.length > 0 ? positionOf(first) === after + 1 : head === after || limit === 0;
    if (!follows) {
      throw new LedgerTrimmedError(
        `Entry ${after + 1} of the ledger has been trimmed; a newer snapshot has it.`,
      );
    }
    const entries = decoded.map((entry, i) => ({ position: after + 1 + i, entry }));
    return { entries, mark: last.toString('latin1') };
  }

  wait(after: Position, signal: AbortSignal): Promise<void> {
    return this.#tail.wait(after, signal);
  }

  async head(): Promise<Position> {
    const [head, identity] = await this.#here(() => this.#commands.mget(this.#keys[1], this.#keys[2]));
    if (identity !== this.#identity) await this.#findIdentity(identity);
    this.#tail.grewTo(Number(head));
    return Number(head);
  }

  async trim(upTo: Position): Promise<void> {
    await this.#here(() => TRIM.run(this.#commands, this.#keys, [this.#identity, upTo + 1]));
  }

  async exists(): Promise<boolean> {
    const identity = await available(WHAT, () => this.#commands.get(this.#keys[2]));
    if (identity === this.#identity) return true;
    try {
      return await this.#findIdentity(identity);
    } catch (error) {
      if (error instanceof LedgerRemovedError) return false;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#tail.close();
    this.#onClose();
  }

  async #here<T>(command: () => Promise<T>): Promise<T> {
    try {
      return await available(WHAT, command);
    } catch (error) {
      const { message } = error as Error;
      if (message.includes('LEDGERFULL')) {
        throw new StoreUnavailableError(
          'The ledger in Redis cannot be used: it is full, since no snapshots are made: start `bandolier work`, or find out in its log why it makes none.',
          { cause: error },
        );
      }
      if (!message.includes('LEDGERGONE')) throw error;
      await this.#findIdentity(await available(WHAT, () => this.#commands.get(this.#keys[2])));
      throw new StoreUnavailableError('Redis was restored from a backup: this was not taken. Send it again.');
    }
  }

  /**
   * Another identity is in the place of this ledger's. If Redis was restored, that is the one from now on.
   * @throws LedgerRemovedError if the catalog was deleted, StoreUnavailableError if Redis has lost it
   */
  async #findIdentity(found: string | null): Promise<boolean> {
    const wasOf = this.#identity;
    await available(WHAT, () => this.#epoch.verify());
    const { current } = this.#epoch;
    const wasRestored = !wasOf.startsWith(ownedBy(current));
    if (found === null && !wasRestored) {
      throw new StoreUnavailableError(
        `Redis has lost the ledger of catalog "${this.#catalog}", and nobody has deleted it: bring it back, or delete the catalog.`,
      );
    }
    if (found === null || found === removedIdentity(current) || !wasRestored) {
      throw new LedgerRemovedError(this.#catalog);
    }
    if (!found.startsWith(ownedBy(current))) {
      throw new StoreUnavailableError(`The ledger of catalog "${this.#catalog}" is of another Redis.`);
    }
    this.#identity = found;
    return true;
  }
}

function positionOf(id: Buffer): Position {
  return Number(id.toString('latin1').split('-')[0]);
}
