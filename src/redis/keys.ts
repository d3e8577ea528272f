/**
 * Every key of one catalog carries the hash tag `{catalog}`: on a cluster they lie on one shard, so that a script
 * may touch several of them.
 */
export function catalogKey(catalog: string, part: string): string {
  return `bandolier:{${catalog}}:${part}`;
}

/** Positions of the snapshots of a catalog, as scores. */
export function snapshotsKey(catalog: string): string {
  return catalogKey(catalog, 'snapshots');
}

/** Names of the catalogs that have a ledger. */
export const CATALOGS_KEY = 'bandolier:catalogs';

/** Which Redis this is, see `RedisEpoch`. */
export const EPOCH_KEY = 'bandolier:epoch';

/** Written to find out whether anything can be. */
export const PROBE_KEY = 'bandolier:probe';

/** All background jobs lie on one shard, under this prefix. */
export const JOBS_PREFIX = 'bandolier:{jobs}';

/** The key by which the keys of users are wrapped, itself encrypted under the operator's secret. */
export const CONTEXT_SERVICE_KEY = 'bandolier:context-service-key';
