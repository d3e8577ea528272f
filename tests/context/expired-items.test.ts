import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import type { UserPlace } from '../../src/context/context-store.ts';
import { ExpiredItems } from '../../src/context/expired-items.ts';
import { FileContextStore } from '../../src/context/file-context-store.ts';
import { UserContexts } from '../../src/context/user-contexts.ts';
import type { Leases } from '../../src/snapshots/snapshot-store.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';

const kernels = await loadKernels();

const root = temporaryFolder();
const NOW = Date.UTC(2026, 10, 22, 12);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Users of one data folder, each with an item that ends after an hour and one that stays, and sweeps by processes that share it. */
class Deployment {
  readonly path = join(root, randomUUID());
  now = NOW;
  readonly errors: unknown[] = [];
  /** The leases that are held. */
  readonly held = new Set<string>();
  /** Users that were looked at, of all processes. */
  readonly looked: string[] = [];
  readonly contexts: UserContexts;
  readonly #store = new FileContextStore(this.path);
  readonly #catalogs: Catalogs;
  readonly catalogs = new Map([['default', { name: 'default', embedder: null }]]);

  constructor() {
    this.#catalogs = {
      all: () => [...this.catalogs.values()],
      find: (name: string) => this.catalogs.get(name),
      get: (name: string) => this.catalogs.get(name),
      holding: async (name: string, work: (one: unknown) => unknown) => work(this.catalogs.get(name)),
    } as unknown as Catalogs;
    const onError = (_: string, error: unknown): void => void this.errors.push(error);
    const parts = { catalogs: this.#catalogs, store: this.#store, secret: undefined, kernels, onError };
    this.contexts = new UserContexts({ ...parts, now: () => this.now });
  }

  async putUsers(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      await this.contexts.put('default', `user-${n}`, [
        { id: 'brief', text: 'gone soon', store: 'notes', expiresAt: NOW + HOUR },
        { id: 'lasting', text: 'stays', store: 'notes' },
      ]);
    }
  }

  /** A process. @param pause between batches */
  start(pause: (signal: AbortSignal) => Promise<void> = async () => {}): ExpiredItems {
    const acquire: Leases['acquire'] = async (name) => {
      if (this.held.has(name)) return null;
      this.held.add(name);
      const release = async (): Promise<void> => void this.held.delete(name);
      return { fence: 1, lost: new AbortController().signal, release };
    };
    const process = new ExpiredItems({
      ...{ catalogs: this.#catalogs, store: this.#store, pause, now: () => this.now },
      leases: { acquire, close: async () => {} },
      contexts: {
        removeExpired: (place: UserPlace, by: number) => {
          this.looked.push(place.user);
          return this.contexts.removeExpired(place, by);
        },
      },
      onError: (_, error) => void this.errors.push(error),
    });
    started.push(process);
    return process;
  }

  /** Users of whom the brief item is still in the store. */
  async kept(): Promise<number> {
    const now = this.now;
    this.now = NOW; // so that nothing is left out
    const next = new UserContexts({
      ...{ catalogs: this.#catalogs, store: new FileContextStore(this.path), secret: undefined, kernels },
      now: () => NOW,
      onError: () => {},
    });
    let kept = 0;
    for (let n = 0; ; n++) {
      const items = (await next.load('default', `user-${n}`))?.items;
      if (items === undefined) break;
      expect(items.at(-1)?.id).toBe('lasting');
      kept += items.length - 1;
    }
    this.now = now;
    return kept;
  }
}

const started: ExpiredItems[] = [];
afterEach(async () => {
  for (const process of started.splice(0)) await process.close();
});

it('deletes what was over when the round before began, of users nobody asks for, and looks once a day', async () => {
  const deployment = new Deployment();
  await deployment.putUsers(25);
  const left = join(deployment.path, 'catalogs/default/context/sweep.1.unfinished');
  writeFileSync(left, 'of a process that was killed');
  const process = deployment.start();
  await process.sweep();
  expect(existsSync(left)).toBe(false);
  deployment.now = NOW + DAY;
  await process.sweep();
  // Over for nearly a day, but not when the first round began.
  expect(await deployment.kept()).toBe(25);
  deployment.now = NOW + 2 * DAY - 1;
  await process.sweep();
  expect([await deployment.kept(), deployment.looked.length]).toEqual([25, 50]);
  deployment.now = NOW + 2 * DAY;
  await process.sweep();
  expect([await deployment.kept(), deployment.looked.length]).toEqual([0, 75]);
  expect(deployment.errors).toEqual([]);
});

it('deletes nothing by a clock that is years ahead for less than a day, nor by one that went back', async () => {
  const deployment = new Deployment();
  await deployment.putUsers(3);
  await deployment.start().sweep();
  for (const now of [NOW + 14 * 365 * DAY, NOW + 14 * 365 * DAY + DAY - 1, NOW + 1, NOW - DAY, NOW + 2]) {
    deployment.now = now;
    await deployment.start().sweep();
    expect([now, await deployment.kept()]).toEqual([now, 3]);
  }
  // It goes on as usual when the clock is right again.
  for (const days of [2, 3, 4]) {
    deployment.now = NOW + days * DAY;
    await deployment.start().sweep();
  }
  expect(await deployment.kept()).toBe(0);
});

it('begins anew where a round broke off that began in a future which has not come', async () => {
  const deployment = new Deployment();
  await deployment.putUsers(25);
  deployment.now = NOW + 14 * 365 * DAY;
  const ahead = deployment.start(async () => void ahead.close());
  await ahead.sweep();
  expect(deployment.looked).toHaveLength(10);
  deployment.now = NOW;
  await deployment.start().sweep();
  expect(deployment.looked).toHaveLength(35);
});

it('writes nothing about a catalog in which no user has anything', async () => {
  const deployment = new Deployment();
  await deployment.start().sweep();
  expect(existsSync(deployment.path)).toBe(false);
  expect([deployment.held.size, deployment.errors]).toEqual([0, []]);
});

it('goes on where a process stopped, and is done by one process at a time', async () => {
  const deployment = new Deployment();
  await deployment.putUsers(35);
  for (const days of [0, 1]) {
    deployment.now = NOW + days * DAY;
    await deployment.start().sweep();
  }
  deployment.now = NOW + 3 * DAY;
  deployment.looked.length = 0;
  // Killed after the second batch.
  let batches = 0;
  const dying = deployment.start(async () => {
    if (++batches === 2) throw new Error('killed');
  });
  await dying.sweep();
  expect(deployment.errors.splice(0)).toEqual([new Error('killed')]);
  expect([deployment.looked.length, await deployment.kept()]).toEqual([20, 15]);
  let waiting = (): void => {};
  const paused = new Promise<void>((resolve) => {
    waiting = resolve;
  });
  let entered = (): void => {};
  const isPaused = new Promise<void>((resolve) => {
    entered = resolve;
  });
  const slow = deployment.start(() => {
    entered();
    return paused;
  });
  const sweeping = slow.sweep();
  await isPaused;
  await deployment.start().sweep();
  expect(deployment.looked).toHaveLength(30);
  waiting();
  await sweeping;
  expect([await deployment.kept(), new Set(deployment.looked).size, deployment.looked.length]).toEqual([
    0, 35, 35,
  ]);
});

it('skips a user whose items cannot be opened, and stops with the catalog or the process', async () => {
  const deployment = new Deployment();
  await deployment.putUsers(25);
  for (const days of [0, 1]) {
    deployment.now = NOW + days * DAY;
    await deployment.start().sweep();
  }
  deployment.now = NOW + 3 * DAY;
  const { place } = (await deployment.contexts.load('default', 'user-7'))!;
  const store = new FileContextStore(deployment.path);
  await store.change(place, async () => ({ items: Buffer.from('\x09 of a later version') }));
  const another = await deployment.contexts.load('default', 'user-8');
  await store.beginErasure(another!.place, 'note');
  await deployment.start().sweep();
  expect(deployment.errors.splice(0)).toEqual([expect.objectContaining({ name: 'SealError' })]);
  expect(await store.read(place)).toMatchObject({ items: Buffer.from('\x09 of a later version') });
  deployment.now = NOW + 5 * DAY;
  deployment.looked.length = 0;
  await deployment
    .start(async () => {
      deployment.catalogs.clear();
    })
    .sweep();
  expect(deployment.looked.length).toBeLessThan(25);
  expect(deployment.held.size).toBe(0);
});
