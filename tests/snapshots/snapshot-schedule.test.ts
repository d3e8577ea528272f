import { describe, expect, it, vi } from 'vitest';
import { FileLedgers } from '../../src/ledger/file-ledgers.ts';
import { FileLeases } from '../../src/snapshots/file-leases.ts';
import { FileSnapshotStores } from '../../src/snapshots/file-snapshot-store.ts';
import { snapshotsOfReplicas } from '../../src/snapshots/snapshot-makers.ts';
import { SnapshotSchedule } from '../../src/snapshots/snapshot-schedule.ts';
import { snapshotLease } from '../../src/snapshots/snapshot-store.ts';
import { loadState } from '../../src/snapshots/stored-state.ts';
import { Replica } from '../../src/state/replica.ts';
import { encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { decision, emptyState, observe, report, Story } from '../state/entries.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';

/** A catalog that is open in this process, with the schedule that makes its snapshots. */
async function opened() {
  const folder = temporaryFolder();
  const ledger = await new FileLedgers(folder).open('default');
  const story = Story.withTools(3);
  await ledger.append(story.entries);
  const replica = new Replica(emptyState(), ledger, {
    now: () => 0,
    reload: () => Promise.reject(new Error('nothing was trimmed')),
  });
  await replica.catchUp();
  const leases = new FileLeases(folder);
  const snapshots = new FileSnapshotStores(folder);
  const schedule = new SnapshotSchedule({
    stores: { leases, snapshots },
    ledgers: { names: async () => ['default'], get: async () => ledger },
    make: snapshotsOfReplicas(snapshots, (name) => (name === 'default' ? replica : null)),
    keepSince: () => 0,
    onError: (message) => expect.fail(message),
  });
  const close = async (): Promise<void> => {
    await schedule.close();
    await replica.close();
    replica.state.free();
    await leases.close();
    await ledger.close();
  };
  const reported = (id: string) => observe(decision(id, ['t0', 't1']), [report(`r${id}`, 't1')]);
  const store = await snapshots.open('default');
  return { ledger, story, replica, leases, schedule, store, reported, close };
}

describe('snapshots of the state that serves', () => {
  it('lead to the same state as the ledger, also where entries come while they are made', async () => {
    const { ledger, story, replica, schedule, store, reported, close } = await opened();
    const first = replica.state.position;
    const entry = reported('a');
    const { snapshot } = replica;
    vi.spyOn(replica, 'snapshot').mockImplementationOnce(async () => {
      const making = snapshot.call(replica);
      await ledger.append([entry]);
      await replica.catchUp();
      return making;
    });
    expect(await schedule.snapshot('default', ledger)).toBe(first);
    expect((await store.get(first))?.bytes).toEqual(encodeSnapshot(story.state));
    story.tell(entry);
    expect(await schedule.snapshot('default', ledger)).toBe(first + 1);
    const unreadable = (): never => expect.fail('the snapshot can be read');
    const loaded = await loadState('default', store, { kernels: story.kernels, derived: true }, unreadable);
    expect(encodeSnapshot(loaded)).toEqual(encodeSnapshot(story.state));
    loaded.free();
    await close();
  });

  it('are not written again where nothing has happened, nor without the lease', async () => {
    const { ledger, replica, leases, schedule, store, close } = await opened();
    const held = await leases.acquire(snapshotLease('default'));
    expect(await schedule.snapshot('default', ledger)).toBeNull();
    expect(await store.list()).toEqual([]);
    await held!.release();
    const { position } = replica.state;
    expect(await schedule.snapshot('default', ledger)).toBe(position);
    const put = vi.spyOn(store, 'put');
    expect(await schedule.snapshot('default', ledger)).toBe(position);
    expect(put).not.toHaveBeenCalled();
    expect(await store.list()).toEqual([position]);
    await close();
  });

  it('are refused when a newer lease was given out while they were made, and the one before stays', async () => {
    const { ledger, replica, leases, schedule, store, reported, close } = await opened();
    const first = await schedule.snapshot('default', ledger);
    await ledger.append([reported('a')]);
    await replica.catchUp();
    const { snapshot } = replica;
    vi.spyOn(replica, 'snapshot').mockImplementation(async () => {
      const made = await snapshot.call(replica);
      // As if this process had stood still for too long.
      await leases.close();
      await leases.acquire(snapshotLease('default'));
      return made;
    });
    await expect(schedule.snapshot('default', ledger)).rejects.toThrow('nothing was written');
    expect(await store.list()).toEqual([first]);
    await close();
  });
});
