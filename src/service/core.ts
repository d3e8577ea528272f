import type { Logger } from 'pino';
import type { Settings } from '../../config/settings.ts';
import { rewardStores, startRewardWorker } from '../../workers/reward-worker.ts';
import type { OpenLedgers } from '../ledger/open-ledgers.ts';
import { type MakeSnapshot, SnapshotSchedule } from '../snapshots/snapshot-schedule.ts';
import { Closers } from '../stores/closers.ts';
import { openStores } from '../stores/open-stores.ts';
import type { Stores } from '../stores/stores.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** How often erasures of other processes are looked for that broke off. */
export const REMOVALS_EVERY_MS = 30_000;

/** What every process of a deployment opens first and closes last. */
export interface Core {
  readonly settings: Settings;
  readonly log: Logger;
  readonly stores: Stores;
  onError(message: string, error: unknown): void;
  /** Adds what `close` has to close before everything that was opened earlier. */
  onClose(close: () => unknown): void;
}

/**
 * Opens the stores and, with `open`, what reads them. If `open` throws, what is open is closed and that error is thrown.
 * @throws what the stores or `open` throw
 */
export async function openCore<Parts extends object>(
  settings: Settings,
  log: Logger,
  open: (core: Core) => Promise<Parts>,
): Promise<Parts & { close(): Promise<void> }> {
  const onError = (message: string, error: unknown): void =>
    log.error(error === null ? {} : { err: error }, message);
  const closers = new Closers(onError);
  const stores = await openStores(settings, { onError, onNotice: (message) => log.warn(message) });
  closers.add(() => stores.close());
  const core = { settings, log, stores, onError, onClose: closers.add };
  return { ...(await closers.during(() => open(core))), close: closers.close };
}

/**
 * Starts what is done once for all routers of a deployment: rewards are joined with their decisions, decisions are settled,
 * snapshots are made. In embedded mode the one process does it; over Redis `bandolier work`. The caller closes the queue.
 */
export function startBackgroundWork(core: Core, ledgers: OpenLedgers, make: MakeSnapshot): SnapshotSchedule {
  const { settings, stores, onError, onClose } = core;
  const { now } = stores.clock;
  startRewardWorker({ queue: stores.queue, storesOf: rewardStores(ledgers, stores), now });
  const snapshots = new SnapshotSchedule({
    ...{ stores, ledgers, make, onError },
    // Over Redis others go on making them.
    lastAtClose: stores.mode === 'embedded',
    keepSince: () => now() - settings.keepDecisionsDays * DAY_MS,
  });
  onClose(() => snapshots.close());
  return snapshots;
}

/** Takes no more jobs and gives those in progress time to finish. */
export function closeQueue({ stores, settings }: Core): Promise<void> {
  return stores.queue.close(settings.shutdownSeconds * 1000);
}
