import { deepStrictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { AppendedEntries } from '../../src/ledger/appended-entries.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { decodeEntry, encodeEntry } from '../../src/ledger/entry-codec.ts';
import { FileLedger } from '../../src/ledger/file-ledger.ts';
import { FileLedgers, ledgerFolder } from '../../src/ledger/file-ledgers.ts';
import { LedgerCorruptError, LedgerRemovedError, LedgerTrimmedError } from '../../src/ledger/ledger.ts';
import { packDocument } from '../../src/storage/packed-document.ts';
import { RecentRecords } from '../../src/storage/recent-records.ts';
import { SegmentLog } from '../../src/storage/segment-log.ts';
import { ledgerContract } from '../contracts/ledger.contract.ts';
import { decision, observe, report } from '../state/entries.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { entry } from './arbitrary-entry.ts';

const root = temporaryFolder();
const newFolder = (): string => join(root, randomUUID());

for (const [name, readsFiles, segmentBytes] of [
  ['FileLedgers', false, undefined],
  ['FileLedgers with small segments, read from their files,', true, 400],
] as const) {
  ledgerContract(name, async () => {
    const dataDir = newFolder();
    if (readsFiles) {
      vi.spyOn(AppendedEntries.prototype, 'after').mockReturnValue(null);
      vi.spyOn(RecentRecords.prototype, 'after').mockReturnValue(null);
    }
    return {
      connect: async () => new FileLedgers(dataDir, segmentBytes === undefined ? {} : { segmentBytes }),
      disconnect: async () => {},
      dispose: async () => {},
    };
  });
}

function numbered(n: number): Entry {
  return { kind: 'forget', key: `forget/${n}`, at: n, unit: n };
}

afterEach(() => vi.restoreAllMocks());

describe('FileLedgers', () => {
  it('refuse a ledger whose newest entry another version wrote, though a snapshot stands at it', async () => {
    const dataDir = newFolder();
    const log = await SegmentLog.open(ledgerFolder(dataDir, 'default'));
    await log.append([packDocument(1, [3, { kind: 'settings', patch: {} }], [])]);
    await log.close();
    const ledgers = new FileLedgers(dataDir);
    for (const again of ['once', 'twice']) {
      await expect(ledgers.open('default'), again).rejects.toThrow('entries of version 3');
    }
  });
});

describe('FileLedger', () => {
  it('drops whole segments when it is trimmed, and nothing behind them', async () => {
    const folder = newFolder();
    let ledger = await FileLedger.open(folder, { segmentBytes: 1000 });
    for (let n = 1; n <= 60; n++) await ledger.append([numbered(n)]);
    await ledger.close();

    ledger = await FileLedger.open(folder, { segmentBytes: 1000 });
    await ledger.trim(40);
    await expect(ledger.read(0, 1)).rejects.toThrow(LedgerTrimmedError);
    expect((await ledger.read(40, 1))[0].position).toBe(41);
    await ledger.close();
  });

  it('reads recent entries from memory', async () => {
    const ledger = await FileLedger.open(newFolder());
    await ledger.append([numbered(1), numbered(2)]);
    const handle = await open(root, 'r');
    const read = vi.spyOn(Object.getPrototypeOf(handle), 'read');
    expect(await ledger.read(0, 10)).toHaveLength(2);
    expect(await ledger.read(1, 10)).toHaveLength(1);
    expect(read).not.toHaveBeenCalled();
    await handle.close();
    await ledger.close();
  });

  it('gives entries back as a replay will read them, bit for bit', async () => {
    const ledger = await FileLedger.open(newFolder());
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 8 }), async (entries) => {
        const last = await ledger.append(entries);
        const read = await ledger.read(last - entries.length, entries.length);
        const replayed = entries.map((one, i) => ({
          position: last - entries.length + 1 + i,
          entry: decodeEntry(encodeEntry(one)),
        }));
        deepStrictEqual(read, replayed);
      }),
      { seed: 6, numRuns: 200 },
    );
    await ledger.close();
  });

  it('gives an observation back as it was appended, unless its bytes do not', async () => {
    const ledger = await FileLedger.open(newFolder());
    const [exact, other] = [report('r', 't', { latencyMs: undefined }), report('q', null, { rating: -0 })];
    const entries = [exact, exact, other, exact].map((one) => observe(decision('a', ['t']), [one]));
    for (const one of entries) await ledger.append([one]);
    const read = async (after: number): Promise<Entry[]> =>
      (await ledger.read(after, 2)).map((found) => found.entry);
    expect((await read(3))[0]).toBe(entries[3]);
    const [second, third] = await read(1);
    expect(second).toEqual(entries[1]);
    expect(second).not.toBe(entries[1]);
    expect(third).toMatchObject({ reports: [{ rewardId: 'q', rating: 0 }] });
    await ledger.append([entries[0], entries[1], entries[0]]);
    expect((await read(4))[0]).toBe(entries[0]);
    expect((await read(5))[0]).toBe(entries[1]);
    // Nobody has to read in order.
    expect(await read(4)).toEqual([entries[0], entries[1]]);
    await ledger.close();
  });

  it('says in the words of the port what went wrong', async () => {
    const folder = newFolder();
    const ledger = await FileLedger.open(folder);
    await ledger.append([numbered(1)]);
    await ledger.append([numbered(2)]);
    const handle = await open(root, 'r');
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
    vi.spyOn(Object.getPrototypeOf(handle), 'write').mockRejectedValueOnce(full);
    await handle.close();
    const refused = await ledger.append([numbered(3)]).catch((error) => error);
    expect(refused).toBeInstanceOf(StoreUnavailableError);
    expect(refused.message).toContain('the disk is full');
    expect(await ledger.append([numbered(3)])).toBe(3);
    await ledger.close();
    await expect(ledger.read(0, 1)).rejects.toThrow(StoreUnavailableError);
    await expect(ledger.append([numbered(4)])).rejects.toThrow(StoreUnavailableError);

    const file = join(folder, `${'1'.padStart(16, '0')}.log`);
    const bytes = readFileSync(file);
    bytes[30] ^= 1;
    writeFileSync(file, bytes);
    const corrupt = await FileLedger.open(folder).catch((error) => error);
    expect(corrupt).toBeInstanceOf(LedgerCorruptError);
    expect(corrupt.message).toContain('--truncate-at 8');
    expect(corrupt.cause).toMatchObject({ file, offset: 8 });
  });

  it('tells what a crash had left unfinished', async () => {
    const folder = newFolder();
    const ledger = await FileLedger.open(folder);
    await ledger.append([numbered(1)]);
    await ledger.close();
    const file = join(folder, `${'1'.padStart(16, '0')}.log`);
    writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.from('half a rec')]));
    const tails: unknown[] = [];
    const again = await FileLedger.open(folder, { onTornTail: (tail) => tails.push(tail) });
    expect(tails).toMatchObject([{ file, bytes: 10 }]);
    expect(await again.head()).toBe(1);
    await again.close();
  });
});

describe('FileLedgers', () => {
  it('does not open a ledger twice, nor remove one that is open', async () => {
    const ledgers = new FileLedgers(newFolder());
    const ledger = await ledgers.open('default');
    await expect(ledgers.open('default')).rejects.toThrow('open already');
    await expect(ledgers.remove('default')).rejects.toThrow('still open');
    await ledger.close();
    await (await ledgers.open('default')).close();
  });

  it('takes a ledger of which only snapshots are left for lost, not for removed', async () => {
    const ledgers = new FileLedgers(newFolder(), {
      knownUpTo: async (name) => (name === 'lost' ? 7 : 0),
    });
    await expect(ledgers.openExisting('lost')).rejects.toThrow(LedgerCorruptError);
    await expect(ledgers.openExisting('lost')).rejects.toThrow(/there were 7/);
    await expect(ledgers.openExisting('gone')).rejects.toThrow(LedgerRemovedError);
  });

  it.each(['..', 'a/b', '', 'UPPER', '.removed-x'])('refuses "%s" as the name of a catalog', async (name) => {
    const ledgers = new FileLedgers(newFolder());
    await expect(ledgers.open(name)).rejects.toThrow(RangeError);
    await expect(ledgers.remove(name)).rejects.toThrow(RangeError);
  });
});
