import type { Settings } from '../../config/settings.ts';
import { RedisContextStore } from '../context/redis-context-store.ts';
import { RedisContextModelStore } from '../context/training/redis-context-model-store.ts';
import { RedisDecisionLogs } from '../decisions/redis-decision-logs.ts';
import { RedisEvaluationStore } from '../evaluation/redis-evaluation-store.ts';
import { RedisLedgers } from '../ledger/redis-ledgers.ts';
import { BullmqJobQueue } from '../queue/bullmq-job-queue.ts';
import { PROBE_KEY } from '../redis/keys.ts';
import { RedisConnections, RedisUnusableError } from '../redis/redis-connection.ts';
import { type RedisEpoch, RedisLostError } from '../redis/redis-epoch.ts';
import { RedisLeases } from '../snapshots/redis-leases.ts';
import { RedisSnapshotStores } from '../snapshots/redis-snapshot-store.ts';
import { Closers } from './closers.ts';
import { StoreClock } from './store-clock.ts';
import type { DeploymentMark, Stores } from './stores.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface RedisStores extends Stores {
  readonly epoch: RedisEpoch;
}

/**
 * Opens the stores of many processes: everything durable is in Redis.
 * @throws RedisUnusableError when Redis cannot be reached, refuses the connection, or is too old
 */
export async function openRedisStores(
  redisUrl: string,
  settings: Pick<Settings, 'keepDecisionsDays' | 'maxPendingRewards'>,
  { onError }: { onError(message: string, error: unknown): void },
): Promise<RedisStores> {
  const closers = new Closers(onError);
  return closers.during(() => open(redisUrl, settings, onError, closers));
}

async function open(
  redisUrl: string,
  settings: Pick<Settings, 'keepDecisionsDays' | 'maxPendingRewards'>,
  onError: (message: string, error: unknown) => void,
  closers: Closers,
): Promise<RedisStores> {
  const connections = await RedisConnections.open(redisUrl);
  closers.add(() => connections.close());
  const { epoch } = connections;
  try {
    await epoch.claim();
  } catch (error) {
    throw error instanceof RedisLostError ? new RedisUnusableError(error.message) : error;
  }
  epoch.listen({
    onLost: (reason) => onError(reason, null),
    onFound: () => onError('Redis is again the one that this process knows', null),
    onRestored: () => onError('Redis was restored from a backup: what it holds is read again', null),
  });
  epoch.watch();
  for (const sentence of await connections.advice()) onError(sentence, null);
  const clock = await StoreClock.start({
    reference: 'Redis',
    ask: () => connections.time(),
    onSkew: (sentence) => onError(sentence, null),
  });
  const leases = new RedisLeases(connections);
  closers.add(() => leases.close());
  const decisionLogs = new RedisDecisionLogs(connections, {
    retainMs: settings.keepDecisionsDays * DAY_MS,
    now: clock.now,
  });
  closers.add(() => decisionLogs.close());
  closers.add(() => clock.close());
  const queue = new BullmqJobQueue(connections, { maxJobs: settings.maxPendingRewards, clock, onError });
  closers.add(() => queue.close(0));
  return {
    mode: 'redis',
    clock,
    epoch,
    get lost() {
      return epoch.loss;
    },
    deployment: markOf(epoch),
    ledgers: new RedisLedgers(connections),
    snapshots: new RedisSnapshotStores(connections),
    leases,
    decisionLogs,
    evaluations: new RedisEvaluationStore(connections),
    contexts: new RedisContextStore(connections),
    contextModels: new RedisContextModelStore(connections),
    queue,
    location: () => ({ redisUrl, epoch: epoch.current }),
    taken: new AbortController().signal, // shared stores are never taken over
    writable: async () => {
      await connections.commands.set(PROBE_KEY, '', 'PX', 60_000);
    },
    close: closers.close,
  };
}

function markOf(epoch: RedisEpoch): DeploymentMark {
  return {
    id: async () => epoch.deployment,
    beginCopy: (id) => epoch.beginRestore(id),
    endCopy: () => epoch.endRestore(),
  };
}
