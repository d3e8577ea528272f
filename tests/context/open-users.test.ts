import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import type { UserPlace } from '../../src/context/context-store.ts';
import { FileContextStore } from '../../src/context/file-context-store.ts';
import { noVectors } from '../../src/context/item-record.ts';
import { type IndexedUser, OpenUsers } from '../../src/context/open-users.ts';
import { UserKey } from '../../src/context/seals.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';

const kernels = await loadKernels();
const root = temporaryFolder();
const NOW = Date.UTC(2026, 10, 22);
const ROOM = 1e9;

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Answers a reading when it is told to. */
class SlowStore extends FileContextStore {
  #held: { readonly read: () => void; readonly until: Promise<void> } | null = null;

  /** Holds the next answer back. Returns when it is read, and what lets it go. */
  hold(): { readonly read: Promise<void>; release(): void } {
    const [read, until] = [gate(), gate()];
    this.#held = { read: read.open, until: until.opened };
    return { read: read.opened, release: until.open };
  }

  override async read(...args: Parameters<FileContextStore['read']>) {
    const held = this.#held;
    this.#held = null;
    const found = await super.read(...args);
    held?.read();
    await held?.until;
    return found;
  }
}

interface Put {
  readonly length?: number;
  readonly id?: string;
  readonly expiresAt?: number;
  readonly catalog?: string;
}

/** Users of one process, whose items are one text each. */
class Process {
  readonly users: OpenUsers;
  readonly store: SlowStore;

  /** @param store may be that of another process */
  constructor({ most = ROOM, store = new SlowStore(join(root, randomUUID())) } = {}) {
    this.store = store;
    this.users = new OpenUsers(this.store, undefined, most, kernels);
  }

  async put(
    user: string,
    { length = 1000, id = 'a', expiresAt, catalog = 'default' }: Put = {},
  ): Promise<UserPlace> {
    const place = await this.users.placeOf(catalog, user);
    const item = { id, text: 'x'.repeat(length), store: 'notes', putAt: NOW };
    const more = expiresAt === undefined ? [] : [{ ...item, id: 'brief', expiresAt }];
    const items = [item, ...more];
    await this.users.change(place, async () => ({ items: { items, vectors: noVectors(items.length) } }));
    return place;
  }

  /** Whether it need not be decrypted. */
  async isOpen(place: UserPlace): Promise<boolean> {
    const opening = vi.spyOn(UserKey.prototype, 'open');
    await this.users.read(place, NOW);
    const { length } = opening.mock.calls;
    opening.mockRestore();
    return length === 0;
  }
}

const idsOf = (user: IndexedUser | null) => user?.items.map(({ id }) => id);

/** About the bytes that one user takes. */
async function bytesOfOne(): Promise<number> {
  const one = new Process();
  await one.put('ada');
  return one.users.bytes;
}

it('counts a user who made room for others while being looked at', async () => {
  const bytes = await bytesOfOne();
  const process = new Process({ most: 1.5 * bytes });
  const ada = await process.put('ada');
  const held = process.store.hold();
  const reading = process.users.read(ada, NOW);
  await held.read;
  const bob = await process.put('bob');
  expect(process.users.bytes).toBe(bytes);
  held.release();
  expect(idsOf(await reading)).toEqual(['a']);
  expect(process.users.bytes).toBe(bytes);
  expect([await process.isOpen(ada), await process.isOpen(bob)]).toEqual([true, false]);
  process.users.drop(bob);
  expect(process.users.bytes).toBe(0);
});

it('lets go who was not looked at for longest', async () => {
  const process = new Process({ most: 2.5 * (await bytesOfOne()) });
  const [ada, bob] = [await process.put('ada'), await process.put('bob')];
  await process.users.read(ada, NOW);
  await process.put('cleo');
  expect([await process.isOpen(ada), await process.isOpen(bob)]).toEqual([true, false]);
});

it.each([
  ['open', false],
  ['sealed', true],
])('keeps nothing of a user who is erased while being read, %s', async (_, isSealed) => {
  const process = new Process();
  const { users, store } = process;
  const ada = await process.put('ada');
  if (isSealed) users.drop(ada);
  const held = store.hold();
  const reading = users.read(ada, NOW);
  await held.read;
  await store.beginErasure(ada, '{}');
  users.drop(ada);
  await store.finishErasure(ada);
  held.release();
  await reading;
  expect(users.bytes).toBe(0);
  expect(await users.read(ada, NOW)).toBeNull();
});

it('keeps nothing of the users of a catalog that is deleted, and all of the others', async () => {
  const process = new Process();
  const ada = await process.put('ada');
  const bytes = process.users.bytes;
  await process.put('ada', { catalog: 'home' });
  await process.put('bob', { catalog: 'home' });
  process.users.dropCatalog('home');
  expect([process.users.bytes, await process.isOpen(ada)]).toEqual([bytes, true]);
});

it('finds what another process put meanwhile, after a change that touches no items', async () => {
  const one = new Process();
  const ada = await one.put('ada');
  await new Process({ store: one.store }).put('ada', { id: 'b' });
  await one.users.change(ada, async ({ signals }) => ({ signals }), { signalsOnly: true });
  expect(idsOf(await one.users.read(ada, NOW))).toEqual(['b']);
});

it('knows of a use that it wrote what another process reads of it, to the bit', async () => {
  const process = new Process();
  const other = new Process({ store: process.store });
  const ada = await process.put('ada');
  const query = { fingerprint: 'one', embedding: Float32Array.of(0.6, 0.64, 0.48) };
  for (const days of [0, 11, 23]) {
    const use = { key: `${days}`, items: ['a'], at: NOW + days * 86_400_000, query };
    await process.users.change(ada, async ({ signals }) => {
      signals.add(use, use.at);
      return { signals };
    });
  }
  const usageOf = async ({ users }: Process) => (await users.read(ada, NOW))?.signals.of('a');
  const usage = await usageOf(process);
  expect(usage).toEqual(await usageOf(other));
  expect(usage!.cosineWith(query.embedding)).toBe((await usageOf(other))!.cosineWith(query.embedding));
});

it('finds a user who was looked for in vain while being put', async () => {
  const { users, store } = new Process();
  const ada = await users.placeOf('default', 'ada');
  const items = [{ id: 'a', text: 'x', store: 'notes', putAt: NOW }];
  // As over Redis, where a reading does not wait for a change.
  vi.spyOn(store, 'read').mockResolvedValueOnce(null);
  await users.change(ada, async () => {
    expect(await users.read(ada, NOW)).toBeNull();
    return { items: { items, vectors: noVectors(1) } };
  });
  expect(idsOf(await users.read(ada, NOW))).toEqual(['a']);
});

it('lets go of nobody for one who is larger than the cache', async () => {
  const process = new Process({ most: 1.5 * (await bytesOfOne()) });
  const ada = await process.put('ada');
  const large = await process.put('bob', { length: 10_000 });
  expect([await process.isOpen(ada), await process.isOpen(large), await process.isOpen(ada)]).toEqual([
    true,
    false,
    true,
  ]);
});

it('keeps no item in memory that was left out since its time is over', async () => {
  const process = new Process();
  const ada = await process.put('ada', { expiresAt: NOW + 10 });
  const both = process.users.bytes;
  expect(idsOf(await process.users.read(ada, NOW + 10))).toEqual(['a']);
  expect(process.users.bytes).toBeLessThan(both - 1000);
  expect(await process.isOpen(ada)).toBe(true);
});

it('remembers of 20,000 users that nothing is kept, those who were looked for last', async () => {
  const { users, store } = new Process();
  await users.placeOf('default', 'ada');
  const reading = vi.spyOn(store, 'read').mockResolvedValue(null);
  const look = (user: number) => users.read({ catalog: 'default', user: String(user) }, NOW);
  for (let user = 0; user <= 20_000; user++) await look(user);
  reading.mockClear();
  for (const user of [20_000, 1, 0]) await look(user);
  expect(reading.mock.calls.map(([{ user }]) => user)).toEqual(['0']);
});
