import { RedisLedgers } from '../src/ledger/redis-ledgers.ts';
import { RedisConnections } from '../src/redis/redis-connection.ts';
import { RedisSnapshotStores } from '../src/snapshots/redis-snapshot-store.ts';
import type { SnapshotAccess } from '../src/snapshots/stored-state.ts';

/** Ledger and snapshots of one catalog in Redis, for a snapshot thread. */
export async function openRedisAccess(
  redisUrl: string,
  epoch: string,
  catalog: string,
): Promise<SnapshotAccess> {
  const connections = await RedisConnections.open(redisUrl, epoch);
  const ledger = await new RedisLedgers(connections).openExisting(catalog);
  return {
    store: await new RedisSnapshotStores(connections).open(catalog),
    read: (after, upTo, limit) => ledger.read(after, Math.min(limit, upTo - after)),
    close: () => connections.close(),
  };
}
