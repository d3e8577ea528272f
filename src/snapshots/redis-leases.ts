import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { catalogKey } from '../redis/keys.ts';
import type { RedisClient, RedisConnections } from '../redis/redis-connection.ts';
import type { RedisEpoch } from '../redis/redis-epoch.ts';
import { Script } from '../redis/script.ts';
import { type Lease, type Leases, snapshotLease } from './snapshot-store.ts';

const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 5_000;

/** KEYS holder, fence. ARGV holder, ms. Returns the new fence, or 0 while another holder has it. */
const ACQUIRE = new Script(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end
return 0
`);
/** KEYS holder. ARGV holder, ms. Returns 1 if it is still ours. */
const RENEW = new Script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
`);
/** KEYS holder. ARGV holder. */
const RELEASE = new Script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`);

/** Where the newest fence of a lease is kept. */
export function fenceKey(name: string): string {
  return `${leaseKey(name)}-fence`;
}

/** A lease for the snapshots of a catalog lies on the shard of that catalog. */
function leaseKey(name: string): string {
  const prefix = snapshotLease('');
  return name.startsWith(prefix) ? catalogKey(name.slice(prefix.length), 'lease') : catalogKey(name, 'lease');
}

/** Leases as keys that expire. A holder that cannot renew in time considers its lease lost before it expires. */
export class RedisLeases implements Leases {
  readonly #client: RedisClient;
  readonly #epoch: RedisEpoch;
  readonly #leaseMs: number;
  readonly #held = new Set<HeldLease>();

  constructor({ commands, epoch }: RedisConnections, leaseMs = LEASE_MS) {
    this.#client = commands;
    this.#epoch = epoch;
    this.#leaseMs = leaseMs;
  }

  async acquire(name: string): Promise<Lease | null> {
    await this.#epoch.verify();
    // Readable: it says which process holds the lease.
    const holder = `${process.pid}@${hostname()}/${randomUUID()}`;
    const fence = Number(
      await ACQUIRE.run(this.#client, [leaseKey(name), fenceKey(name)], [holder, this.#leaseMs]),
    );
    if (fence === 0) return null;
    const lease = new HeldLease(this.#client, leaseKey(name), holder, fence, this.#leaseMs, () =>
      this.#held.delete(lease),
    );
    this.#held.add(lease);
    return lease;
  }

  async close(): Promise<void> {
    for (const lease of this.#held) await lease.release();
  }
}

class HeldLease implements Lease {
  readonly fence: number;
  readonly #lost = new AbortController();
  readonly #client: RedisClient;
  readonly #key: string;
  readonly #holder: string;
  readonly #leaseMs: number;
  readonly #onEnd: () => void;
  readonly #renewal: NodeJS.Timeout;
  #expiry: NodeJS.Timeout;

  constructor(
    client: RedisClient,
    key: string,
    holder: string,
    fence: number,
    leaseMs: number,
    onEnd: () => void,
  ) {
    this.#client = client;
    this.#key = key;
    this.#holder = holder;
    this.fence = fence;
    this.#leaseMs = leaseMs;
    this.#onEnd = onEnd;
    this.#renewal = setInterval(() => this.#renew(), Math.min(RENEW_EVERY_MS, leaseMs / 3));
    this.#renewal.unref();
    this.#expiry = this.#expireLater();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async release(): Promise<void> {
    const held = !this.#lost.signal.aborted;
    this.#end();
    if (held) await RELEASE.run(this.#client, [this.#key], [this.#holder]).catch(() => {});
  }

  async #renew(): Promise<void> {
    try {
      const renewed = await RENEW.run(this.#client, [this.#key], [this.#holder, this.#leaseMs]);
      if (renewed !== 1) return this.#end();
      clearTimeout(this.#expiry);
      if (!this.#lost.signal.aborted) this.#expiry = this.#expireLater();
    } catch {
      // Redis is away: the next try may come in time, and the expiry below is watching.
    }
  }

  /** Counted from before the request, so that the lease ends here before another process can take it. */
  #expireLater(): NodeJS.Timeout {
    const timer = setTimeout(() => this.#end(), this.#leaseMs - this.#leaseMs / 5);
    timer.unref();
    return timer;
  }

  #end(): void {
    clearInterval(this.#renewal);
    clearTimeout(this.#expiry);
    this.#lost.abort();
    this.#onEnd();
  }
}
