import { expect, it } from 'vitest';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import { Sources } from '../../src/sources/sources.ts';

/** A catalog with the source `a`, whose newest attempt and clock tests set; what the queue is given is counted. */
function catalog() {
  const world = { now: 10, added: 0, attempt: { startedAt: 1 }, folded: () => {} };
  const closing = new AbortController();
  const open = {
    now: () => world.now,
    closed: closing.signal,
    state: { position: 0, sources: new Map([['a', world]]) },
    replica: {
      reached: (_: number, signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          world.folded = resolve;
          signal.addEventListener('abort', () => resolve());
        }),
    },
  };
  const add = async () => {
    world.added++;
  };
  const sources = new Sources({ find: () => open } as unknown as Catalogs, {
    queue: { add },
    rules: { allowLocal: false, secretPrefix: '' },
  });
  /** An attempt ends that began then. */
  const ended = async (startedAt: number) => {
    world.attempt = { startedAt };
    world.folded();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { world, sources, ended, close: () => closing.abort() };
}

it('a source whose list changes while it is read is read again', async () => {
  const { world, sources, ended } = catalog();
  const refreshed = sources.refresh('default', 'a');
  await new Promise((resolve) => setImmediate(resolve));
  expect(world.added).toBe(1);
  world.now = 30;
  await sources.refresh('default', 'a');
  const before = world.added;
  // It began after the first change, and before the second one.
  await ended(20);
  expect(world.added).toBe(before + 1);
  await ended(40);
  await refreshed;
});

it('nothing waits for a catalog that is closed', async () => {
  const { sources, close } = catalog();
  const refreshed = sources.refresh('default', 'a');
  close();
  await refreshed;
});
