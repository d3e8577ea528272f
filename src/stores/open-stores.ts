import type { Settings } from '../../config/settings.ts';
import { openEmbeddedStores } from './embedded-stores.ts';
import type { Stores } from './stores.ts';

export interface StoreListeners {
  onError(message: string, error: unknown): void;
}

/** Redis if it is set, else the data folder. Never one in place of the other: what is kept would be divided. */
export async function openStores(settings: Settings, listeners: StoreListeners): Promise<Stores> {
  const { redisUrl } = settings;
  if (redisUrl === undefined) return openEmbeddedStores(settings, listeners);
  // Its libraries take longer to load than all of ours, and most processes do not need them.
  const { openRedisStores } = await import('./redis-stores.ts');
  return openRedisStores(redisUrl, settings, listeners);
}
