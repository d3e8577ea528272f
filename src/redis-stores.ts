import type { Settings } from '../config/settings.ts';
import { RedisEvaluationStore } from './evaluation/redis-evaluation-store.ts';
import { RedisLedgers } from './ledger/redis-ledgers.ts';
import { BullmqJobQueue } from './queue/bullmq-job-queue.ts';
import { RedisConnections } from './redis/redis-connection.ts';
import { RedisDecisionLogs } from './routing/redis-decision-logs.ts';
import { RedisLeases } from './state/redis-leases.ts';
import { RedisSnapshotStores } from './state/redis-snapshot-store.ts';
import { StoreClock } from './store-clock.ts';
import type { Stores } from './stores.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Many processes: everything that is durable lies in Redis.
 * @throws RedisUnusableError when it cannot be reached, refuses us, or is too old
 */
export async function openRedisStores(
  redisUrl: string,
  settings: Pick<Settings, 'keepDecisionsDays' | 'maxPendingRewards'>,
  { trouble }: { trouble(message: string, error: unknown): void },
): Promise<Stores> {
  const connections = await RedisConnections.open(redisUrl);
  for (const sentence of await connections.advice()) trouble(sentence, null);
  const clock = await StoreClock.start({
    keeper: 'Redis',
    ask: () => connections.time(),
    onSkew: (sentence) => trouble(sentence, null),
  }).catch((error) => {
    connections.close();
    throw error;
  });
  const leases = new RedisLeases(connections.commands);
  const decisionLogs = new RedisDecisionLogs(connections, {
    retainMs: settings.keepDecisionsDays * DAY_MS,
    now: clock.now,
  });
  return {
    mode: 'redis',
    clock,
    ledgers: new RedisLedgers(connections),
    snapshots: new RedisSnapshotStores(connections),
    leases,
    decisionLogs,
    evaluations: new RedisEvaluationStore(connections),
    queue: new BullmqJobQueue(connections, {
      maxJobs: settings.maxPendingRewards,
      clock,
      onTrouble: trouble,
    }),
    close: async () => {
      clock.close();
      await decisionLogs.close();
      await leases.close();
      connections.close();
    },
  };
}
