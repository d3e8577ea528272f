import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningService, temporaryFolder } from './running-service.ts';
import { SHOP_TOOLS, Shop } from './shop.ts';

const folder = temporaryFolder();
let service: RunningService;
beforeAll(async () => {
  service = await RunningService.start(folder.path);
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

const QUERY = 'the parcel never came, make it right';

describe('catalogs', () => {
  it('are created, listed, configured and deleted', async () => {
    const shop = await Shop.open(service, 'short-lived', { rewards: { windowSeconds: 60 } });
    const { catalogs } = await service.ask<{ catalogs: { name: string }[] }>('GET', '/v1/catalogs');
    expect(catalogs.map(({ name }) => name)).toEqual(expect.arrayContaining(['default', 'short-lived']));
    await shop.configure({ rewards: { onLate: 'learn' } });
    const view = await service.ask('GET', '/v1/catalogs/short-lived');
    expect(view).toMatchObject({
      tools: SHOP_TOOLS.length,
      settings: { rewards: { windowSeconds: 60, onLate: 'learn', aggregation: 'last' } },
    });

    await shop.teach(QUERY, 'refund_payment', 2);
    const { decisionId } = await shop.route(QUERY);
    expect((await service.request('DELETE', '/v1/catalogs/short-lived')).status).toBe(204);
    const gone = await service.request('POST', '/v1/route', { query: QUERY, catalog: 'short-lived' });
    expect(gone).toMatchObject({ status: 404, body: { code: 'catalog-not-found' } });
    expect((await service.request('GET', `/v1/decisions/${decisionId}`)).status).toBe(404);

    const again = await Shop.open(service, 'short-lived');
    expect(await again.stats('refund_payment')).toMatchObject({ called: 0 });
    expect((await again.route(QUERY, { k: 3, explore: false })).tools.every(({ gain }) => gain === 0)).toBe(
      true,
    );
  });

  it('give their tools page by page, with fewer on a page when they are long', async () => {
    await service.ask('PUT', '/v1/catalogs/wordy', {});
    const inputSchema = { type: 'object', description: 'x'.repeat(60_000) };
    const put = Array.from({ length: 80 }, (_, i) => ({ name: `t${100 + i}`, description: '', inputSchema }));
    await service.ask('PATCH', '/v1/catalogs/wordy/tools', { put });
    const pages: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page: { tools: { name: string }[]; nextCursor: string | null } = await service.ask(
        'GET',
        `/v1/catalogs/wordy/tools?limit=1000${query}`,
      );
      pages.push(page.tools.map(({ name }) => name));
      cursor = page.nextCursor;
    }
    expect(pages.flat()).toEqual(put.map(({ name }) => name));
    expect(pages.map(({ length }) => length)).toEqual([34, 34, 12]);
  });

  it('keep what was learned of a tool that goes and comes back, or is renamed', async () => {
    const shop = await Shop.open(service, 'changing');
    const tools = `/v1/catalogs/${shop.catalog}/tools`;
    await shop.teach(QUERY, 'refund_payment', 4);
    expect((await shop.greedy(QUERY))[0]).toBe('refund_payment');
    expect(await service.ask('PATCH', tools, { remove: ['refund_payment'] })).toMatchObject({ removed: 1 });
    expect(await shop.greedy(QUERY)).not.toContain('refund_payment');

    const refund = SHOP_TOOLS[0];
    expect(await service.ask('PATCH', tools, { put: [refund] })).toMatchObject({ added: 1 });
    expect((await shop.greedy(QUERY))[0]).toBe('refund_payment');

    const renamed = { ...refund, name: 'give_money_back', replaces: ['refund_payment'] };
    await service.ask('PUT', tools, { tools: [renamed, ...SHOP_TOOLS.slice(1)] });
    expect((await shop.greedy(QUERY))[0]).toBe('give_money_back');
    expect(await shop.stats('give_money_back')).toMatchObject({ called: 4, successes: 4 });
  });

  it('count what a change did, and refuse one that was made from an old list', async () => {
    const shop = await Shop.open(service, 'revisions');
    const tools = `/v1/catalogs/${shop.catalog}/tools`;
    const listed = await service.request<{ revision: string; tools: object[] }>('GET', tools);
    const { revision } = listed.body;
    expect(listed.headers.get('etag')).toBe(`"${revision}"`);
    const same = await service.ask('PUT', tools, { tools: SHOP_TOOLS });
    expect(same).toEqual({ added: 0, changed: 0, removed: 0, unchanged: 10, revision });

    const [first, second, ...rest] = SHOP_TOOLS;
    const next = [{ ...first, description: 'Pays back.' }, ...rest, { ...second, name: 'bill' }];
    const changes = await service.request('PUT', tools, { tools: next }, { 'if-match': `"${revision}"` });
    expect(changes.body).toMatchObject({ added: 1, changed: 1, removed: 1, unchanged: 8 });
    const stale = await service.request('PUT', tools, { tools: [] }, { 'if-match': `"${revision}"` });
    expect(stale).toMatchObject({ status: 412, body: { code: 'revision-mismatch' } });
    const { tools: count } = await service.ask('GET', `/v1/catalogs/${shop.catalog}`);
    expect(count).toBe(10);
  });
});

describe('policies', () => {
  it('hybrid serves exactly the retrieval order, whatever was learned', async () => {
    const shop = await Shop.open(service, 'hybrid', { policy: { name: 'hybrid' } });
    const before = await shop.greedy(QUERY, { k: 10 });
    await shop.teach(QUERY, 'send_newsletter', 4);
    const { decisionId, policy, tools } = await shop.route(QUERY, { k: 10 });
    expect(policy).toMatchObject({ name: 'hybrid' });
    expect(tools.map(({ name }) => name)).toEqual(before);
    const { candidates } = await shop.explain(decisionId);
    expect(candidates.map(({ retrievalRank }) => retrievalRank)).toEqual(candidates.map((_, at) => at + 1));
  });

  it('uniform gives every tool the same chance', async () => {
    const shop = await Shop.open(service, 'uniform', { policy: { name: 'uniform' } });
    const { decisionId } = await shop.route(QUERY, { k: 3 });
    const { candidates } = await shop.explain(decisionId);
    for (const { propensity } of candidates) expect(propensity).toBeCloseTo(3 / SHOP_TOOLS.length, 6);
    const slates = await Promise.all(Array.from({ length: 12 }, () => shop.route(QUERY, { k: 3 })));
    expect(new Set(slates.map(({ tools }) => tools.map(({ name }) => name).join())).size).toBeGreaterThan(6);
  });

  it('sc-linucb learns; going back to a policy finds what it had learned', async () => {
    const shop = await Shop.open(service, 'policies', { policy: { name: 'sc-linucb' } });
    await shop.teach(QUERY, 'refund_payment', 4);
    const learned = await shop.route(QUERY, { k: 10, explore: false });
    const gains = Object.fromEntries(learned.tools.map(({ name, gain }) => [name, gain]));
    expect(gains.refund_payment).toBeGreaterThan(0);
    const { policy } = await shop.configure({ policy: { name: 'sc-linucb-memory' } });
    expect(policy.version).not.toBe(learned.policy.version);
    // It was there from the start, and went on learning while another version decided.
    expect((await shop.route(QUERY, { explore: false })).tools[0].gain).not.toBe(0);
    await shop.configure({ policy: { name: 'sc-linucb' } });
    const { policy: back, tools } = await shop.route(QUERY, { k: 10, explore: false });
    expect(back.version).toBe(learned.policy.version);
    expect(tools).toEqual(learned.tools);
  });

  it('the kill switch serves the retrieval order, and what was learned is there afterwards', async () => {
    const shop = await Shop.open(service, 'kill-switch');
    const retrieval = await shop.greedy(QUERY);
    await shop.teach(QUERY, 'refund_payment', 4);
    const learned = await shop.greedy(QUERY);
    expect(learned).not.toEqual(retrieval);
    await shop.configure({ killSwitch: true });
    const killed = await shop.route(QUERY);
    expect(killed.fallback).toBe('kill_switch');
    expect(killed.tools.map(({ name }) => name)).toEqual(retrieval);
    await shop.report(killed.decisionId, { tool: 'refund_payment', outcome: 'success' });
    await shop.settled();
    await shop.configure({ killSwitch: false });
    expect((await shop.greedy(QUERY))[0]).toBe('refund_payment');
    expect(await shop.stats('refund_payment')).toMatchObject({ called: 5 });
  });
});
