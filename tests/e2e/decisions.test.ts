import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DecisionPage } from '../../src/routing/list-decisions.ts';
import { RunningService, temporaryFolder } from './running-service.ts';
import { Shop } from './shop.ts';

const folder = temporaryFolder();
let service: RunningService;
beforeAll(async () => {
  service = await RunningService.start(folder.path);
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

describe('the decisions of a catalog', () => {
  it('are listed newest first, with what was reported, by all that one looks for at night', async () => {
    const shop = await Shop.open(service, 'night');
    await service.ask('PUT', '/v1/catalogs/night', { retainText: true });
    const path = '/v1/catalogs/night/decisions';
    const list = (query = '') => service.ask<DecisionPage>('GET', `${path}${query}`);
    expect(await list()).toEqual({ decisions: [], nextCursor: null });

    const made: { readonly decisionId: string; readonly tools: readonly { readonly name: string }[] }[] = [];
    const queries = ['where is my parcel', 'I want a refund', 'Where is my ORDER', 'something else'];
    for (const [at, query] of queries.entries())
      made.push(await shop.route(query, { k: 2, unitId: `u${at % 2}` }));
    const report = (at: number, outcome: string, tool = made[at].tools[0].name) =>
      service.ask('POST', `/v1/decisions/${made[at].decisionId}/rewards`, { tool, outcome });
    await report(0, 'timeout');
    await report(1, 'success');
    await service.settled('night');

    const ids = (page: DecisionPage) => page.decisions.map(({ decisionId }) => decisionId);
    const of = (...at: number[]) => at.map((index) => made[index].decisionId);
    expect(ids(await list())).toEqual(of(3, 2, 1, 0));
    const first = await list('?limit=3');
    expect(ids(first)).toEqual(of(3, 2, 1));
    expect(ids(await list(`?limit=3&cursor=${first.nextCursor}`))).toEqual(of(0));

    expect(ids(await list('?unit=u1'))).toEqual(of(3, 1));
    expect(ids(await list('?text=WHERE'))).toEqual(of(2, 0));
    expect(ids(await list('?outcome=timeout'))).toEqual(of(0));
    expect(ids(await list('?outcome=none'))).toEqual(of(3, 2));
    expect(ids(await list('?fallback=embedder_down'))).toEqual([]);
    expect(ids(await list('?fallback=none'))).toEqual(of(3, 2, 1, 0));
    expect(ids(await list('?from=2999-01-01T00:00:00Z'))).toEqual([]);
    expect(ids(await list('?to=2020-01-01T00:00:00Z'))).toEqual([]);
    const [shown, other] = [made[0].tools[0].name, made[0].tools[1].name];
    expect(ids(await list(`?tool=${shown}&outcome=timeout`))).toEqual(of(0));
    expect(ids(await list(`?tool=${other}&outcome=timeout`))).toEqual([]);

    const [decision] = (await list('?outcome=timeout')).decisions;
    expect(decision).toMatchObject({
      query: 'where is my parcel',
      tools: [shown, other],
      fallback: null,
      rewards: [{ status: 'applied', tool: shown, outcome: 'timeout', reason: 'outcome-teaches-nothing' }],
    });
    const explained = await service.ask<{ rewards: unknown }>('GET', `/v1/decisions/${decision.decisionId}`);
    expect(explained.rewards).toEqual(decision.rewards);
    expect(await service.ask('GET', `/v1/catalogs/night/tools/${shown}/stats`)).toMatchObject({
      unlearned: 1,
      timeouts: 1,
    });
  });

  it.each([
    ['?limit=0', 'limit'],
    ['?cursor=!', 'cursor'],
    ['?cursor=bm8', 'cursor'],
    ['?outcome=bad', 'outcome'],
    ['?from=yesterday', 'from'],
    ['?colour=red', 'colour'],
  ])('refuse %s', async (query, path) => {
    await service.ask('POST', '/v1/route', { query: 'x' });
    const { status, body } = await service.request<{ violations: { path: string }[] }>(
      'GET',
      `/v1/catalogs/default/decisions${query}`,
    );
    expect([status, body.violations[0].path]).toEqual([422, path]);
  });
});
