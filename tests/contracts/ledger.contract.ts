import { afterEach, describe, expect, it } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import {
  type Ledger,
  LedgerRemovedError,
  type Ledgers,
  LedgerTrimmedError,
  type PositionedEntry,
} from '../../src/ledger/ledger.ts';

/** One place in which ledgers are kept, used by one process at a time. */
export interface LedgerStore {
  /** Connects to it, as a starting process does. What an earlier connection wrote is there. */
  connect(): Promise<Ledgers>;
  /** Lets an earlier connection go, as an ending process does. */
  disconnect(ledgers: Ledgers): Promise<void>;
  dispose(): Promise<void>;
}

/** What every implementation of `Ledgers` and `Ledger` keeps. `createStore` makes an empty one. */
export function ledgerContract(name: string, createStore: () => Promise<LedgerStore>): void {
  describe(`${name} as a ledger`, () => {
    let store: LedgerStore;
    let ledgers: Ledgers;
    const open: Ledger[] = [];

    async function start(): Promise<void> {
      store = await createStore();
      ledgers = await store.connect();
    }

    async function openLedger(catalog = 'default'): Promise<Ledger> {
      const ledger = await ledgers.open(catalog);
      open.push(ledger);
      return ledger;
    }

    async function restart(): Promise<void> {
      for (const ledger of open.splice(0)) await ledger.close();
      await store.disconnect(ledgers);
      ledgers = await store.connect();
    }

    afterEach(async () => {
      for (const ledger of open.splice(0)) await ledger.close();
      await store.disconnect(ledgers);
      await store.dispose();
    });

    it('is opened by those who must not create one only if it is there', async () => {
      await start();
      await expect(ledgers.openExisting('default')).rejects.toThrow(LedgerRemovedError);
      expect(await ledgers.list()).toEqual([]);
      await (await openLedger()).append([numbered(1)]);
      await open.splice(0)[0].close();
      const existing = await ledgers.openExisting('default');
      open.push(existing);
      expect(await existing.head()).toBe(1);
    });

    it('is gone, and makes room for a new one, when everything that belongs to it has been erased', async () => {
      await start();
      const ledger = await openLedger();
      await ledger.append([numbered(1)]);
      await open.splice(0)[0].close();
      let listed: string[] | null = null;
      await ledgers.remove('default', async () => {
        listed = await ledgers.list();
        await expect(ledgers.openExisting('default')).rejects.toThrow(LedgerRemovedError);
      });
      expect(listed).toEqual([]);
      expect(await (await openLedger()).head()).toBe(0);
    });

    it('is empty at first', async () => {
      await start();
      expect(await ledgers.list()).toEqual([]);
      const ledger = await openLedger();
      expect(await ledger.head()).toBe(0);
      expect(await ledger.read(0, 10)).toEqual([]);
      expect(await ledger.append([])).toBe(0);
    });

    it('gives positions 1, 2, 3, … in the order of appending', async () => {
      await start();
      const ledger = await openLedger();
      expect(await ledger.append([numbered(1)])).toBe(1);
      expect(await ledger.append([numbered(2), numbered(3)])).toBe(3);
      expect(await ledger.head()).toBe(3);
      expect(await ledger.read(0, 10)).toEqual([1, 2, 3].map((n) => ({ position: n, entry: numbered(n) })));
      expect((await ledger.read(1, 1)).map(({ position }) => position)).toEqual([2]);
      expect(await ledger.read(3, 10)).toEqual([]);
    });

    it('keeps entries over a restart, bit for bit', async () => {
      await start();
      const ledger = await openLedger();
      const entries = [withVectors('a'), numbered(2), withVectors('c')];
      await ledger.append(entries);
      await restart();
      const again = await openLedger();
      expect(await again.head()).toBe(3);
      expect((await readAll(again)).map(({ entry }) => entry)).toStrictEqual(entries);
      expect(await again.append([numbered(4)])).toBe(4);
    });

    it('keeps entries as they were when they were appended', async () => {
      await start();
      const ledger = await openLedger();
      const vector = Float32Array.of(1, 2);
      await ledger.append([{ ...withVectors('a'), vectors: [{ name: 't', hash: 'h', embedding: vector }] }]);
      vector.fill(9);
      expect((await ledger.read(0, 1))[0].entry).toMatchObject({
        vectors: [{ embedding: Float32Array.of(1, 2) }],
      });
    });

    it('keeps each batch together and in order while many append at once', async () => {
      await start();
      const ledger = await openLedger();
      const positions = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          ledger.append([numbered(3 * i), numbered(3 * i + 1), numbered(3 * i + 2)]),
        ),
      );
      const entries = await readAll(ledger);
      expect(entries.map(({ position }) => position)).toEqual(Array.from({ length: 120 }, (_, i) => i + 1));
      for (const [i, last] of positions.entries()) {
        const batch = entries.slice(last - 3, last).map(({ entry }) => entry.at);
        expect(batch).toEqual([3 * i, 3 * i + 1, 3 * i + 2]);
      }
    });

    it('reads on from every position', async () => {
      await start();
      const ledger = await openLedger();
      await ledger.append(Array.from({ length: 30 }, (_, i) => numbered(i + 1)));
      for (const after of [0, 1, 14, 28, 29]) {
        const [first] = await ledger.read(after, 5);
        expect(first).toEqual({ position: after + 1, entry: numbered(after + 1) });
        expect((await readAll(ledger, after)).length).toBe(30 - after);
      }
    });

    it('keeps large entries, and accepts the same key twice', async () => {
      await start();
      const ledger = await openLedger();
      const large: Entry = { ...withVectors('large'), fingerprint: 'x'.repeat(3_000_000) };
      await ledger.append([large]);
      await ledger.append([large]);
      const [first] = await ledger.read(0, 1);
      const [second] = await ledger.read(1, 1);
      expect(first.entry).toStrictEqual(large);
      expect(second).toStrictEqual({ position: 2, entry: large });
    });

    it('lets a waiter go when there is something after its position, and not before', async () => {
      await start();
      const ledger = await openLedger();
      const never = new AbortController();
      let isWoken = false;
      const woken = ledger.wait(1, never.signal).then(() => {
        isWoken = true;
      });
      await ledger.wait(0, AbortSignal.abort());
      const first = ledger.wait(0, never.signal);
      await ledger.append([numbered(1)]);
      await first;
      expect(isWoken).toBe(false);
      await ledger.append([numbered(2)]);
      await woken;
      await ledger.wait(1, never.signal);
      expect((await ledger.read(1, 1)).length).toBe(1);
    });

    it('lets a waiter go when it gives up, and when the ledger is closed', async () => {
      await start();
      const ledger = await openLedger();
      const giveUp = new AbortController();
      const patient = new AbortController();
      const waits = [ledger.wait(0, giveUp.signal), ledger.wait(0, patient.signal)];
      giveUp.abort();
      await waits[0];
      await ledger.close();
      await waits[1];
    });

    it('forgets nothing that was not trimmed, and leaves no gap', async () => {
      await start();
      const ledger = await openLedger();
      for (let n = 1; n <= 60; n++) await ledger.append([numbered(n)]);
      await ledger.trim(40);
      expect(await ledger.head()).toBe(60);
      expect((await readAll(ledger, 40)).map(({ position }) => position)).toEqual(
        Array.from({ length: 20 }, (_, i) => 41 + i),
      );
      // What lies before may be there still; if it is not, that is said, and never skipped in silence.
      const older = await readAll(ledger, 0).catch((error) => error);
      if (older instanceof Error) expect(older).toBeInstanceOf(LedgerTrimmedError);
      else expect(older.length).toBe(60);
      expect(await ledger.append([numbered(61)])).toBe(61);
    });

    it('goes on counting after everything was trimmed and the process restarted', async () => {
      await start();
      const ledger = await openLedger();
      await ledger.append([numbered(1), numbered(2)]);
      await ledger.trim(2);
      await restart();
      const again = await openLedger();
      expect(await again.head()).toBe(2);
      expect(await again.append([numbered(3)])).toBe(3);
      expect((await again.read(2, 5)).map(({ position }) => position)).toEqual([3]);
    });

    it('begins at the position that is set, once', async () => {
      await start();
      await ledgers.begin('moved', 41);
      await expect(ledgers.begin('moved', 7)).rejects.toThrow('already');
      expect(await ledgers.list()).toEqual(['moved']);
      const ledger = await openLedger('moved');
      expect(await ledger.head()).toBe(41);
      expect(await ledger.read(41, 10)).toEqual([]);
      await expect(ledger.read(7, 10)).rejects.toThrow(LedgerTrimmedError);
      expect(await ledger.append([numbered(1)])).toBe(42);
      await restart();
      expect(await readAll(await openLedger('moved'), 41)).toEqual([{ position: 42, entry: numbered(1) }]);
    });

    it('keeps catalogs apart, lists them, and removes one for good', async () => {
      await start();
      const b = await openLedger('b');
      const a = await openLedger('a-1');
      await a.append([numbered(1)]);
      await b.append([numbered(2), numbered(3)]);
      expect(await ledgers.list()).toEqual(['a-1', 'b']);
      expect(await a.head()).toBe(1);
      await restart();
      expect(await ledgers.list()).toEqual(['a-1', 'b']);
      await ledgers.remove('b');
      await ledgers.remove('never-existed');
      expect(await ledgers.list()).toEqual(['a-1']);
      const empty = await openLedger('b');
      expect(await empty.head()).toBe(0);
      expect(await (await openLedger('a-1')).head()).toBe(1);
    });
  });
}

async function readAll(ledger: Ledger, after = 0): Promise<PositionedEntry[]> {
  const entries: PositionedEntry[] = [];
  for (let position = after; ; ) {
    const some = await ledger.read(position, 7);
    if (some.length === 0) return entries;
    expect(some.length).toBeLessThanOrEqual(7);
    entries.push(...some);
    position = some.at(-1)!.position;
  }
}

/** A small entry that tells which one it is. */
function numbered(n: number): Entry {
  return { kind: 'forget', key: `forget/${n}`, at: n, unit: n };
}

function withVectors(key: string) {
  return {
    kind: 'embedder',
    key,
    at: 1,
    model: 'letters',
    fingerprint: 'f',
    dimensions: 3,
    vectors: [{ name: 't', hash: 'h', embedding: Float32Array.of(-0, Number.NaN, 1 / 3) }],
  } as const satisfies Entry;
}
