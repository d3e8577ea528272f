import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RouteContexts } from '../../src/context/route-contexts.ts';
import type { LoadedContext, UserContexts } from '../../src/context/user-contexts.ts';

const errors: unknown[] = [];
const routeContexts = (load: () => Promise<unknown>) =>
  new RouteContexts(
    { load, loadPlace: load } as unknown as UserContexts,
    () => null,
    (_, error) => errors.push(error),
  );

describe('what a route reads of its user', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    errors.length = 0;
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is nothing where nothing is kept, and the user where something is', async () => {
    const user = { items: [{ id: 'a' }] } as unknown as LoadedContext;
    expect(await routeContexts(async () => null).read('default', 'mia')).toBeNull();
    expect(await routeContexts(async () => ({ ...user, items: [] })).read('default', 'mia')).toBeNull();
    expect(await routeContexts(async () => user).read('default', 'mia')).toEqual({ user });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is a note where the store is away, and the error is reported', async () => {
    const away = new Error('away');
    const read = await routeContexts(() => Promise.reject(away)).read('default', 'mia');
    expect(read).toEqual({ note: 'What the user has cannot be read now: chosen without it.' });
    expect(errors).toEqual([away]);
  });

  it('is a note where the store takes longer than 100 ms, or 2 s when a decision is answered again', async () => {
    const contexts = routeContexts(() => new Promise(() => {}));
    const reading = contexts.read('default', 'mia');
    const kept = {
      user: 'u',
      items: [{ number: 1, score: 0.5 }],
      features: new Float32Array(16),
      sealed: '',
    };
    const again = contexts.again({ id: 'd', catalog: 'default', context: kept });
    await vi.advanceTimersByTimeAsync(100);
    expect(await reading).toEqual({ note: expect.stringContaining('within 100 ms') });
    await vi.advanceTimersByTimeAsync(1_900);
    expect(await again).toEqual({ items: new Map(), note: expect.stringContaining('ask again') });
  });
});
