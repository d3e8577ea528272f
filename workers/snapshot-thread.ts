import { parentPort, workerData } from 'node:worker_threads';
import { RedisLedgers } from '../src/ledger/redis-ledgers.ts';
import { RedisConnections } from '../src/redis/redis-connection.ts';
import { RedisSnapshotStores } from '../src/snapshots/redis-snapshot-store.ts';
import type { SnapshotThreadAnswer, SnapshotThreadTask } from '../src/snapshots/snapshot-makers.ts';
import { writeSnapshot } from '../src/snapshots/stored-state.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';

/** Entry of the thread that makes one snapshot of one catalog in Redis, and ends. */
const { location, ...task } = workerData as SnapshotThreadTask;
const warnings: string[] = [];
const begun = performance.now();
const connections = await RedisConnections.open(location.redisUrl, location.epoch);
const ledger = await new RedisLedgers(connections).openExisting(task.catalog);
const position = await writeSnapshot({
  ...task,
  store: await new RedisSnapshotStores(connections).open(task.catalog),
  upTo: await ledger.head(),
  read: (after, limit) => ledger.read(after, limit),
  context: { kernels: await loadKernels(), derived: false },
  onUnreadable: (at, error) => warnings.push(`snapshot ${at} cannot be read: ${(error as Error).message}`),
});
connections.close();
const answer: SnapshotThreadAnswer = { position, workedMs: performance.now() - begun, warnings };
parentPort?.postMessage(answer);
