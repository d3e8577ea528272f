import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import type { ContextStore } from '../../src/context/context-store.ts';
import { FileContextStore } from '../../src/context/file-context-store.ts';
import { type ContextItem, MAX_ITEMS } from '../../src/context/item.ts';
import { Seals, UserKey } from '../../src/context/seals.ts';
import { UserContexts } from '../../src/context/user-contexts.ts';
import { unitKey, unitNumber } from '../../src/ledger/unit.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { contentOf } from './content-of.ts';

const kernels = await loadKernels();

const root = temporaryFolder();
const NOW = Date.UTC(2026, 10, 22, 12);
const item = (id: string, more: Partial<ContextItem> = {}): ContextItem => ({
  ...{ id, text: `a secret about ${id}`, store: 'notes', ...more },
});
const ALL = { limit: 1000 };

/** Processes on one data folder, one after the other. */
class Folder {
  readonly path = join(root, randomUUID());
  now = NOW;
  fingerprint = 'one';
  readonly embedded: string[] = [];
  readonly forgotten: number[] = [];
  readonly reported: string[] = [];
  ledgerIsAway = false;

  constructor() {
    mkdirSync(this.path);
  }

  start(secret?: string, store: ContextStore = new FileContextStore(this.path)): UserContexts {
    const { fingerprint } = this;
    const embedder = {
      fingerprint,
      dimensions: 4,
      embedDocuments: async (texts: readonly string[]) => {
        this.embedded.push(...texts);
        return texts.map((text) => Float32Array.of(text.length % 7, 1, -0.5, fingerprint.length));
      },
    };
    const submit = async ({ unit }: { unit: number }) => {
      if (this.ledgerIsAway) throw new Error('the ledger is away');
      this.forgotten.push(unit);
      return { kind: 'forget', forgotten: 1 };
    };
    const open = new Map(
      ['default', 'other'].map((name) => [
        name,
        { name, embedder, now: () => this.now, replica: { submit } },
      ]),
    );
    const catalogs = {
      all: () => [...open.values()],
      find: (name: string) => open.get(name),
      get: (name: string) => open.get(name),
      holding: async (name: string, work: (one: unknown) => unknown) => work(open.get(name)),
    } as unknown as Catalogs;
    const contexts = new UserContexts({
      ...{ catalogs, store, secret, kernels },
      now: () => this.now,
      onError: (_, error) => void this.reported.push((error as Error).message),
    });
    started.push(contexts);
    return contexts;
  }
}

const started: UserContexts[] = [];
afterEach(async () => {
  for (const contexts of started.splice(0)) await contexts.close();
});

/** Counts what is read of it. */
class CountingStore extends FileContextStore {
  reads = 0;
  override read(...args: Parameters<FileContextStore['read']>) {
    this.reads++;
    return super.read(...args);
  }
  override readServiceKey() {
    this.reads++;
    return super.readServiceKey();
  }
}

const serviceKeyOf = (folder: string): Buffer =>
  Buffer.from(JSON.parse(readFileSync(join(folder, 'keys/service'), 'utf8')).key, 'base64');
const idsOf = async (contexts: UserContexts, user: string, catalog = 'default') =>
  (await contexts.list(catalog, user, ALL)).items.map(({ id }) => id);

describe('what users have', () => {
  it('is put by id, found after a restart, and says what changed', async () => {
    const folder = new Folder();
    const first = folder.start();
    expect(await first.load('default', 'ada')).toBeNull();
    const put = [item('b'), item('a', { tags: ['x'], at: NOW + 1e12 })];
    expect(await first.put('default', 'ada', put)).toEqual({
      added: 2,
      changed: 0,
      unchanged: 0,
      removed: 0,
    });
    const again = [item('a', { at: 5 }), item('b'), item('c')];
    expect(await first.put('default', 'ada', again)).toEqual({
      added: 1,
      changed: 1,
      unchanged: 1,
      removed: 0,
    });
    const next = folder.start();
    expect((await next.list('default', 'ada', ALL)).items).toMatchObject([
      item('a', { at: 5 }),
      item('b'),
      item('c'),
    ]);
    const page = await next.list('default', 'ada', { limit: 2 });
    expect(page.items).toHaveLength(2);
    const rest = await next.list('default', 'ada', { limit: 2, cursor: page.nextCursor! });
    expect([rest.items.map(({ id }) => id), rest.nextCursor]).toEqual([['c'], null]);
    expect((await next.list('default', 'ada', { ...ALL, store: 'mail' })).items).toEqual([]);
  });

  it('says when an item was put as it is now', async () => {
    const folder = new Folder();
    const contexts = folder.start();
    await contexts.put('default', 'ada', [item('a'), item('b')]);
    folder.now += 1000;
    await contexts.put('default', 'ada', [item('a'), item('b', { at: 5 }), item('c')]);
    const { items } = (await contexts.load('default', 'ada'))!;
    expect(items.map(({ id, putAt }) => [id, putAt - NOW])).toEqual([
      ['a', 0],
      ['b', 1000],
      ['c', 1000],
    ]);
  });

  it('is seen by no other user and in no other catalog', async () => {
    const contexts = new Folder().start();
    await contexts.put('default', 'ada', [item('a')]);
    expect(await idsOf(contexts, 'bob')).toEqual([]);
    expect(await idsOf(contexts, 'ada', 'other')).toEqual([]);
    expect(await contexts.load('other', 'ada')).toBeNull();
    expect(await contexts.export('default', 'Ada')).toMatchObject({
      items: [],
      usage: [],
      training: { examples: [] },
    });
  });

  it('is in no byte of the data folder, nor are ids of users, before and after it is erased', async () => {
    const folder = new Folder();
    const contexts = folder.start();
    await contexts.put('default', 'ada-lovelace', [item('a', { place: 'the gym', tags: ['runner'] })]);
    const use = { key: 'k', items: ['a'], tool: 'play_music', place: 'the gym', at: NOW };
    await contexts.recordUse('default', 'ada-lovelace', use);
    const readable = /secret|gym|runner|play_music|lovelace|notes/;
    expect(contentOf(folder.path).toString('latin1')).not.toMatch(readable);
    await contexts.erase('default', 'ada-lovelace');
    expect(contentOf(folder.path).toString('latin1')).not.toMatch(readable);
    expect(contentOf(folder.path).toString('latin1')).not.toMatch(/items|signals/);
  });

  it('is limited: one item too many, and none of the request is put', async () => {
    const contexts = new Folder().start();
    const many = Array.from({ length: MAX_ITEMS }, (_, n) => item(`n${n}`));
    await contexts.put('default', 'ada', many);
    await expect(contexts.put('default', 'ada', [item('n1', { text: 'other' }), item('z')])).rejects.toThrow(
      'would have 2001 items, and may have 2000. None of the request was put',
    );
    const { items } = (await contexts.load('default', 'ada'))!;
    expect(items).toHaveLength(MAX_ITEMS);
    expect(items[1]).toEqual({ ...item('n1'), putAt: NOW });
  });

  it('is limited in bytes as well, with all that items have, and deleting is always possible', async () => {
    const contexts = new Folder().start();
    const long = (id: string) => item(id, { text: 'é'.repeat(4000), tags: ['t'.repeat(90)] });
    await contexts.put(
      'default',
      'ada',
      Array.from({ length: 120 }, (_, n) => long(`n${n}`)),
    );
    await expect(
      contexts.put(
        'default',
        'ada',
        Array.from({ length: 20 }, (_, n) => long(`m${n}`)),
      ),
    ).rejects.toThrow(/would have 11\d\d KB of items in this catalog, and may have 1024 KB/);
    expect((await contexts.load('default', 'ada'))!.items).toHaveLength(120);
    expect(await contexts.remove('default', 'ada', 'n7')).toEqual({ removed: 1 });
  });

  it('ends with its time to live, which makes room', async () => {
    const folder = new Folder();
    const contexts = folder.start();
    await contexts.put('default', 'ada', [item('a', { expiresAt: NOW + 10 }), item('b')]);
    await contexts.put('default', 'bob', [item('a', { expiresAt: NOW + 10 }), item('b')]);
    folder.now = NOW + 10;
    expect(await idsOf(contexts, 'ada')).toEqual(['b']);
    const loaded = (await contexts.load('default', 'ada'))!;
    expect([loaded.items.length, loaded.vectors.scales.length, loaded.vectors.values.length]).toEqual([
      1, 1, 4,
    ]);
    expect(await contexts.put('default', 'bob', [item('b')])).toMatchObject({ removed: 1, unchanged: 1 });
  });

  it('is left out when it is read after its time, deleted when it was over by then, and uses do not decrypt it', async () => {
    const folder = new Folder();
    const contexts = folder.start();
    await contexts.put('default', 'ada', [item('a', { expiresAt: NOW + 10 }), item('b')]);
    const use = { items: ['a', 'b'], at: NOW };
    await contexts.recordUse('default', 'ada', { key: '1', ...use });
    folder.now = NOW + 10;
    expect((await contexts.load('default', 'ada'))!.items.map(({ id }) => id)).toEqual(['b']);
    const opening = vi.spyOn(UserKey.prototype, 'open');
    await contexts.recordUse('default', 'ada', { key: '2', ...use });
    expect(opening.mock.calls.map(([part]) => part)).toEqual(['signals']);
    opening.mockRestore();
    folder.now = NOW;
    const { place } = (await contexts.load('default', 'ada'))!;
    await contexts.removeExpired(place, NOW + 9);
    expect(await idsOf(folder.start(), 'ada')).toEqual(['a', 'b']);
    await contexts.removeExpired(place, NOW + 10);
    const next = folder.start();
    expect(await idsOf(next, 'ada')).toEqual(['b']);
    const { usage } = await next.export('default', 'ada');
    expect(usage.map(({ item, uses, items }) => [item, uses, items.size])).toEqual([['b', 2, 0]]);
  });

  it('has vectors of eight bits, made once, and again when the catalog has another embedder', async () => {
    const folder = new Folder();
    const first = folder.start();
    await first.put('default', 'ada', [item('a')]);
    await first.put('default', 'ada', [item('a'), item('b')]);
    expect(folder.embedded).toEqual([item('a').text, item('b').text]);
    const { vectors } = (await first.load('default', 'ada'))!;
    const [length] = [item('a').text.length % 7];
    const row = [...vectors.values.subarray(0, 4)].map((value) => value * vectors.scales[0]);
    for (const [at, value] of [length, 1, -0.5, 3].entries()) expect(row[at]).toBeCloseTo(value, 1);
    folder.fingerprint = 'another';
    const next = folder.start();
    expect((await next.load('default', 'ada'))!.vectors.fingerprint).toBeNull();
    await next.idle();
    const made = (await next.load('default', 'ada'))!.vectors;
    expect([made.fingerprint, made.scales.every((scale) => scale > 0)]).toEqual(['another', true]);
  });

  it('has vectors of text and labels, made again when a label is another one', async () => {
    const folder = new Folder();
    const contexts = folder.start();
    const mix = { id: 'mix', text: 'Mix 7', store: 'music', kind: 'playlist', categories: ['sport'] };
    await contexts.put('default', 'ada', [{ ...mix, tags: ['climbing', 'workout'], place: 'gym' }]);
    await contexts.put('default', 'ada', [{ ...mix, tags: ['yoga'] }]);
    await contexts.put('default', 'ada', [{ ...mix, tags: ['yoga'], at: NOW }]);
    expect(folder.embedded).toEqual([
      'Mix 7\nclimbing, workout\nsport\nplaylist\ngym',
      'Mix 7\nyoga\nsport\nplaylist',
    ]);
    const { index } = (await contexts.load('default', 'ada'))!;
    expect(index.wordScores(tokenise('yoga'))[0]).toBeGreaterThan(0);
    expect(index.wordScores(tokenise('climbing'))[0]).toBe(0);
  });

  it('counts a use once by its key, after a restart as well, and uses that come together', async () => {
    const folder = new Folder();
    const first = folder.start();
    await first.put('default', 'ada', [item('a'), item('b')]);
    const use = (key: string, items = ['a', 'b', 'gone']) => ({
      key,
      items,
      tool: 't',
      at: NOW,
    });
    await Promise.all(['1', '2', '1', '3'].map((key) => first.recordUse('default', 'ada', use(key))));
    const next = folder.start();
    await next.recordUse('default', 'ada', use('2'));
    await next.recordUse('default', 'nobody', use('9'));
    const { usage } = await next.export('default', 'ada');
    expect(usage.map(({ item, uses }) => ({ item, uses }))).toEqual([
      { item: 'a', uses: 3 },
      { item: 'b', uses: 3 },
    ]);
    expect([...usage[0].items]).toEqual([['b', 3]]);
    expect(await next.remove('default', 'ada', 'b')).toEqual({ removed: 1 });
    expect((await next.export('default', 'ada')).usage[0].items.size).toBe(0);
    expect(await next.load('default', 'nobody')).toBeNull();
  });

  it('writes together what was used while a use was being written', async () => {
    const folder = new Folder();
    const store = new FileContextStore(folder.path);
    const contexts = folder.start(undefined, store);
    await contexts.put('default', 'ada', [item('a')]);
    const record = (key: string) => contexts.recordUse('default', 'ada', { key, items: ['a'], at: NOW });
    let second = Promise.resolve();
    const change = store.change.bind(store);
    const changes = vi.spyOn(store, 'change').mockImplementationOnce((place, update) =>
      change(place, async (sealed) => {
        const written = await update(sealed);
        second = record('2');
        return written;
      }),
    );
    await record('1');
    await Promise.all([second, record('3')]);
    expect(changes).toHaveBeenCalledTimes(2);
    const { usage } = await folder.start().export('default', 'ada');
    expect(usage.map(({ uses }) => uses)).toEqual([3]);
  });

  it('counts no use of an item whose time was over', async () => {
    const folder = new Folder();
    const contexts = folder.start();
    await contexts.put('default', 'ada', [item('a', { expiresAt: NOW + 10 }), item('b')]);
    folder.now = NOW + 10;
    await contexts.recordUse('default', 'ada', { key: '1', items: ['a', 'b'], at: NOW });
    folder.now = NOW;
    const { items, usage } = await contexts.export('default', 'ada');
    expect([items.length, usage.map((used) => [used.item, used.items.size])]).toEqual([2, [['b', 0]]]);
  });

  it('says nothing of the queries that another embedder made', async () => {
    const folder = new Folder();
    const first = folder.start();
    await first.put('default', 'ada', [item('a')]);
    const query = { fingerprint: 'one', embedding: Float32Array.of(1, 0, 0, 0) };
    await first.recordUse('default', 'ada', { key: '1', items: ['a'], at: NOW, query });
    const queriesOf = async (contexts: UserContexts) =>
      (await contexts.load('default', 'ada'))!.signals.of('a')!.queries;
    expect(await queriesOf(first)).not.toBeNull();
    folder.fingerprint = 'another';
    expect(await queriesOf(folder.start())).toBeNull();
  });

  it('is erased with unit memory, also when the erasure broke off, and an erased user starts anew', async () => {
    const folder = new Folder();
    const first = folder.start();
    await first.put('default', 'ada', [item('a')]);
    await first.recordUse('default', 'ada', { key: '1', items: ['a'], at: NOW });
    folder.ledgerIsAway = true;
    await expect(first.erase('default', 'ada')).rejects.toThrow('the ledger is away');
    expect(await first.load('default', 'ada')).toBeNull();
    await expect(first.put('default', 'ada', [item('b')])).rejects.toThrow('being erased');
    // The process was killed.
    const next = folder.start();
    expect(await idsOf(next, 'ada')).toEqual([]);
    folder.ledgerIsAway = false;
    await next.finishErasures();
    expect(folder.forgotten).toEqual([unitNumber(unitKey('ada'))]);
    await next.put('default', 'ada', [item('a')]);
    await next.finishErasures();
    expect(await idsOf(next, 'ada')).toEqual(['a']);
    expect((await next.export('default', 'ada')).usage).toEqual([]);
    expect(await next.erase('default', 'ada')).toEqual({ forgotten: 1 });
    expect(await next.erase('default', 'ada')).toEqual({ forgotten: 1 });
    expect(await idsOf(next, 'ada')).toEqual([]);
  });

  it('is erased although marks of other erasures are damaged, each of which is reported and mended by erasing again', async () => {
    const folder = new Folder();
    const first = folder.start();
    const users = ['ada', 'bob', 'cleo', 'dan', 'eve'];
    for (const user of users) await first.put('default', user, [item('a')]);
    folder.ledgerIsAway = true;
    for (const user of users.slice(0, 4)) await expect(first.erase('default', user)).rejects.toThrow('away');
    folder.ledgerIsAway = false;
    const marks = join(folder.path, 'keys/catalogs/default/erasing');
    const mark = (user: string) =>
      join(marks, new Seals(serviceKeyOf(folder.path)).placeOf('default', user).user);
    writeFileSync(mark('ada'), randomBytes(40));
    writeFileSync(mark('bob'), JSON.stringify({ version: 2, unit: unitKey('bob') }));
    rmSync(mark('cleo'));
    mkdirSync(mark('cleo'));
    const next = folder.start();
    await next.finishErasures();
    expect(folder.forgotten).toEqual([unitNumber(unitKey('dan'))]);
    expect(folder.reported).toHaveLength(3);
    const damaged = folder.reported.filter((message) => message.includes('erase the user again'));
    expect(damaged).toHaveLength(2);
    for (const message of damaged)
      expect(message).toMatch(/catalog "default".*another version of Bandolier than 1/);
    expect(folder.reported.join()).toMatch(/cannot be read, which is tried again: make ".*erasing/);
    expect(readdirSync(marks)).toHaveLength(3);
    // Others go on; what the damaged marks name is gone, but for unit memory.
    expect(await idsOf(next, 'eve')).toEqual(['a']);
    await next.put('default', 'dan', [item('b')]);
    expect(await idsOf(next, 'dan')).toEqual(['b']);
    expect(contentOf(join(folder.path, 'catalogs')).toString('latin1')).not.toContain(basename(mark('ada')));
    await expect(next.put('default', 'ada', [item('b')])).rejects.toThrow('being erased');
    await next.finishErasures();
    expect(folder.reported).toHaveLength(6);
    rmdirSync(mark('cleo'));
    writeFileSync(mark('cleo'), JSON.stringify({ version: 1, unit: unitKey('cleo') }));
    for (const user of ['ada', 'bob']) await next.erase('default', user);
    await next.finishErasures();
    expect(folder.forgotten.slice(1)).toEqual(
      ['ada', 'bob', 'cleo'].map((user) => unitNumber(unitKey(user))),
    );
    await next.put('default', 'ada', [item('c')]);
    expect([await idsOf(next, 'ada'), folder.reported.length]).toEqual([['c'], 6]);
  });

  it('of whom nothing is kept is looked for once, until something is put', async () => {
    const folder = new Folder();
    const store = new CountingStore(folder.path);
    const contexts = folder.start(undefined, store);
    for (let n = 0; n < 3; n++) expect(await contexts.load('default', 'ada')).toBeNull();
    // There is not even a key of the service.
    expect(store.reads).toBe(1);
    await contexts.put('default', 'bob', [item('a')]);
    store.reads = 0;
    for (let n = 0; n < 3; n++) expect(await contexts.load('default', 'ada')).toBeNull();
    expect(store.reads).toBe(1);
    const putting = contexts.put('default', 'ada', [item('a')]);
    const meanwhile = contexts.load('default', 'ada');
    await putting;
    await meanwhile;
    expect((await contexts.load('default', 'ada'))?.items).toHaveLength(1);
    await contexts.erase('default', 'ada');
    for (let n = 0; n < 3; n++) expect(await contexts.load('default', 'ada')).toBeNull();
    await contexts.put('default', 'ada', [item('b')]);
    expect(await idsOf(contexts, 'ada')).toEqual(['b']);
  });

  it('is found by reads that overlap with the first put, in any order', async () => {
    const folder = new Folder();
    const store = new CountingStore(folder.path);
    const contexts = folder.start(undefined, store);
    await contexts.put('default', 'bob', [item('a')]);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    // A read that has seen nothing, and says so only after the put.
    const read = store.read.bind(store);
    const slow = vi.spyOn(store, 'read').mockImplementationOnce(async (...args) => {
      const found = await read(...args);
      await held;
      return found;
    });
    const early = contexts.load('default', 'ada');
    await expect.poll(() => slow.mock.calls.length).toBe(1);
    await contexts.put('default', 'ada', [item('a')]);
    release();
    expect(await early).toBeNull();
    expect((await contexts.load('default', 'ada'))?.items).toHaveLength(1);
  });

  it('of whom nothing is kept is looked for again when another process may have put something', async () => {
    const folder = new Folder();
    const store = Object.assign(new CountingStore(folder.path), { absenceMs: 2_000 });
    const [contexts, other] = [folder.start(undefined, store), folder.start()];
    await other.put('default', 'bob', [item('a')]);
    const steady = vi.spyOn(performance, 'now').mockReturnValue(1_000_000);
    try {
      expect(await contexts.load('default', 'ada')).toBeNull();
      await other.put('default', 'ada', [item('a')]);
      steady.mockReturnValue(1_001_999);
      expect(await contexts.load('default', 'ada')).toBeNull();
      steady.mockReturnValue(1_002_000);
      expect((await contexts.load('default', 'ada'))?.items).toHaveLength(1);
    } finally {
      steady.mockRestore();
    }
  });

  it('can be deleted whole', async () => {
    const contexts = new Folder().start();
    expect(await contexts.remove('default', 'ada')).toEqual({ removed: 0 });
    await contexts.put('default', 'ada', [item('a'), item('b')]);
    expect(await contexts.remove('default', 'ada')).toEqual({ removed: 2 });
    expect(await contexts.remove('default', 'ada')).toEqual({ removed: 0 });
    expect(await idsOf(contexts, 'ada')).toEqual([]);
    await contexts.put('default', 'ada', [item('c')]);
    expect(await idsOf(contexts, 'ada')).toEqual(['c']);
  });

  it('leaves nothing under the old key when all is deleted, also after the items were deleted one by one', async () => {
    const contexts = new Folder().start();
    await contexts.put('default', 'ada', [item('a')]);
    const before = (await contexts.load('default', 'ada'))!.key.numberOf('a');
    await contexts.remove('default', 'ada', 'a');
    expect(await contexts.remove('default', 'ada')).toEqual({ removed: 0 });
    await contexts.put('default', 'ada', [item('a')]);
    expect((await contexts.load('default', 'ada'))!.key.numberOf('a')).not.toBe(before);
  });

  it('can be put under a secret later, and is not read with another one', async () => {
    const folder = new Folder();
    await folder.start().put('default', 'ada', [item('a')]);
    expect(await idsOf(folder.start('a secret of 16 or more'), 'ada')).toEqual(['a']);
    await expect(idsOf(folder.start('another secret of 16'), 'ada')).rejects.toThrow(
      'another BANDOLIER_TOKEN_KEY',
    );
    await expect(idsOf(folder.start(), 'ada')).rejects.toThrow('none is set');
    expect(await idsOf(folder.start('a secret of 16 or more'), 'ada')).toEqual(['a']);
  });
});
