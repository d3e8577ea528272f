import { afterEach, describe, expect, it, vi } from 'vitest';
import { FileLedgers } from '../../src/ledger/file-ledgers.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { FileLeases } from '../../src/snapshots/file-leases.ts';
import { FileSnapshotStores } from '../../src/snapshots/file-snapshot-store.ts';
import { snapshotsOfReplicas } from '../../src/snapshots/snapshot-makers.ts';
import { SnapshotSchedule } from '../../src/snapshots/snapshot-schedule.ts';
import { type SnapshotStores, snapshotLease } from '../../src/snapshots/snapshot-store.ts';
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
    lastAtClose: true,
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

describe('when snapshots are made', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const LOOK_MS = 5_000;

  /** A ledger of so many entries, of which a snapshot takes so long; nothing is kept. */
  function scheduled(workedMs: number, lastAtClose = false) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const made: number[] = [];
    const ledger = { entries: 0, head: async () => ledger.entries };
    const snapshots = { newest: async () => made.at(-1) ?? 0, open: async () => ({ list: async () => [] }) };
    const schedule = new SnapshotSchedule({
      stores: {
        leases: new FileLeases(temporaryFolder()),
        snapshots: snapshots as unknown as SnapshotStores,
      },
      ledgers: { names: async () => ['default'], get: async () => ledger as unknown as Ledger },
      make: async () => {
        made.push(ledger.entries);
        return { position: ledger.entries, workedMs };
      },
      keepSince: () => 0,
      lastAtClose,
      onError: (message) => expect.fail(message),
    });
    const pass = async (ms: number): Promise<void> => {
      await vi.advanceTimersByTimeAsync(ms);
      await schedule.idle();
    };
    /** Waits for the first look. */
    const begin = async (entries: number): Promise<void> => {
      ledger.entries = entries;
      await pass(1_000);
    };
    return { ledger, made, pass, begin, close: () => schedule.close() };
  }

  it('is after a thousand entries', async () => {
    const { ledger, made, pass, begin, close } = scheduled(0);
    await begin(999);
    expect(made).toEqual([]);
    ledger.entries = 1_000;
    await pass(LOOK_MS);
    ledger.entries = 1_999;
    await pass(LOOK_MS);
    expect(made).toEqual([1_000]);
    ledger.entries = 2_000;
    await pass(LOOK_MS);
    expect(made).toEqual([1_000, 2_000]);
    await close();
  });

  it('is not before the last one has been rested from for twenty times as long as it took', async () => {
    const { ledger, made, pass, begin, close } = scheduled(LOOK_MS);
    await begin(1_000);
    ledger.entries = 100_999;
    for (let look = 1; look < 20; look++) await pass(LOOK_MS);
    expect(made).toEqual([1_000]);
    await pass(LOOK_MS);
    expect(made).toEqual([1_000, 100_999]);
    await close();
  });

  it('is at once where so many entries have come that folding them again takes a minute', async () => {
    const { ledger, made, pass, begin, close } = scheduled(1_000 * LOOK_MS);
    await begin(1_000);
    ledger.entries = 101_000;
    await pass(LOOK_MS);
    ledger.entries = 201_000;
    await pass(LOOK_MS);
    ledger.entries = 300_999;
    await pass(LOOK_MS);
    expect(made).toEqual([1_000, 101_000, 201_000]);
    await close();
  });

  it('is at the end where the next start would fold two hundred entries, however long the last one took', async () => {
    const { ledger, made, begin, close } = scheduled(1_000 * LOOK_MS, true);
    await begin(1_000);
    ledger.entries = 1_200;
    await close();
    expect(made).toEqual([1_000, 1_200]);
  });

  it('is not at the end where fewer have come, nor where other processes go on making them', async () => {
    const own = scheduled(0, true);
    await own.begin(1_000);
    own.ledger.entries = 1_199;
    await own.close();
    expect(own.made).toEqual([1_000]);
    const shared = scheduled(0, false);
    await shared.begin(1_000);
    shared.ledger.entries = 1_999;
    await shared.close();
    expect(shared.made).toEqual([1_000]);
  });
});
