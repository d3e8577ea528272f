import { describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { Catalogs } from '../../src/catalog/catalogs.ts';
import { LedgerCorruptError, LedgerErasingError, LedgerRemovedError } from '../../src/ledger/ledger.ts';

/** Stores that do what they are asked to when the test says so, and write down what they did. */
class Stores {
  readonly did: string[] = [];
  /** Names that the stores hold. */
  readonly held = new Set(['default', 'shop']);
  /** What fails, by what is done: `open shop`. */
  readonly faults = new Map<string, Error>();
  readonly #gates = new Map<string, () => void>();

  /** The next time that this is done it waits for `let`. */
  hold(what: string): void {
    this.#gates.set(what, () => {});
  }

  let(what: string): void {
    this.#gates.get(what)!();
  }

  async do(what: string): Promise<void> {
    if (this.#gates.has(what)) {
      await new Promise<void>((resolve) => this.#gates.set(what, resolve));
      this.#gates.delete(what);
    }
    this.did.push(what);
    if (this.faults.has(what)) throw this.faults.get(what);
  }

  start(known: readonly string[] = ['shop'], shard: readonly string[] | null = null): Promise<Catalogs> {
    return Catalogs.start(
      async (name, create) => {
        await this.do(`open ${name}`);
        if (!this.held.has(name) && !create) throw new LedgerRemovedError(name);
        this.held.add(name);
        const close = () => this.do(`close ${name}`);
        return { name, close, replica: { failure: null } } as unknown as Catalog & { close(): Promise<void> };
      },
      {
        erase: async (name) => {
          await this.do(`erase ${name}`);
          this.held.delete(name);
        },
        release: (name) => this.do(`release ${name}`),
      },
      known,
      shard,
    );
  }
}

async function started(known?: readonly string[]) {
  const stores = new Stores();
  const catalogs = await stores.start(known);
  stores.did.length = 0;
  return { stores, catalogs };
}

/** Everything that can happen without the test doing anything has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
const notFound = expect.objectContaining({ code: 'catalog-not-found' });
const nothing = async (): Promise<void> => {};

describe('two commands at once', () => {
  it('acquire and acquire: it is opened once', async () => {
    const { stores, catalogs } = await started([]);
    await Promise.all([catalogs.acquire('shop'), catalogs.acquire('shop')]);
    expect(stores.did).toEqual(['open shop']);
  });

  it('remove and create: it is deleted first, and then there is a new one', async () => {
    const { stores, catalogs } = await started();
    const old = catalogs.get('shop');
    stores.hold('erase shop');
    const removed = catalogs.remove('shop');
    const created = catalogs.create('shop', async (catalog) => catalog);
    await settled();
    expect(stores.did).toEqual(['close shop']);
    expect(() => catalogs.get('shop')).toThrow(notFound);
    stores.let('erase shop');
    await removed;
    expect(await created).not.toBe(old);
    expect(catalogs.get('shop')).toBe(await created);
    expect(stores.did).toEqual(['close shop', 'erase shop', 'open shop']);
  });

  it('create and remove: the work is done before it is deleted', async () => {
    const { stores, catalogs } = await started([]);
    stores.hold('work');
    const created = catalogs.create('new', () => stores.do('work'));
    const removed = catalogs.remove('new');
    await settled();
    expect(catalogs.names()).toContain('new');
    stores.let('work');
    await Promise.all([created, removed]);
    expect(stores.did).toEqual(['open new', 'work', 'close new', 'erase new']);
  });

  it('remove and remove: the second says that there is none', async () => {
    const { stores, catalogs } = await started();
    const [first, second] = await Promise.allSettled([catalogs.remove('shop'), catalogs.remove('shop')]);
    expect(first.status).toBe('fulfilled');
    expect(second).toEqual({ status: 'rejected', reason: notFound });
    expect(stores.did).toEqual(['close shop', 'erase shop']);
  });

  it('remove and change: a catalog that is gone is not created by a change', async () => {
    const { stores, catalogs } = await started();
    const removed = catalogs.remove('shop');
    await expect(catalogs.change('shop', nothing)).rejects.toThrow(notFound);
    await removed;
    expect(stores.held).toEqual(new Set(['default']));
  });

  it('release and release of one that another process has deleted: it is closed once', async () => {
    const { stores, catalogs } = await started();
    const shop = catalogs.get('shop');
    await Promise.all([catalogs.release(shop), catalogs.release(shop)]);
    expect(stores.did).toEqual(['close shop', 'release shop']);
  });

  it('release and create: the new one is not taken for the old one', async () => {
    const { stores, catalogs } = await started();
    const shop = catalogs.get('shop');
    await Promise.all([catalogs.release(shop), catalogs.create('shop', nothing), catalogs.release(shop)]);
    expect(stores.did).toEqual(['close shop', 'release shop', 'open shop']);
    expect(catalogs.get('shop')).not.toBe(shop);
  });

  it('commands of other names do not wait', async () => {
    const { stores, catalogs } = await started();
    stores.hold('erase shop');
    const removed = catalogs.remove('shop');
    await catalogs.create('other', nothing);
    stores.let('erase shop');
    await removed;
    expect(stores.did).toEqual(['close shop', 'open other', 'erase shop']);
  });

  it('close waits for the commands under way', async () => {
    const { stores, catalogs } = await started([]);
    stores.hold('open new');
    const created = catalogs.create('new', nothing);
    const closed = catalogs.close();
    await settled();
    expect(stores.did).toEqual([]);
    stores.let('open new');
    await Promise.all([created, closed]);
    expect(stores.did.toSorted()).toEqual(['close default', 'close new', 'open new']);
    expect(catalogs.names()).toEqual([]);
  });
});

describe('a request that holds a catalog', () => {
  it('is told that it is gone, whatever failed since it was deleted', async () => {
    const { catalogs } = await started();
    const held = catalogs.holding('shop', async () => {
      await catalogs.remove('shop');
      throw new Error('the replica is closed');
    });
    await expect(held).rejects.toThrow(notFound);
  });

  it('is told what failed if it is still there', async () => {
    const { catalogs } = await started();
    const held = catalogs.holding('shop', () => Promise.reject(new Error('the disk is full')));
    await expect(held).rejects.toThrow('the disk is full');
  });
});

describe('a catalog that failed', () => {
  const corrupt = new LedgerCorruptError('byte 7');

  async function failed() {
    const { stores, catalogs } = await started([]);
    stores.faults.set('open shop', corrupt);
    await expect(catalogs.acquire('shop')).rejects.toThrow(corrupt);
    stores.did.length = 0;
    return { stores, catalogs };
  }

  it('says why, until it can be opened', async () => {
    const { stores, catalogs } = await failed();
    expect([...catalogs.failed()]).toEqual([['shop', corrupt]]);
    expect(() => catalogs.get('shop')).toThrow(/"shop" cannot be opened here: byte 7/);
    stores.faults.clear();
    await catalogs.acquire('shop');
    expect(catalogs.get('shop').name).toBe('shop');
    expect(catalogs.failed().size).toBe(0);
  });

  it('is opened by a command that would create it, or says again why not', async () => {
    const { stores, catalogs } = await failed();
    stores.faults.set('open shop', new LedgerCorruptError('byte 9'));
    await expect(catalogs.create('shop', nothing)).rejects.toThrow(/"shop" cannot be opened here: byte 9/);
    stores.faults.clear();
    await catalogs.create('shop', nothing);
    expect(catalogs.names()).toEqual(['default', 'shop']);
  });

  it('is not taken for one that is absent, also while it is being opened', async () => {
    const { stores, catalogs } = await failed();
    const unavailable = expect.objectContaining({ code: 'unavailable' });
    expect(() => catalogs.getIfAny('shop')).toThrow(unavailable);
    expect(catalogs.getIfAny('other')).toBeUndefined();
    stores.held.add('other');
    stores.hold('open other');
    const acquired = catalogs.acquire('other');
    await settled();
    expect(() => catalogs.getIfAny('other')).toThrow(unavailable);
    stores.let('open other');
    await acquired;
    expect(catalogs.getIfAny('other')).toBe(catalogs.get('other'));
  });

  it('can be deleted', async () => {
    const { stores, catalogs } = await failed();
    await catalogs.remove('shop');
    expect(stores.did).toEqual(['erase shop']);
    expect(() => catalogs.get('shop')).toThrow(notFound);
  });

  it('is absent when another process has deleted it', async () => {
    const { stores, catalogs } = await failed();
    stores.held.delete('shop');
    stores.faults.clear();
    await catalogs.acquire('shop');
    expect(catalogs.failed().size).toBe(0);
    expect(() => catalogs.get('shop')).toThrow(notFound);
  });
});

describe('a catalog that cannot be erased', () => {
  it('is open again', async () => {
    const { stores, catalogs } = await started();
    stores.faults.set('erase shop', new Error('the disk is away'));
    await expect(catalogs.remove('shop')).rejects.toThrow('the disk is away');
    expect(stores.did).toEqual(['close shop', 'erase shop', 'open shop']);
    expect(catalogs.get('shop').name).toBe('shop');
  });

  it('has failed, and can be deleted later, if it cannot be opened again either', async () => {
    const { stores, catalogs } = await started();
    stores.faults.set('erase shop', new Error('the disk is away'));
    stores.faults.set('open shop', new Error('half of it is gone'));
    await expect(catalogs.remove('shop')).rejects.toThrow('the disk is away');
    expect(() => catalogs.get('shop')).toThrow(/half of it is gone/);
    stores.faults.clear();
    await catalogs.remove('shop');
    expect(() => catalogs.get('shop')).toThrow(notFound);
  });
});

describe('default', () => {
  it.each(['remove', 'release'] as const)('is there again after %s, empty', async (how) => {
    const { stores, catalogs } = await started();
    const old = catalogs.get('default');
    await (how === 'remove' ? catalogs.remove('default') : catalogs.release(old));
    const after = how === 'remove' ? 'erase default' : 'release default';
    expect(stores.did).toEqual(['close default', after, 'open default']);
    expect(catalogs.get('default')).not.toBe(old);
  });
});

describe('other processes', () => {
  it('that delete it while it is created do not stop that', async () => {
    const { stores, catalogs } = await started([]);
    let deletions = 2;
    const work = async (): Promise<string> => {
      if (deletions-- > 0) throw new LedgerRemovedError('new');
      return 'done';
    };
    expect(await catalogs.create('new', work)).toBe('done');
    const again = ['open new', 'close new', 'release new'];
    expect(stores.did).toEqual([...again, ...again, 'open new']);
  });

  it('that go on deleting it are reported, and it is absent', async () => {
    const { catalogs } = await started([]);
    const work = () => Promise.reject(new LedgerRemovedError('new'));
    await expect(catalogs.create('new', work)).rejects.toThrow(LedgerErasingError);
    expect(() => catalogs.get('new')).toThrow(notFound);
  });

  it('serve what is not of this shard', async () => {
    const stores = new Stores();
    const catalogs = await stores.start([], ['default']);
    await catalogs.acquire('shop');
    expect(catalogs.names()).toEqual(['default']);
    expect(() => catalogs.get('shop')).toThrow(expect.objectContaining({ code: 'wrong-shard' }));
  });
});

it('one that cannot be closed leaves no other open', async () => {
  const { stores, catalogs } = await started();
  stores.faults.set('close default', new Error('cannot be closed'));
  await expect(catalogs.close()).rejects.toThrow('cannot be closed');
  expect(stores.did.toSorted()).toEqual(['close default', 'close shop']);
});

describe('a start', () => {
  it('serves the others when one cannot be opened, and says why that one is missing', async () => {
    const stores = new Stores();
    const corrupt = new LedgerCorruptError('byte 7');
    stores.faults.set('open default', corrupt);
    const catalogs = await stores.start();
    expect(catalogs.names()).toEqual(['shop']);
    expect([...catalogs.failed()]).toEqual([['default', corrupt]]);
    expect(() => catalogs.get('default')).toThrow(/"default" cannot be opened here: byte 7/);
  });

  it('fails with the first reason when none can be opened', async () => {
    const stores = new Stores();
    stores.faults.set('open default', new LedgerCorruptError('byte 7'));
    stores.faults.set('open shop', new LedgerCorruptError('byte 9'));
    await expect(stores.start()).rejects.toThrow('byte 7');
    expect(stores.did).toEqual(['open default', 'open shop']);
  });
});
