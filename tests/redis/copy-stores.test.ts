import { afterEach, describe, expect, it } from 'vitest';
import { snapshotLease } from '../../src/snapshots/snapshot-store.ts';
import { copyStores } from '../../src/stores/copy-stores.ts';
import { openEmbeddedStores } from '../../src/stores/embedded-stores.ts';
import { openRedisStores } from '../../src/stores/redis-stores.ts';
import type { Stores } from '../../src/stores/stores.ts';
import { temporaryFolder, until } from '../e2e/running-service.ts';
import { redisProgram, startRedis } from './redis-server.ts';

const SETTINGS = { keepDecisionsDays: 8, maxPendingRewards: 1_000 };
const listeners = { onError: () => {} };

describe.skipIf(redisProgram.path === null)(`a copy of a Redis in use${redisProgram.missing ?? ''}`, () => {
  const disposals: (() => unknown)[] = [];
  afterEach(async () => {
    for (const dispose of disposals.splice(0).reverse()) await dispose();
  });

  function kept(stores: Stores): Stores {
    disposals.push(() => stores.close());
    return stores;
  }

  it('is made while nobody makes snapshots: what is copied is not trimmed meanwhile', async () => {
    const redis = await startRedis();
    disposals.push(() => redis.dispose());
    const folder = temporaryFolder();
    disposals.push(() => folder.remove());
    const inUse = kept(await openRedisStores(redis.url, SETTINGS, listeners));
    const from = kept(await openRedisStores(redis.url, SETTINGS, listeners));
    const to = kept(await openEmbeddedStores({ ...SETTINGS, dataDir: folder.path }, listeners));
    const ledger = await inUse.ledgers.open('shop');
    disposals.push(() => ledger.close());
    const some = (n: number) =>
      Array.from({ length: 100 }, (_, i) => ({
        ...{ kind: 'forget' as const, key: `forget/${n}-${i}`, at: 1, unit: 1 },
      }));
    await ledger.append(some(1));
    // Somebody is in the middle of a snapshot, and trims behind it.
    const lease = await inUse.leases.acquire(snapshotLease('shop'));
    const isHere: string[] = [];
    const asked: string[] = [];
    const acquire = (name: string) => {
      asked.push(name);
      return from.leases.acquire(name);
    };
    const watched = { ...from, leases: { acquire, close: () => from.leases.close() } };
    const copying = copyStores(watched, to).finally(() => isHere.push('the copy'));
    await until(() => asked.length > 0);
    await ledger.append(some(2));
    await ledger.trim(100);
    const snapshot = { position: 200, bytes: Buffer.from('a snapshot') };
    await (await inUse.snapshots.open('shop')).put(snapshot, lease!.fence, 3);
    isHere.push('the snapshot');
    await lease!.release();
    expect(await copying).toMatchObject({ catalogs: 1, snapshots: 1, entries: 100 });
    expect(isHere).toEqual(['the snapshot', 'the copy']);
    expect(await inUse.leases.acquire(snapshotLease('shop'))).not.toBeNull();
  });
});
