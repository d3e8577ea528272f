import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import { putTools, START, tool } from '../state/entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

/** A catalog whose ledger is folded at once, as by a replica. */
function discovering(tools = 8): RoutedCatalog {
  const catalog = new RoutedCatalog(tools);
  const append = async (entries: readonly Entry[]): Promise<void> => {
    for (const entry of entries) catalog.story.tell(entry);
  };
  Object.assign(catalog.catalog, { ledger: { append } });
  return catalog;
}

const names = (tools: readonly { readonly name: string }[]): string[] => tools.map(({ name }) => name);

describe('a discovery', () => {
  it('adds tools that were not shown, which belong to the decision, and teaches that the slate did not suffice', async () => {
    const catalog = discovering();
    const { decisionId, tools, sufficiency } = await catalog.ask();
    expect(sufficiency).toBeGreaterThan(0);
    const answer = await catalog.routing.discover(decisionId, { k: 3, rating: 0.1 });
    expect(answer.tools).toHaveLength(3);
    expect(names(answer.tools).filter((name) => names(tools).includes(name))).toEqual([]);
    expect(answer.tools[0]).toMatchObject({ reason: 'discovered', rank: 1, propensity: 1 });
    expect(answer).toMatchObject({ discoveries: 1, decisionId });
    const shown = [...names(tools), ...names(answer.tools)];
    expect((await catalog.routing.findHead(decisionId)).shown).toEqual(shown);
    const explained = await catalog.routing.explain(decisionId);
    expect(explained.candidates.slice(0, 5).map(({ name }) => name)).toEqual(shown);
    expect(explained.discoveries).toMatchObject([{ rating: 0.1, tools: [{}, {}, {}] }]);
    expect(catalog.routing.sufficiency('default')).toMatchObject({
      ...{ outcomes: 1, rated: 1, observed: 0 },
      discoveries: { decisions: 1, times: 1, tools: 3 },
    });
  });

  it('gives the next tools each time, sums the catalog up when none is left, and ends at the twentieth', async () => {
    const catalog = discovering(5);
    const { decisionId } = await catalog.ask();
    const first = await catalog.routing.discover(decisionId, { k: 2 });
    const second = await catalog.routing.discover(decisionId, { k: 2 });
    const third = await catalog.routing.discover(decisionId, {});
    expect([...names(first.tools), ...names(second.tools)]).toHaveLength(3);
    expect(third.tools).toEqual([]);
    expect(third.notes?.[0]).toContain('Nothing else');
    expect(third.summary).toMatchObject({ tools: 5, servers: [{ server: null, tools: 5 }], more: 0 });
    const summaries = async () => {
      for (let i = 0; i < 25; i++) {
        const { summary } = await catalog.routing.discover(decisionId, { summary: true });
        expect(summary).toMatchObject({ tools: 5 });
      }
    };
    await summaries();
    for (let i = 3; i < 20; i++) await catalog.routing.discover(decisionId, {});
    const problem: unknown = await catalog.routing.discover(decisionId, {}).catch((error: unknown) => error);
    expect(problem).toMatchObject({ code: 'too-many-discoveries' });
    await summaries();
    expect((await catalog.routing.find(decisionId)).discoveries).toHaveLength(40);
  });

  it('of several at once gives each other tools; with one Idempotency-Key the same ones', async () => {
    const catalog = discovering();
    const { decisionId } = await catalog.ask();
    const ask = (idempotencyKey?: string) => {
      return catalog.routing.discover(decisionId, { k: 1 }, { idempotencyKey });
    };
    const [a, b, c] = await Promise.all([ask(), ask(), ask()]);
    expect(new Set([a, b, c].flatMap(({ tools }) => names(tools))).size).toBe(3);
    const [d, e] = await Promise.all([ask('one'), ask('one')]);
    expect(names(d.tools)).toEqual(names(e.tools));
    expect(await ask('one')).toEqual(d);
    await expect(
      catalog.routing.discover(decisionId, { k: 2 }, { idempotencyKey: 'one' }),
    ).rejects.toMatchObject({ code: 'idempotency-conflict' });
    expect((await catalog.routing.find(decisionId)).discoveries).toHaveLength(4);
  });

  it('leaves the answer of a repeated request as it was', async () => {
    const catalog = discovering();
    const before = await catalog.ask({}, { idempotencyKey: 'route' });
    await catalog.routing.discover(before.decisionId, {});
    expect(names((await catalog.ask({}, { idempotencyKey: 'route' })).tools)).toEqual(names(before.tools));
  });

  it('has the propensities of its draw, and keeps within a token budget', async () => {
    const catalog = discovering();
    const { decisionId } = await catalog.ask({ explore: true, format: 'mcp' });
    const drawn = await catalog.routing.discover(decisionId, { k: 2 });
    for (const { propensity } of drawn.tools) expect(propensity > 0 && propensity < 1).toBe(true);
    const { decisionId: other } = await catalog.ask({ explore: false, format: 'mcp' });
    const all = await catalog.routing.discover(other, { k: 4 });
    const { decisionId: cheap } = await catalog.ask({ explore: false, format: 'mcp' });
    const bounded = await catalog.routing.discover(cheap, { k: 4, tokenBudget: all.tokens - 1 });
    expect(bounded.tokens).toBeLessThan(all.tokens);
    expect(bounded.tools.length).toBeGreaterThan(0);
    const none = await catalog.routing.discover(cheap, { tokenBudget: 1 });
    expect(none).toMatchObject({ tools: [], summary: { servers: [], domains: [] } });
    expect(none.notes?.[0]).toContain('1 tokens');
  });

  it('within a token budget serves the dear tool that is right, and not the cheap ones in its place', async () => {
    const catalog = discovering();
    const dear = tool('t1', { description: `does t1 ${'at length '.repeat(20)}` });
    catalog.story.tell(putTools([dear]));
    const { decisionId, tools } = await catalog.ask({
      pin: ['t5'],
      exclude: [],
      query: 'does t2',
      k: 1,
      format: 'mcp',
    });
    expect(names(tools)).not.toContain('t1');
    const decision = await catalog.routing.find(decisionId);
    const at = decision.candidates.indexOf('t1');
    for (const column of ['score', 'mean'] as const) {
      decision.columns[column].fill(0.4);
      decision.columns[column][at] = 0.9;
    }
    const log = await catalog.decisionLogs.open('default');
    await log.append({ ...decision, id: 'default.dear' });
    const unbounded = await catalog.routing.discover('default.dear', { k: 1 });
    expect(names(unbounded.tools)).toEqual(['t1']);
    await log.append({ ...decision, id: 'default.dearer' });
    const bounded = await catalog.routing.discover('default.dearer', { k: 4, tokenBudget: unbounded.tokens });
    expect(names(bounded.tools)).toEqual(['t1']);
  });

  it('is refused for a decision that there is not, or that was not shown yet', async () => {
    const catalog = discovering();
    await catalog.ask();
    await expect(catalog.routing.discover('default.x', {})).rejects.toMatchObject({
      code: 'decision-not-found',
    });
    const { decisionId } = await catalog.ask({ activate: 'later' });
    await expect(catalog.routing.discover(decisionId, {})).rejects.toMatchObject({
      code: 'decision-not-activated',
    });
  });

  it('leaves out tools that were removed, or cannot be called now', async () => {
    const catalog = discovering(4);
    const { decisionId, tools } = await catalog.ask();
    const free = ['t0', 't1', 't2', 't3'].filter((name) => !names(tools).includes(name));
    catalog.unavailable = [free[0]];
    expect(names((await catalog.routing.discover(decisionId, { k: 5 })).tools)).toEqual([free[1]]);
  });

  it('storms are refused, summaries, repeated requests and what the answer advised are not', async () => {
    const catalog = discovering();
    catalog.story.tell({ kind: 'settings', key: 't', at: START, patch: { sufficiencyThreshold: 0 } });
    const ids: string[] = [];
    for (let i = 0; i < 62; i++) ids.push((await catalog.ask()).decisionId);
    await catalog.routing.discover(ids[0], {}, { idempotencyKey: 'first' });
    for (const id of ids.slice(1, 60)) await catalog.routing.discover(id, { k: 1 });
    await expect(catalog.routing.discover(ids[60], {})).rejects.toMatchObject({
      ...{ code: 'too-many-requests', retryAfterSeconds: 15 },
    });
    await catalog.routing.discover(ids[61], { summary: true });
    await catalog.routing.discover(ids[0], {}, { idempotencyKey: 'first' });
    expect(catalog.routing.sufficiency('default').breaker).toMatchObject({ open: true, decisions: 62 });
    const advised = discovering();
    advised.story.tell({ kind: 'settings', key: 't', at: START, patch: { sufficiencyThreshold: 1 } });
    for (let i = 0; i < 70; i++) {
      await advised.routing.discover((await advised.ask()).decisionId, { k: 1 });
    }
    expect(advised.routing.sufficiency('default').breaker).toMatchObject({ open: false, discoveries: 0 });
  });

  it('of one session in a loop are refused to that session alone', async () => {
    const catalog = discovering();
    catalog.story.tell({ kind: 'settings', key: 't', at: START, patch: { sufficiencyThreshold: 0 } });
    const loop = async () => (await catalog.ask({ sessionId: 'loop' })).decisionId;
    for (let decision = 0; decision < 2; decision++) {
      const id = await loop();
      for (let i = 0; i < 15; i++) await catalog.routing.discover(id, { k: 1 });
    }
    await expect(catalog.routing.discover(await loop(), {})).rejects.toMatchObject({
      ...{ code: 'too-many-requests', message: expect.stringContaining('This user, unit, session') },
    });
    const { decisionId } = await catalog.ask({ sessionId: 'other' });
    expect((await catalog.routing.discover(decisionId, {})).tools).toHaveLength(2);
    expect(catalog.routing.sufficiency('default').breaker).toMatchObject({ open: false, callers: 1 });
  });
});
