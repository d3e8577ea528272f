import { afterEach, describe, expect, it } from 'vitest';
import type { Lease, Leases } from '../../src/snapshots/snapshot-store.ts';

/** One place in which leases are given out. */
export interface LeasePlace {
  /** Connects to it, as a process of its own does. */
  connect(): Promise<Leases>;
  /** A process takes this lease and dies without releasing it; resolves once its time has run out. */
  holdAndDie(name: string): Promise<{ readonly fence: number }>;
  dispose(): Promise<void>;
}

/** What every implementation of `Leases` keeps. `createPlace` makes an empty one. */
export function leaseContract(name: string, createPlace: () => Promise<LeasePlace>): void {
  describe(`${name} as leases`, () => {
    let place: LeasePlace;
    const connected: Leases[] = [];

    async function connect(): Promise<Leases> {
      const leases = await place.connect();
      connected.push(leases);
      return leases;
    }

    afterEach(async () => {
      for (const leases of connected.splice(0)) await leases.close();
      await place.dispose();
    });

    it('gives a lease to one at a time', async () => {
      place = await createPlace();
      const [a, b] = [await connect(), await connect()];
      const lease = await taken(a);
      expect(lease.lost.aborted).toBe(false);
      expect(await b.acquire('x')).toBeNull();
      expect(await a.acquire('x')).toBeNull();
      await lease.release();
      expect(lease.lost.aborted).toBe(true);
      expect(await b.acquire('x')).not.toBeNull();
      expect(await a.acquire('x')).toBeNull();
    });

    it('gives out fences that only grow, for all processes', async () => {
      place = await createPlace();
      let last = 0;
      for (let round = 0; round < 4; round++) {
        const leases = await connect();
        const lease = await taken(leases);
        expect(lease.fence).toBeGreaterThan(last);
        last = lease.fence;
        await (round % 2 === 0 ? lease.release() : leases.close());
      }
    });

    it('has exactly one winner among many', async () => {
      place = await createPlace();
      const all = await Promise.all(Array.from({ length: 8 }, connect));
      for (let round = 0; round < 3; round++) {
        const leases = await Promise.all(all.map((one) => one.acquire('x')));
        const winners = leases.filter((lease) => lease !== null);
        expect(winners).toHaveLength(1);
        await winners[0].release();
      }
    });

    it('keeps names apart', async () => {
      place = await createPlace();
      const leases = await connect();
      for (const other of ['x', 'y', 'x-y', 'snapshots-default', 'a/b:c', 'X']) {
        expect(await leases.acquire(other)).not.toBeNull();
      }
    });

    it('lets everything go when it is closed', async () => {
      place = await createPlace();
      const a = await connect();
      const held = [await taken(a, 'x'), await taken(a, 'y')];
      await a.close();
      expect(held.map(({ lost }) => lost.aborted)).toEqual([true, true]);
      const b = await connect();
      expect(await b.acquire('x')).not.toBeNull();
      expect(await b.acquire('y')).not.toBeNull();
    });

    it('passes on the lease of a process that died, with a greater fence', async () => {
      place = await createPlace();
      const dead = await place.holdAndDie('x');
      const lease = await taken(await connect());
      expect(lease.fence).toBeGreaterThan(dead.fence);
    });

    it('may be released twice, and late, without harm to the next holder', async () => {
      place = await createPlace();
      const [a, b] = [await connect(), await connect()];
      const first = await taken(a);
      await first.release();
      const second = await taken(b);
      await first.release();
      await a.close();
      expect(second.lost.aborted).toBe(false);
      expect(await (await connect()).acquire('x')).toBeNull();
    });
  });
}

async function taken(leases: Leases, name = 'x'): Promise<Lease> {
  const lease = await leases.acquire(name);
  if (lease === null) throw new Error('the lease is held by somebody else');
  return lease;
}
