import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

const QUERY = 'where is my parcel';
const MORNING = '2999-01-01T06:00:00Z';

describe('pins of a catalog', () => {
  it('come first in every slate, after those of the request, until they are taken back', async () => {
    const shop = await Shop.open(service, 'pinned');
    const path = `/v1/catalogs/${shop.catalog}/pins`;
    const pins = [{ tool: 'send_newsletter', until: MORNING }, { tool: 'export_report' }];
    expect(await service.ask('PUT', path, { pins })).toEqual({
      pins: [
        { tool: 'send_newsletter', until: MORNING, active: true },
        { tool: 'export_report', active: true },
      ],
    });
    expect((await shop.greedy(QUERY, { k: 4 })).slice(0, 2)).toEqual(['send_newsletter', 'export_report']);
    const { tools } = await shop.route(QUERY, {
      k: 4,
      pin: ['close_ticket'],
      exclude: ['export_report'],
    });
    expect(tools).toHaveLength(4);
    expect(tools.slice(0, 2)).toMatchObject([
      { name: 'close_ticket', reason: 'pinned', propensity: 1 },
      { name: 'send_newsletter', reason: 'pinned', propensity: 1 },
    ]);

    await service.ask('PUT', path, { pins: [] });
    expect(await service.ask('GET', path)).toEqual({ pins: [] });
    expect(await shop.greedy(QUERY, { k: 1 })).toEqual(['track_parcel']);
  });

  it('end by themselves, and rest while their tool is gone', async () => {
    const shop = await Shop.open(service, 'resting');
    const path = `/v1/catalogs/${shop.catalog}/pins`;
    const pins = [{ tool: 'close_ticket', until: '2020-01-01T00:00:00Z' }, { tool: 'restock_item' }];
    await service.ask('PUT', path, { pins });
    await service.ask('DELETE', `/v1/catalogs/${shop.catalog}/tools/restock_item`);
    expect(await service.ask('GET', path)).toMatchObject({ pins: [{ active: false }, { active: false }] });
    const { tools, notes } = await shop.route(QUERY, { k: 2 });
    expect(tools.map(({ reason }) => reason)).not.toContain('pinned');
    expect(notes).toEqual(['Not pinned: "restock_item" is no tool of this catalog']);
    await service.ask('PATCH', `/v1/catalogs/${shop.catalog}/tools`, {
      put: SHOP_TOOLS.filter(({ name }) => name === 'restock_item'),
    });
    expect(await shop.greedy(QUERY, { k: 1 })).toEqual(['restock_item']);
  });

  it('say so where a slate has no place for all of them', async () => {
    const shop = await Shop.open(service, 'crowded');
    await service.ask('PUT', `/v1/catalogs/${shop.catalog}/pins`, {
      pins: [{ tool: 'close_ticket' }, { tool: 'restock_item' }, { tool: 'track_parcel' }],
    });
    const { decisionId, tools, notes } = await shop.route(QUERY, { k: 2 });
    expect(tools.map(({ name }) => name)).toEqual(['close_ticket', 'restock_item']);
    expect(notes).toEqual(['Not pinned: "track_parcel"; k is 2 and the pins before take it up']);
    const { candidates } = await shop.explain(decisionId);
    expect(candidates.reduce((sum, { propensity }) => sum + propensity, 0)).toBeCloseTo(2, 9);
  });

  it('refuse tools that the catalog does not have, and change nothing then', async () => {
    const shop = await Shop.open(service, 'refusing');
    const path = `/v1/catalogs/${shop.catalog}/pins`;
    await service.ask('PUT', path, { pins: [{ tool: 'close_ticket' }] });
    const pins = [{ tool: 'track_parcel' }, { tool: 'close_tickets' }];
    const refused = await service.request('PUT', path, { pins });
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({
      violations: [{ path: 'pins[1].tool', message: '"close_tickets" is no tool of this catalog' }],
    });
    expect(await service.ask('GET', path)).toEqual({ pins: [{ tool: 'close_ticket', active: true }] });
    expect((await service.request('PUT', '/v1/catalogs/nowhere/pins', { pins: [] })).status).toBe(404);
  });
});

describe('a request that contradicts itself or says nothing', () => {
  it.each([
    ['more pins than places', { query: QUERY, k: 1, pin: ['close_ticket', 'track_parcel'] }, 'pin'],
    ['a tool pinned and excluded', { query: QUERY, pin: ['a', 'b'], exclude: ['b'] }, 'pin'],
    ['an empty query', { query: '' }, 'query'],
    ['a blank query', { query: ' \n\t\u200b ' }, 'query'],
  ])('%s is refused', async (_, body, path) => {
    const refused = await service.request('POST', '/v1/route', body);
    expect(refused.status).toBe(422);
    expect(refused.body.violations).toMatchObject([{ path }]);
  });

  it('a pin that is no tool is no reason to answer nothing: it is said', async () => {
    const shop = await Shop.open(service, 'unknown-pin');
    const { tools, notes } = await shop.route(QUERY, { k: 2, pin: ['no_such_tool', 'close_ticket'] });
    expect(tools[0]).toMatchObject({ name: 'close_ticket', reason: 'pinned' });
    expect(tools).toHaveLength(2);
    expect(notes).toEqual(['Not pinned: "no_such_tool" is no tool of this catalog']);
    expect(await shop.route(QUERY)).not.toHaveProperty('notes');
  });

  it('a conversation whose last turn has no words gets the fallback, and teaches nothing', async () => {
    const shop = await Shop.open(service, 'wordless-turn');
    for (const content of ['', '   ', [{ type: 'image', source: {} }]]) {
      const messages = [
        { role: 'user', content: QUERY },
        { role: 'assistant', content: 'In Lyon.' },
        { role: 'user', content },
      ];
      const answer = await shop.route('', { query: undefined, messages, k: 3 });
      expect(answer).toMatchObject({ fallback: 'low_confidence' });
      expect(answer.tools).toHaveLength(3);
      const { rewardId } = await shop.report(answer.decisionId, { tool: 'close_ticket', outcome: 'success' });
      await shop.settled();
      expect(await service.ask('GET', `/v1/rewards/${rewardId}`)).toMatchObject({ reason: 'learning-off' });
    }
  });
});

it('writes nobody down by name: not in decisions, not in what was learned, not in experiments', async () => {
  const shop = await Shop.open(service, 'nameless');
  const ids = { userId: 'ada@example.org', unitId: 'desk-at-ada', sessionId: 'session-of-ada' };
  const { decisionId } = await shop.route(QUERY, ids);
  await shop.report(decisionId, { tool: 'track_parcel', outcome: 'success' });
  await shop.settled();
  const files = readdirSync(folder.path, { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  );
  const bytes = Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))));
  expect(bytes.includes('track_parcel')).toBe(true);
  for (const id of Object.values(ids)) expect(bytes.includes(id)).toBe(false);
  expect(await service.ask('DELETE', '/v1/catalogs/nameless/units/ada@example.org/memory')).toEqual({
    forgotten: 1,
  });
});
