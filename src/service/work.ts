import type { Logger } from 'pino';
import type { Settings } from '../../config/settings.ts';
import { rewardPlaces, startRewardWorker } from '../../workers/reward-worker.ts';
import { LedgerCollection } from '../ledger/open-ledgers.ts';
import { SnapshotSchedule } from '../snapshots/snapshot-schedule.ts';
import { openRedisStores } from '../stores/redis-stores.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface Work {
  /** Takes no more jobs, finishes those it has, lets leases and connections go. */
  close(): Promise<void>;
}

/**
 * The composition root of `bandolier work`: what has to be done once for all routers. Rewards are joined with
 * their decisions, decisions are settled, snapshots are made under a lease.
 */
export async function startWork(redisUrl: string, settings: Settings, log: Logger): Promise<Work> {
  const onError = (message: string, error: unknown): void => log.error({ err: error }, message);
  const stores = await openRedisStores(redisUrl, settings, { onError });
  stores.clock.report();
  const ledgers = new LedgerCollection(stores.ledgers);
  startRewardWorker({ queue: stores.queue, placeOf: rewardPlaces(ledgers, stores), now: stores.clock.now });
  const snapshots = new SnapshotSchedule({
    ...{ stores, ledgers, onError },
    keepSince: () => stores.clock.now() - settings.keepDecisionsDays * DAY_MS,
    location: () => ({ redisUrl, epoch: stores.epoch.current }),
  });
  return {
    close: async () => {
      await stores.queue.close(settings.shutdownSeconds * 1000);
      await snapshots.close();
      await ledgers.close();
      await stores.close();
    },
  };
}
