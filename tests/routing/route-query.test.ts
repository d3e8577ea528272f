import { describe, expect, it, vi } from 'vitest';
import { EmbedderUnavailableError } from '../../src/models/embedder.ts';
import { putTools, START, Story, tool } from '../state/entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

const names = ({ tools }: { readonly tools: readonly { readonly name: string }[] }): string[] =>
  tools.map(({ name }) => name);

describe('a query', () => {
  it('gets all tools there are, each certain, when k is above their number', async () => {
    const catalog = new RoutedCatalog(3);
    for (const explore of [true, false]) {
      const answer = await catalog.route({ k: 50, explore });
      expect(names(answer).sort()).toEqual(['t0', 't1', 't2']);
      for (const { propensity } of answer.tools) expect(propensity).toBeCloseTo(1, 6);
    }
    const most = await catalog.route({ k: 50, pin: ['t2', 'gone'], exclude: ['t0'] });
    expect(names(most)).toEqual(['t2', 't1']);
    expect(most.notes).toEqual(['Not pinned: "gone" is no tool of this catalog']);
  });

  it('gets no tool whose server is down, and the same decision for the same key when it is back', async () => {
    const catalog = new RoutedCatalog(3);
    catalog.unavailable = ['t1'];
    const down = await catalog.route({ k: 50, pin: ['t1'] }, { idempotencyKey: 'once' });
    expect(names(down).sort()).toEqual(['t0', 't2']);
    catalog.unavailable = [];
    const again = await catalog.route({ k: 50, pin: ['t1'] }, { idempotencyKey: 'once' });
    expect(again.decisionId).toBe(down.decisionId);
    expect(names(await catalog.route({ k: 50 }))).toContain('t1');
  });

  it('gets no tools, and a fallback, in a catalog without tools or with all of them excluded', async () => {
    for (const catalog of [new RoutedCatalog(0), new RoutedCatalog(2)]) {
      expect(await catalog.route({ exclude: ['t0', 't1'] })).toMatchObject({
        tools: [],
        fallback: 'low_confidence',
      });
    }
  });

  it('fails, and not the process, when a model fails while another one is waited for', async () => {
    const catalog = new RoutedCatalog(3, { contextExpansion: 'chat' });
    const parts = {
      contexts: { read: async () => ({ user: { items: [] } }) },
      expansions: {
        expand: async () => {
          throw new Error('a fault in asking');
        },
      },
    };
    Object.assign(catalog.parts, parts);
    // Longer than until the process says that nobody waits for what failed.
    catalog.onEmbed = () => new Promise((resolve) => setImmediate(resolve));
    const request = { userId: 'mia', maxContext: 3 } as const;
    await expect(catalog.route(request)).rejects.toThrow('a fault in asking');
  });

  it('is answered with the tools of the moment in which it is decided, not of that in which it came', async () => {
    const catalog = new RoutedCatalog(3);
    catalog.onEmbed = () => {
      const put = [tool('t5'), tool('t1', { description: 'is another one' })];
      catalog.story.tell(putTools(put, { remove: ['t0'] }));
    };
    const answer = await catalog.route({ query: 'does t5', k: 10, format: 'mcp' });
    expect(names(answer).sort()).toEqual(['t1', 't2', 't5']);
    expect(answer.tools.find(({ name }) => name === 't1')?.definition).toMatchObject({
      description: 'is another one',
    });
    expect(answer.revision).toBe(catalog.state.revision);
  });

  it('is answered without a tool that is removed between its shortlist and its answer', async () => {
    const catalog = new RoutedCatalog(3, { reranker: { model: 'any', budgetMs: 100 } });
    let seen: readonly string[] = [];
    catalog.rerank = async (_, documents) => {
      seen = documents;
      catalog.story.tell(putTools([], { remove: ['t1'] }));
      return { scores: documents.map(() => 1) };
    };
    const answer = await catalog.route({ k: 3, pin: ['t1'] });
    expect(seen.some((text) => text.includes('t1') || text.includes('t 1'))).toBe(true);
    expect(names(answer).sort()).toEqual(['t0', 't2']);
    expect(answer.notes).toEqual(['Not pinned: "t1" is no tool of this catalog']);
  });

  it('is reranked by whole descriptions', async () => {
    const catalog = new RoutedCatalog(3, { reranker: { model: 'any', budgetMs: 100 } });
    const description = 'Does t1.\n\nOnly on Sundays.';
    catalog.story.tell(putTools([{ ...tool('t1'), description }]));
    let seen: readonly string[] = [];
    catalog.rerank = async (_, documents) => {
      seen = documents;
      return { scores: documents.map(() => 1) };
    };
    await catalog.route();
    expect(seen).toContain(`t1: ${description}`);
  });

  it('is answered from the state that a replica reloads meanwhile', async () => {
    const catalog = new RoutedCatalog(3);
    const fresh = Story.withTools(6);
    catalog.onEmbed = () => {
      catalog.state.tools.unfollow(catalog.index);
      fresh.state.tools.follow(catalog.index);
      catalog.state.free();
      catalog.state = fresh.state;
    };
    const answer = await catalog.route({ query: 'does t5', k: 10 });
    expect(names(answer).sort()).toEqual(['t0', 't1', 't2', 't3', 't4', 't5']);
  });

  it('is answered by words, and teaches nothing, when its catalog is moved to another embedder meanwhile', async () => {
    const catalog = new RoutedCatalog(3, { reranker: { model: 'any', budgetMs: 100 } });
    catalog.rerank = async (_, documents) => {
      const vectors = [...catalog.state.tools.live()].map(({ tool: { name }, hash }) => {
        return { name, hash, embedding: new Float32Array(8).fill(0.35) };
      });
      const to = { model: 'other', fingerprint: 'e2', dimensions: 8, vectors };
      catalog.story.tell({ kind: 'embedder', key: 'm', at: START, ...to });
      return { scores: documents.map(() => 0.5) };
    };
    const answer = await catalog.route();
    expect(answer).toMatchObject({ fallback: 'embedder_down', tools: [{}, {}] });
    const decision = await (await catalog.decisionLogs.open('default')).get(answer.decisionId);
    expect(decision).toMatchObject({ fingerprint: 'e2', learn: false, query: { embedding: null } });
  });

  it('of another request with the same Idempotency-Key is refused, the very same is answered alike', async () => {
    const catalog = new RoutedCatalog();
    const options = { idempotencyKey: 'once' };
    const first = await catalog.route({}, options);
    expect(await catalog.route({}, options)).toEqual(first);
    await expect(catalog.route({ k: 1 }, options)).rejects.toMatchObject({ code: 'idempotency-conflict' });
    expect(catalog.embedded).toEqual(['does t1']);
  });
});

describe('a request whose Idempotency-Key stands for a decision that expires meanwhile', () => {
  it('is answered decision-expired, and not that a store is away', async () => {
    const catalog = new RoutedCatalog(3);
    const log = await catalog.decisionLogs.open('default');
    vi.spyOn(log, 'append').mockResolvedValue(false);
    await expect(catalog.route({}, { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'decision-expired',
    });
  });
});

describe('a request that is cancelled', () => {
  const gone = new Error('the client hung up');

  it('asks no model when it is cancelled before', async () => {
    const catalog = new RoutedCatalog();
    await expect(catalog.route({}, { signal: AbortSignal.abort(gone) })).rejects.toBe(gone);
    expect(catalog.embedded).toEqual([]);
  });

  it('is neither reranked nor decided when it is cancelled while it is embedded', async () => {
    const catalog = new RoutedCatalog(3, { reranker: { model: 'any', budgetMs: 100 } });
    let reranked = 0;
    catalog.rerank = async () => {
      reranked++;
      return { missing: 'nothing' };
    };
    const client = new AbortController();
    catalog.onEmbed = () => client.abort(gone);
    const options = { idempotencyKey: 'k', signal: client.signal };
    await expect(catalog.route({}, options)).rejects.toBe(gone);
    expect([reranked, catalog.counted.ranked]).toEqual([0, 0]);
    // Sent again, it is decided.
    catalog.onEmbed = () => undefined;
    expect((await catalog.route({}, { idempotencyKey: 'k' })).tools).toHaveLength(2);
    expect([reranked, catalog.counted.ranked]).toEqual([1, 1]);
  });
});

describe('a fallback', () => {
  /** No word of it is in any tool. */
  const STRANGE = { query: 'zzz', k: 2 };
  const byWords = (failMode: 'open' | 'closed' | 'passthrough'): RoutedCatalog => {
    const catalog = new RoutedCatalog(3, { failMode });
    catalog.embedderDown = true;
    return catalog;
  };

  it('is null where retrieval finds something', async () => {
    expect(await new RoutedCatalog().route()).toMatchObject({ fallback: null, tools: [{ name: 't1' }, {}] });
  });

  it('says that words decided alone, because the embedder is away or failed just now', async () => {
    const away = new RoutedCatalog();
    away.embedderDown = true;
    const failing = new RoutedCatalog();
    failing.onEmbed = () => {
      throw new EmbedderUnavailableError('down');
    };
    for (const catalog of [away, failing]) {
      const answer = await catalog.route();
      expect(answer).toMatchObject({ fallback: 'embedder_down', tools: [{ name: 't1' }, {}] });
      const decision = await (await catalog.decisionLogs.open('default')).get(answer.decisionId);
      expect(decision).toMatchObject({ learn: false });
    }
  });

  it('does not hide a fault of the embedder', async () => {
    const catalog = new RoutedCatalog();
    catalog.onEmbed = () => {
      throw new RangeError('a fault');
    };
    await expect(catalog.route()).rejects.toThrow('a fault');
  });

  it('open serves pins and the most reliable tools, closed pins alone, passthrough everything', async () => {
    const pin = ['t2'];
    expect(names(await byWords('open').route({ ...STRANGE, pin }))).toEqual(['t2', 't0']);
    expect(names(await byWords('closed').route({ ...STRANGE, pin }))).toEqual(['t2']);
    expect(names(await byWords('passthrough').route({ ...STRANGE, pin }))).toEqual(['t2', 't0', 't1']);
    const without = await byWords('passthrough').route({ ...STRANGE, exclude: ['t0'] });
    expect(names(without)).toEqual(['t1', 't2']);
    expect(without.tools.map(({ propensity }) => propensity)).toEqual([1, 1]);
  });

  it('says low_confidence where nothing fits though the embedder works', async () => {
    const answer = await new RoutedCatalog(1).route(STRANGE);
    expect(answer).toMatchObject({ fallback: 'low_confidence', tools: [{ name: 't0' }] });
  });

  it('is null where only the vector of a query touches the one tool of a catalog', async () => {
    const answer = await new RoutedCatalog(1).route({ query: 'zz0', k: 2 });
    expect(answer).toMatchObject({ fallback: null, tools: [{ name: 't0', base: 0 }] });
  });

  it('says that the kill switch is on: retrieval order, nothing drawn', async () => {
    const answer = await new RoutedCatalog(3, { killSwitch: true }).route({ explore: true });
    expect(answer).toMatchObject({ fallback: 'kill_switch', tools: [{ name: 't1' }, {}] });
    expect(answer.tools.map(({ propensity }) => propensity)).toEqual([1, 1]);
  });

  it('serves a conversation that ends without words; one without a user is refused', async () => {
    const catalog = new RoutedCatalog();
    const messages = [{ role: 'user', content: [{ type: 'image' }] }];
    const answer = await catalog.route({ query: undefined, messages } as never);
    expect(answer.fallback).toBe('low_confidence');
    expect(catalog.embedded).toEqual([]);
    await expect(catalog.route({ query: undefined, messages: [] } as never)).rejects.toMatchObject({
      code: 'validation-failed',
    });
  });
});
