import { afterEach, describe, expect, it } from 'vitest';
import {
  allUsers,
  BeingErasedError,
  type ContextStore,
  type SealedUser,
} from '../../src/context/context-store.ts';

/** One place in which what users have is kept. */
export interface ContextPlace {
  /** Connects to it, as a starting process does. */
  connect(): Promise<ContextStore>;
  /** Everything in it, byte by byte. */
  content(): Promise<Buffer>;
  dispose(): Promise<void>;
}

const name = (digit: string): string => digit.repeat(32);
const ada = { catalog: 'default', user: name('a') };
const bob = { catalog: 'default', user: name('b') };
const bytes = (text: string): Buffer => Buffer.from(text);

/** What every implementation of `ContextStore` keeps. `createPlace` makes an empty one. */
export function contextStoreContract(title: string, createPlace: () => Promise<ContextPlace>): void {
  describe(`${title} as a context store`, () => {
    let place: ContextPlace;
    const start = async (): Promise<ContextStore> => {
      place = await createPlace();
      return place.connect();
    };
    afterEach(() => place.dispose());
    const put = (store: ContextStore, where: typeof ada, items: string) =>
      store.change(where, async (current) => ({
        ...(current === null && { key: bytes('key') }),
        items: bytes(items),
      }));
    const read = async (store: ContextStore, where: typeof ada) =>
      (await store.read(where)) as SealedUser | null;
    const usersOf = async (store: ContextStore, catalog: string): Promise<string[]> => {
      const users: string[] = [];
      for await (const user of allUsers(store, catalog)) users.push(user);
      return users.sort();
    };

    it('is empty at first', async () => {
      const store = await start();
      expect(await store.readServiceKey()).toBeNull();
      expect(await store.read(ada)).toBeNull();
      expect(await usersOf(store, 'default')).toEqual([]);
      expect(await store.unfinishedErasures('default')).toEqual([]);
      await store.remove('default');
      await store.finishErasure(ada);
    });

    it('keeps the first service key of several that come at once, and replaces it when asked to', async () => {
      const store = await start();
      const made = await Promise.all(['1', '2', '3'].map((key) => store.createServiceKey(bytes(key))));
      expect(new Set(made.map(String)).size).toBe(1);
      const other = await place.connect();
      expect(await other.readServiceKey()).toEqual(made[0]);
      await other.replaceServiceKey(bytes('4'));
      expect(await store.readServiceKey()).toEqual(bytes('4'));
      expect(await store.createServiceKey(bytes('5'))).toEqual(bytes('4'));
    });

    it('returns what was written last, to later processes as well, and leaves parts alone that are not written', async () => {
      const store = await start();
      await put(store, ada, 'songs');
      await store.change(ada, async () => ({ signals: bytes('uses') }));
      await put(store, bob, 'notes');
      for (const reader of [store, await place.connect()]) {
        expect(await read(reader, ada)).toMatchObject({
          ...{ key: bytes('key'), items: bytes('songs'), signals: bytes('uses') },
        });
        expect(await read(reader, bob)).toMatchObject({ items: bytes('notes'), signals: null });
        expect(await reader.read({ ...ada, catalog: 'other' })).toBeNull();
        expect(await usersOf(reader, 'default')).toEqual([ada.user, bob.user]);
      }
    });

    it('keeps what training reads beside the rest, and leaves it alone or erases it with the user', async () => {
      const store = await start();
      expect(await store.examples(ada)).toBeNull();
      await put(store, ada, 'songs');
      expect(await store.examples(ada)).toBeNull();
      const stamp = await store.change(ada, async () => ({ examples: bytes('examples of ada') }));
      expect(await store.read(ada, stamp!)).toBe('same');
      await put(store, ada, 'other songs');
      for (const reader of [store, await place.connect()]) {
        expect(await reader.examples(ada)).toEqual({ key: bytes('key'), examples: bytes('examples of ada') });
      }
      await store.beginErasure(ada, 'note');
      expect(await store.examples(ada)).toBeNull();
      await store.finishErasure(ada);
      expect(await store.examples(ada)).toBeNull();
      expect((await place.content()).toString('latin1')).not.toContain('examples of ada');
    });

    it('says with a stamp whether anything has changed', async () => {
      const store = await start();
      const stamp = await put(store, ada, 'songs');
      expect(await store.read(ada, stamp!)).toBe('same');
      expect(await store.change(ada, async () => null)).toBe(stamp);
      const next = await put(store, ada, 'songs');
      expect(next).not.toBe(stamp);
      expect(await store.read(ada, stamp!)).toMatchObject({ stamp: next });
    });

    it('runs changes of one user one after the other: none is lost', async () => {
      const store = await start();
      await put(store, ada, '');
      const adding = (one: string) =>
        store.change(ada, async (current) => ({ items: bytes(`${current?.items ?? ''}${one}`) }));
      await Promise.all([...'abcdefgh'].map(adding));
      expect([...(await read(store, ada))!.items!.toString()].sort().join('')).toBe('abcdefgh');
    });

    it('writes nothing when the change cannot be made', async () => {
      const store = await start();
      const fails = store.change(ada, async () => {
        throw Object.assign(new Error('too many'), { code: 'too-many-items' });
      });
      await expect(fails).rejects.toThrow('too many');
      await expect(store.change(ada, async () => ({ items: bytes('songs') }))).rejects.toThrow('key');
      expect(await store.read(ada)).toBeNull();
    });

    it('erases a user whole, and nobody else', async () => {
      const store = await start();
      await put(store, ada, 'songs of ada');
      await store.change(ada, async () => ({ signals: bytes('uses of ada') }));
      const stamp = (await read(store, ada))!.stamp;
      await put(store, bob, 'notes of bob');
      await store.beginErasure(ada, 'note');
      await store.beginErasure(ada, 'note');
      expect(await store.read(ada, stamp)).toBeNull();
      await expect(put(store, ada, 'more')).rejects.toThrow(BeingErasedError);
      expect(await store.unfinishedErasures('default')).toEqual([ada.user]);
      expect(await store.erasureNote(ada)).toBe('note');
      await Promise.all([store.finishErasure(ada), store.finishErasure(ada)]);
      expect(await store.unfinishedErasures('default')).toEqual([]);
      expect(await usersOf(store, 'default')).toEqual([bob.user]);
      expect(await read(store, bob)).toMatchObject({ items: bytes('notes of bob') });
      const content = (await place.content()).toString('latin1');
      expect(content).toContain('notes of bob');
      expect(content).not.toMatch(/of ada|note$/);
    });

    it('lets another process complete an erasure that broke off, and an erased user come back', async () => {
      const store = await start();
      const before = await put(store, ada, 'songs');
      await store.beginErasure(ada, 'note');
      const next = await place.connect();
      expect(await next.read(ada)).toBeNull();
      expect(await next.unfinishedErasures('default')).toEqual([ada.user]);
      expect(await next.erasureNote(ada)).toBe('note');
      await next.finishErasure(ada, true);
      expect(await next.unfinishedErasures('default')).toEqual([ada.user]);
      expect((await place.content()).toString('latin1')).not.toContain('songs');
      await expect(put(next, ada, 'too soon')).rejects.toThrow(BeingErasedError);
      await next.finishErasure(ada);
      expect(await next.erasureNote(ada)).toBeNull();
      const stamp = await put(next, ada, 'other songs');
      expect(stamp).not.toBe(before);
      // Somebody completes it late.
      await next.finishErasure(ada);
      expect(await read(next, ada)).toMatchObject({ items: bytes('other songs'), signals: null });
    });

    it('names its users some at a time, also while some come and go', async () => {
      const store = await start();
      const all = Array.from({ length: 150 }, (_, n) => n.toString(16).padStart(3, '0').padEnd(32, '7'));
      for (const user of all) await put(store, { catalog: 'default', user }, 'songs');
      const gone = { catalog: 'default', user: all[99] };
      const named: string[] = [];
      let cursor: string | null = null;
      for (let pages = 0; cursor !== null || pages === 0; pages++) {
        const page = await (await place.connect()).someUsers('default', cursor, 20);
        named.push(...page.users);
        cursor = page.next;
        if (pages > 0) continue;
        await store.beginErasure(gone, 'note');
        await store.finishErasure(gone);
        await put(store, ada, 'came later');
      }
      const later = [gone.user, ada.user];
      const expected = all.filter((user) => !later.includes(user));
      expect([...new Set(named)].filter((user) => !later.includes(user)).sort()).toEqual(expected.sort());
    });

    it('keeps how far a sweep has come, with the catalog', async () => {
      const store = await start();
      expect(await store.readSweep('default')).toBeNull();
      await store.writeSweep('default', bytes('one'));
      await store.writeSweep('default', bytes('two'));
      expect(await (await place.connect()).readSweep('default')).toEqual(bytes('two'));
      expect(await store.readSweep('other')).toBeNull();
      await store.remove('default');
      expect(await store.readSweep('default')).toBeNull();
    });

    it('removes a catalog with its keys, and no other', async () => {
      const store = await start();
      const elsewhere = { ...ada, catalog: 'other' };
      const stamp = await put(store, ada, 'songs');
      await put(store, elsewhere, 'notes');
      await store.beginErasure(bob, 'note');
      await store.remove('default');
      await store.remove('default');
      expect(await store.read(ada, stamp!)).toBeNull();
      expect(await store.unfinishedErasures('default')).toEqual([]);
      expect(await read(store, elsewhere)).toMatchObject({ items: bytes('notes') });
      expect((await place.content()).toString('latin1')).not.toContain('songs');
    });
  });
}
