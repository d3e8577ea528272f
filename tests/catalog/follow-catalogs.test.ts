import { afterEach, expect, it, vi } from 'vitest';
import { Catalogs, type OpenCatalog } from '../../src/catalog/catalogs.ts';
import { CatalogFollower } from '../../src/catalog/follow-catalogs.ts';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { LedgerCorruptError, LedgerRemovedError } from '../../src/ledger/ledger.ts';

/** Catalogs in a store; what is wrong with one of them is said when it is opened, or asked whether it exists. */
async function stored(faults: Map<string, Error>, names: Set<string>) {
  const opened: string[] = [];
  const open: OpenCatalog = async (name) => {
    opened.push(name);
    const fault = faults.get(name);
    if (fault !== undefined) throw fault;
    if (!names.has(name)) throw new LedgerRemovedError(name);
    const exists = async (): Promise<boolean> => {
      if (faults.has(name)) throw faults.get(name);
      return names.has(name);
    };
    return { name, ledger: { exists }, close: async () => {} } as unknown as Awaited<ReturnType<OpenCatalog>>;
  };
  const closed = { erase: async (name: string) => void names.delete(name), release: async () => undefined };
  const catalogs = await Catalogs.start(open, closed, []);
  const onError = vi.fn();
  const follower = new CatalogFollower(catalogs, { list: async () => [...names].sort() }, onError);
  return { catalogs, follower, onError, opened };
}

afterEach(() => void vi.useRealTimers());

it('one catalog that cannot be opened keeps no other away, is reported once, and tried less and less often', async () => {
  vi.useFakeTimers();
  const faults = new Map<string, Error>([['bad', new LedgerCorruptError('byte 7')]]);
  const names = new Set(['bad', 'default', 'good']);
  const { catalogs, follower, onError, opened } = await stored(faults, names);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(catalogs.names()).toEqual(['default', 'good']);
  expect(onError).toHaveBeenCalledOnce();
  expect(opened.filter((name) => name === 'bad').length).toBeLessThan(8);
  expect(() => catalogs.get('bad')).toThrow(/"bad" cannot be opened here: byte 7/);

  faults.clear();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(catalogs.names()).toEqual(['bad', 'default', 'good']);
  await follower.close();
});

it('one that cannot be opened can be deleted, here or elsewhere', async () => {
  vi.useFakeTimers();
  const faults = new Map<string, Error>([
    ['bad', new LedgerCorruptError('byte 7')],
    ['worse', new LedgerCorruptError('byte 8')],
  ]);
  const names = new Set(['bad', 'default', 'worse']);
  const { catalogs, follower } = await stored(faults, names);
  await follower.look();
  await catalogs.remove('bad');
  expect(names).toEqual(new Set(['default', 'worse']));
  expect(() => catalogs.get('bad')).toThrow(/There is no catalog/);
  names.delete('worse');
  faults.clear();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(() => catalogs.get('worse')).toThrow(/There is no catalog/);
  await follower.close();
});

it('one whose ledger was lost while it was open keeps none away either', async () => {
  const faults = new Map<string, Error>();
  const names = new Set(['default']);
  const { catalogs, follower, onError } = await stored(faults, names);
  faults.set('default', new StoreUnavailableError('Redis has lost the ledger'));
  names.add('good');
  await follower.look();
  expect(catalogs.names()).toEqual(['default', 'good']);
  expect(onError).not.toHaveBeenCalled();
  await follower.close();
});
