import type { Settings } from '../../config/settings.ts';
import { openEmbeddedStores } from './embedded-stores.ts';
import type { StoreListeners, Stores } from './stores.ts';

/** Opens Redis if it is set, else the data folder. If Redis cannot be used, the data folder is not used instead: data would be divided. */
export async function openStores(settings: Settings, listeners: StoreListeners): Promise<Stores> {
  const { redisUrl } = settings;
  if (redisUrl === undefined) return openEmbeddedStores(settings, listeners);
  // Loaded only when needed: these libraries take longer to load than the rest of Bandolier.
  const { openRedisStores } = await import('./redis-stores.ts');
  return openRedisStores(redisUrl, settings, listeners);
}
