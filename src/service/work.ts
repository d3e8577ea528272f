import type { Logger } from 'pino';
import type { Settings } from '../../config/settings.ts';
import { LedgerCollection } from '../ledger/open-ledgers.ts';
import { SnapshotThread } from '../snapshots/snapshot-makers.ts';
import { closeQueue, openCore, startBackgroundWork } from './core.ts';

export interface Work {
  /** Takes no more jobs, finishes those in progress, releases leases and connections. */
  close(): Promise<void>;
}

/** The composition root of `bandolier work`: the background work, and no HTTP. It holds ledgers, but no catalogs. */
export function startWork(settings: Settings, log: Logger): Promise<Work> {
  return openCore(settings, log, async (core) => {
    const { stores, onClose } = core;
    stores.clock.report();
    const ledgers = new LedgerCollection(stores.ledgers);
    onClose(() => ledgers.close());
    const { location } = stores;
    if (location === undefined) throw new Error('background work apart from routers needs Redis');
    const warn = (message: string): void => core.onError(message, null);
    const thread = new SnapshotThread(location, warn);
    onClose(() => thread.close());
    startBackgroundWork(core, ledgers, thread.make);
    onClose(() => closeQueue(core));
    return {};
  });
}
