import { afterEach, describe, expect, it } from 'vitest';
import {
  type SnapshotStore,
  type SnapshotStores,
  StaleFenceError,
} from '../../src/snapshots/snapshot-store.ts';

/** One place in which snapshots are kept. */
export interface SnapshotPlace {
  /** Connects to it, as a starting process does. */
  connect(): Promise<SnapshotStores>;
  /** Gives out the next lease for the snapshots of a catalog and answers its fence. */
  grantLease(catalog: string): Promise<number>;
  dispose(): Promise<void>;
}

/** What every implementation of `SnapshotStores` and `SnapshotStore` keeps. `createPlace` makes an empty one. */
export function snapshotStoreContract(name: string, createPlace: () => Promise<SnapshotPlace>): void {
  describe(`${name} as a snapshot store`, () => {
    let place: SnapshotPlace;
    const open: SnapshotStore[] = [];

    async function start(): Promise<{ store: SnapshotStore; fence: number }> {
      place = await createPlace();
      return { store: await openStore(), fence: await place.grantLease('default') };
    }

    async function openStore(catalog = 'default'): Promise<SnapshotStore> {
      const store = await (await place.connect()).open(catalog);
      open.push(store);
      return store;
    }

    afterEach(async () => {
      for (const store of open.splice(0)) await store.close();
      await place.dispose();
    });

    it('is empty at first', async () => {
      const { store } = await start();
      expect(await store.list()).toEqual([]);
      expect(await store.get(1)).toBeNull();
    });

    it('finds the position of the newest snapshot', async () => {
      const { store, fence } = await start();
      const stores = await place.connect();
      expect([await stores.newest('default'), await stores.newest('other')]).toEqual([0, 0]);
      for (const position of [5, 12]) await store.put(snapshot(position), fence, 3);
      expect([await stores.newest('default'), await stores.newest('other')]).toEqual([12, 0]);
    });

    it('returns the bytes of a snapshot to every process', async () => {
      const { store, fence } = await start();
      const bytes = Buffer.alloc(5_000_000, 'snapshot');
      await store.put({ position: 12, bytes }, fence, 3);
      for (const reader of [store, await openStore()]) {
        expect(await reader.list()).toEqual([12]);
        const stored = await reader.get(12);
        expect(stored?.position).toBe(12);
        expect(bytes.equals(stored!.bytes)).toBe(true);
      }
    });

    it('lists the newest first and keeps as many as the caller says', async () => {
      const { store, fence } = await start();
      for (const position of [9, 10, 100, 1000]) await store.put(snapshot(position), fence, 3);
      expect(await store.list()).toEqual([1000, 100, 10]);
      expect(await store.get(9)).toBeNull();
      await store.put(snapshot(2000), fence, 1);
      expect(await store.list()).toEqual([2000]);
    });

    it('replaces the snapshot of a position', async () => {
      const { store, fence } = await start();
      await store.put(snapshot(5, 'old'), fence, 3);
      await store.put(snapshot(5, 'new'), fence, 3);
      expect(await store.list()).toEqual([5]);
      expect(Buffer.from((await store.get(5))!.bytes).toString()).toBe('new');
    });

    it('refuses a writer that lost the lease, even if nothing was written under the next one yet', async () => {
      const { store, fence } = await start();
      await store.put(snapshot(1), fence, 3);
      const next = await place.grantLease('default');
      expect(next).toBeGreaterThan(fence);
      await expect(store.put(snapshot(2), fence, 3)).rejects.toThrow(StaleFenceError);
      expect(await store.list()).toEqual([1]);
      await store.put(snapshot(3), next, 3);
      await expect((await openStore()).put(snapshot(4), fence, 1)).rejects.toThrow(StaleFenceError);
      expect(await store.list()).toEqual([3, 1]);
    });

    it('shows a reader the old list or the new one while it is written', async () => {
      const { store, fence } = await start();
      await store.put(snapshot(1), fence, 2);
      const writing = (async () => {
        for (let position = 2; position <= 20; position++) await store.put(snapshot(position), fence, 2);
      })();
      const reader = await openStore();
      let newest = 1;
      while (newest < 20) {
        const list = await reader.list();
        expect(list.length).toBeGreaterThan(0);
        expect(list).toEqual([...list].sort((a, b) => b - a));
        expect(list[0]).toBeGreaterThanOrEqual(newest);
        newest = list[0];
        const stored = await reader.get(newest);
        // Gone again already, or whole.
        if (stored !== null) expect(Buffer.from(stored.bytes).toString()).toBe(`snapshot ${newest}`);
      }
      await writing;
    });

    it('takes snapshots beyond the end of the ledger out of the list', async () => {
      const { store, fence } = await start();
      for (const position of [10, 20, 30, 40]) await store.put(snapshot(position), fence, 5);
      expect(await store.discardAfter(20)).toBe(2);
      expect(await store.discardAfter(20)).toBe(0);
      expect(await (await openStore()).list()).toEqual([20, 10]);
      expect(await store.get(30)).toBeNull();
      await store.put(snapshot(30, 'another'), fence, 5);
      expect(Buffer.from((await store.get(30))!.bytes).toString()).toBe('another');
    });

    it('keeps catalogs apart and removes one for good', async () => {
      const { store, fence } = await start();
      const otherFence = await place.grantLease('other');
      const other = await openStore('other');
      await store.put(snapshot(1), fence, 3);
      await other.put(snapshot(2), otherFence, 3);
      await other.close();
      const stores = await place.connect();
      await stores.remove('other');
      await stores.remove('never-existed');
      expect(await (await openStore('other')).list()).toEqual([]);
      expect(await store.list()).toEqual([1]);
    });
  });
}

function snapshot(position: number, text = `snapshot ${position}`) {
  return { position, bytes: Buffer.from(text) };
}
