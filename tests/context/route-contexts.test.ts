import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TreeScorer } from '../../bandit/ranking/tree-scorer.ts';
import { type ContextOutcome, type NotedDecision, RouteContexts } from '../../src/context/route-contexts.ts';
import { Seals } from '../../src/context/seals.ts';
import type { ItemsUse } from '../../src/context/use-recorder.ts';
import type { LoadedContext, UserContexts } from '../../src/context/user-contexts.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';

const errors: unknown[] = [];
const scorer = new TreeScorer(await loadKernels());
const routeContexts = (load: () => Promise<unknown>) =>
  new RouteContexts(
    { load, loadPlace: load } as unknown as UserContexts,
    () => null,
    (_, error) => errors.push(error),
    scorer,
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

describe('how items of a decision were used', () => {
  const place = { catalog: 'default', user: 'u' };
  const { key } = new Seals(Buffer.alloc(32)).newKey(place);
  const sealed = { reasons: [], place: 'gym', utcOffsetMinutes: 60, tools: [] };
  const decision = {
    ...{ id: 'd', at: 5, catalog: 'default', fingerprint: null },
    query: { embedding: null, terms: { terms: [] } },
    context: {
      user: 'u',
      items: [
        { number: 7, score: 1 },
        { number: 8, score: 0.5 },
      ],
      features: new Float32Array(16),
      sealed: key.seal('decision d', Buffer.from(JSON.stringify(sealed))).toString('base64'),
    },
  } as unknown as NotedDecision;

  async function noted(...outcomes: readonly ContextOutcome[]): Promise<ItemsUse[]> {
    const uses: ItemsUse[] = [];
    const contexts = {
      loadPlace: async () => ({ key, items: [] }),
      recordUseAt: async (_: unknown, use: ItemsUse) => void uses.push(use),
    };
    const routes = new RouteContexts(
      contexts as unknown as UserContexts,
      () => null,
      (_, error) => {
        throw error;
      },
      scorer,
    );
    await routes.note(decision, outcomes);
    return uses;
  }
  const outcome = (rewardId: string, more: Partial<ContextOutcome> = {}): ContextOutcome => ({
    ...{ rewardId, tool: 't', outcome: 1, ...more },
  });

  it('is that the best one was, once for the decision, where an outcome above 0 does not say', async () => {
    const uses = await noted(
      ...[outcome('r1'), outcome('r2'), outcome('r3', { outcome: 0 }), outcome('r4', { outcome: -1 })],
    );
    expect(uses.map(({ key, items }) => [key, items])).toEqual([
      ['d', [7]],
      ['d', [7]],
    ]);
    const { tool, at, utcOffsetMinutes } = uses[0];
    expect([tool, uses[0].place, at, utcOffsetMinutes]).toEqual(['t', 'gym', 5, 60]);
  });

  it('is what each report says, whatever its outcome, and nothing where none was right', async () => {
    const uses = await noted(
      outcome('r1', { items: ['a', 'b'], outcome: -1 }),
      outcome('r2', { items: ['c'] }),
      outcome('r3', { items: [] }),
    );
    expect(uses.map(({ key, items }) => [key, items])).toEqual([
      ['r1', ['a', 'b']],
      ['r2', ['c']],
    ]);
  });
});
