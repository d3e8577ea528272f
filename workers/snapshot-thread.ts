import { parentPort } from 'node:worker_threads';
import { RedisLedgers } from '../src/ledger/redis-ledgers.ts';
import { RedisConnections } from '../src/redis/redis-connection.ts';
import { RedisSnapshotStores } from '../src/snapshots/redis-snapshot-store.ts';
import type { SnapshotThreadAnswer, SnapshotThreadTask } from '../src/snapshots/snapshot-makers.ts';
import { writeSnapshot } from '../src/snapshots/stored-state.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';

/** The thread that makes snapshots of catalogs in Redis, one for each message. It ends with the first one that fails. */
const port = parentPort;
if (port === null) throw new Error('snapshot-thread runs as a worker thread only.');
const kernels = await loadKernels();
port.on('message', async (task: SnapshotThreadTask) => port.postMessage(await made(task)));

async function made({ location, ...task }: SnapshotThreadTask): Promise<SnapshotThreadAnswer> {
  const warnings: string[] = [];
  const begun = performance.now();
  const connections = await RedisConnections.open(location.redisUrl, location.epoch);
  const ledger = await new RedisLedgers(connections).openExisting(task.catalog);
  const position = await writeSnapshot({
    ...task,
    store: await new RedisSnapshotStores(connections).open(task.catalog),
    upTo: await ledger.head(),
    read: (after, limit) => ledger.read(after, limit),
    context: { kernels, derived: false },
    onUnreadable: (at, error) => warnings.push(`snapshot ${at} cannot be read: ${(error as Error).message}`),
  });
  connections.close();
  return { position, workedMs: performance.now() - begun, warnings };
}
