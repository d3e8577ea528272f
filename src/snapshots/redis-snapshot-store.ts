import type { Position } from '../ledger/entry.ts';
import { identityKey, ownedBy } from '../ledger/redis-ledger-identity.ts';
import { catalogKey, snapshotsKey } from '../redis/keys.ts';
import type { RedisClient, RedisConnections } from '../redis/redis-connection.ts';
import type { RedisEpoch } from '../redis/redis-epoch.ts';
import { Script } from '../redis/script.ts';
import { fenceKey } from './redis-leases.ts';
import {
  type SnapshotStore,
  type SnapshotStores,
  StaleFenceError,
  type StoredSnapshot,
  snapshotLease,
} from './snapshot-store.ts';

/** A value of Redis is at most 512 MB, and one command that long would hold up all others. */
const PART_BYTES = 4 * 1024 * 1024;
/** Parts that no list names were left by a writer that died; they go by themselves. */
const UNLISTED_SECONDS = 3600;

/** KEYS …, identity of the ledger. ARGV …, how that begins as long as this is the Redis that was opened. */
const HERE = `
local owner = ARGV[#ARGV]
if string.sub(redis.call('GET', KEYS[#KEYS]) or '', 1, #owner) ~= owner then
  return redis.error_reply('another Redis is in its place')
end
`;

/**
 * Lists a snapshot whose parts are there, unless a newer lease was given out, and drops what is too many.
 * KEYS list (sorted set), fence, the parts of this snapshot, identity. ARGV fence, position, keep, prefix of parts, owner.
 * Returns −1 for a stale fence, else how many were dropped.
 */
const LIST = new Script(`
${HERE}
if tonumber(redis.call('GET', KEYS[2]) or '0') > tonumber(ARGV[1]) then return -1 end
for i = 3, #KEYS - 1 do redis.call('PERSIST', KEYS[i]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], ARGV[2], ARGV[2])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[2] .. '/' .. (#KEYS - 3))
local old = redis.call('ZREVRANGE', KEYS[1], ARGV[3], -1)
for _, member in ipairs(old) do
  redis.call('ZREM', KEYS[1], member)
  local position, parts = string.match(member, '(%d+)/(%d+)')
  for part = 0, tonumber(parts) - 1 do redis.call('UNLINK', ARGV[4] .. position .. ':' .. part) end
end
return #old
`);

/** KEYS list, identity. ARGV position, prefix of parts, owner. Drops what is later, and returns how many. */
const DISCARD = new Script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
${HERE}
local late = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf')
for _, member in ipairs(late) do
  redis.call('ZREM', KEYS[1], member)
  local position, parts = string.match(member, '(%d+)/(%d+)')
  for part = 0, tonumber(parts) - 1 do redis.call('UNLINK', ARGV[2] .. position .. ':' .. part) end
end
return #late
`);

/** Snapshots as sorted positions and parts of 4 MB each. */
export class RedisSnapshotStore implements SnapshotStore {
  readonly #client: RedisClient;
  readonly #epoch: RedisEpoch;
  readonly #owner: string;
  readonly #catalog: string;
  readonly #list: string;
  readonly #prefix: string;

  /** @param epoch of which these snapshots are: once Redis was restored, this store writes nothing any more */
  constructor(client: RedisClient, catalog: string, epoch: RedisEpoch) {
    this.#client = client;
    this.#epoch = epoch;
    this.#owner = ownedBy(epoch.current);
    this.#catalog = catalog;
    this.#list = snapshotsKey(catalog);
    this.#prefix = catalogKey(catalog, 'snapshot:');
  }

  async put({ position, bytes }: StoredSnapshot, fence: number, keep: number): Promise<void> {
    await this.#epoch.verify();
    const keys: string[] = [];
    for (let start = 0; start < Math.max(1, bytes.length); start += PART_BYTES) {
      const key = `${this.#prefix}${position}:${keys.length}`;
      const part = Buffer.from(
        bytes.buffer,
        bytes.byteOffset + start,
        Math.min(PART_BYTES, bytes.length - start),
      );
      await this.#client.set(key, part, 'EX', UNLISTED_SECONDS);
      keys.push(key);
    }
    const fenceOfCatalog = fenceKey(snapshotLease(this.#catalog));
    const listed = await LIST.run(
      this.#client,
      [this.#list, fenceOfCatalog, ...keys, identityKey(this.#catalog)],
      [fence, position, keep, this.#prefix, this.#owner],
    );
    if (listed === -1) {
      throw new StaleFenceError(
        `The lease for the snapshots of "${this.#catalog}" has passed to another process.`,
      );
    }
  }

  async list(): Promise<Position[]> {
    return (await this.#members()).map(({ position }) => position);
  }

  async get(position: Position): Promise<StoredSnapshot | null> {
    const member = (await this.#members()).find((other) => other.position === position);
    if (member === undefined) return null;
    const parts: Buffer[] = [];
    for (let part = 0; part < member.parts; part++) {
      const bytes = await this.#client.getBuffer(`${this.#prefix}${position}:${part}`);
      if (bytes === null) return null;
      parts.push(bytes);
    }
    return { position, bytes: Buffer.concat(parts) };
  }

  async discardAfter(position: Position): Promise<number> {
    return Number(
      await DISCARD.run(
        this.#client,
        [this.#list, identityKey(this.#catalog)],
        [position, this.#prefix, this.#owner],
      ),
    );
  }

  async close(): Promise<void> {}

  async #members(): Promise<{ position: Position; parts: number }[]> {
    const members = await this.#client.zrevrange(this.#list, 0, -1);
    return members.map((member) => {
      const [position, parts] = member.split('/').map(Number);
      return { position, parts };
    });
  }
}

export class RedisSnapshotStores implements SnapshotStores {
  readonly #connections: RedisConnections;

  constructor(connections: RedisConnections) {
    this.#connections = connections;
  }

  async open(catalog: string): Promise<SnapshotStore> {
    const { commands, epoch } = this.#connections;
    await epoch.claim();
    return new RedisSnapshotStore(commands, catalog, epoch);
  }

  async newest(catalog: string): Promise<Position> {
    const [newest = 0] = await (await this.open(catalog)).list();
    return newest;
  }

  async remove(catalog: string): Promise<void> {
    // One that is being made is refused from here on.
    await this.#connections.commands.incr(fenceKey(snapshotLease(catalog)));
    await (await this.open(catalog)).discardAfter(-1);
  }
}
