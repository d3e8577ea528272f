import type { Settings } from '../config/settings.ts';
import { openEmbeddedStores } from './embedded-stores.ts';
import { openRedisStores } from './redis-stores.ts';
import type { Stores } from './stores.ts';

export interface StoreListeners {
  /** ms since the epoch. */
  now(): number;
  trouble(message: string, error: unknown): void;
}

/** Redis if it is set, else the data folder. Never one in place of the other: what is kept would be divided. */
export function openStores(settings: Settings, listeners: StoreListeners): Promise<Stores> {
  const { redisUrl } = settings;
  return redisUrl === undefined
    ? openEmbeddedStores(settings, listeners)
    : openRedisStores(redisUrl, settings, listeners);
}
