import { describe, expect, it } from 'vitest';
import { LABELLED, TRAINED_WITH } from '../bandit/classification/labelled-queries.ts';
import { redisProgram } from '../redis/redis-server.ts';
import { twoRouters } from '../redis/two-routers.ts';
import { oneService } from './one-service.ts';
import { type RunningService, until } from './running-service.ts';
import { Shop } from './shop.ts';

const DOMAINS = [
  ...Object.entries(LABELLED).map(([name, queries]) => ({ name, examples: queries.slice(0, TRAINED_WITH) })),
  { name: 'growth', words: ['newsletter', 'sales report'] },
];
const BILLING = LABELLED.billing[LABELLED.billing.length - 1];
const CALENDAR = LABELLED.calendar[TRAINED_WITH];
const OF_NONE = 'how tall is Mont Blanc';

/** What holds in both modes. @param reader another process over the same store, or the same */
function behave(writer: () => RunningService, reader: () => RunningService): void {
  it('say for which queries a pin is, by examples or by words, in answers and explanations', async () => {
    const shop = await Shop.open(writer(), 'told', { embedder: 'bundled' });
    expect(await shop.route(BILLING)).not.toHaveProperty('domain');
    await shop.configure({ domains: DOMAINS });
    const pins = [
      { tool: 'escalate_ticket', domain: 'billing' },
      { tool: 'restock_item', domain: 'growth' },
      { tool: 'close_ticket', domain: 'growth' },
    ];
    const path = '/v1/catalogs/told/pins';
    expect(await writer().ask('PUT', path, { pins })).toEqual({
      pins: pins.map((pin) => ({ ...pin, active: true })),
    });
    const elsewhere = new Shop(reader(), 'told');
    await until(async () => {
      const { status, body } = await reader().request<{ pins: object[] }>('GET', path);
      return status === 200 && body.pins.length === 3;
    });
    // A router that has just opened the catalog goes by words until it has opened its model.
    await until(async () => (await elsewhere.route(BILLING)).fallback === null);
    const pinned = async (shop: Shop, query: string) => {
      const { decisionId, domain, tools } = await shop.route(query, { k: 3, explore: false });
      expect(await shop.explain(decisionId)).toMatchObject({ domain });
      const names = tools.filter(({ reason }) => reason === 'pinned').map(({ name }) => name);
      return { domain, names };
    };
    for (const one of [shop, elsewhere]) {
      expect(await pinned(one, BILLING)).toEqual({ domain: 'billing', names: ['escalate_ticket'] });
      expect(await pinned(one, CALENDAR)).toEqual({ domain: 'calendar', names: [] });
      expect(await pinned(one, OF_NONE)).toEqual({ domain: null, names: [] });
      const growth = { domain: 'growth', names: ['restock_item', 'close_ticket'] };
      expect(await pinned(one, `${BILLING}, then look at the Sales Reports`)).toEqual(growth);
      expect(await pinned(one, 'the report of the sales team')).not.toMatchObject({ domain: 'growth' });
    }
  });

  it('move with their catalog to another embedder, and words decide without one', async () => {
    const shop = await Shop.open(writer(), 'moving', { embedder: 'none' });
    await shop.configure({ domains: DOMAINS });
    expect((await shop.route(BILLING)).domain).toBeNull();
    expect((await shop.route('write the newsletter')).domain).toBe('growth');
    await shop.configure({ embedder: 'bundled' });
    expect((await shop.route(BILLING)).domain).toBe('billing');
    await shop.configure({ embedder: 'none' });
    expect((await shop.route(BILLING)).domain).toBeNull();
  });

  it('stay while a pin is for them, whoever is first of two at once', async () => {
    const shop = await Shop.open(writer(), 'staying', { domains: DOMAINS });
    await until(async () => {
      const { body } = await reader().request<{ settings?: { domains: object[] } }>(
        'GET',
        '/v1/catalogs/staying',
      );
      return body.settings?.domains.length === DOMAINS.length;
    });
    const pins = [{ tool: 'close_ticket', domain: 'billing' }];
    const [pin, remove] = await Promise.all([
      writer().request('PUT', '/v1/catalogs/staying/pins', { pins }),
      reader().request('PUT', '/v1/catalogs/staying', { domains: [] }),
    ]);
    expect([pin.status, remove.status].sort()).toEqual([200, 422]);
    const loser = pin.status === 200 ? remove : pin;
    expect(loser.body).toMatchObject({
      code: 'validation-failed',
      violations: [
        { message: expect.stringContaining('the pin of "close_ticket" is for the domain "billing"') },
      ],
    });
    await writer().ask('PUT', '/v1/catalogs/staying/pins', { pins: [] });
    await shop.configure({ domains: [] });
    expect(await shop.route(BILLING)).not.toHaveProperty('domain');
  });
}

describe('domains in one process', () => {
  const running = oneService();

  behave(
    () => running.service,
    () => running.service,
  );

  it('are there after a restart, and after the process was killed', async () => {
    for (const end of [() => running.service.stop(), () => running.service.kill()]) {
      await end();
      await running.startAgain();
      expect(await new Shop(running.service, 'told').route(BILLING)).toMatchObject({
        domain: 'billing',
        tools: [{ name: 'escalate_ticket', reason: 'pinned' }, {}, {}, {}, {}],
      });
    }
  });
});

describe.skipIf(redisProgram.path === null)(`domains over Redis${redisProgram.missing ?? ''}`, () => {
  const running = twoRouters();

  behave(
    () => running.first,
    () => running.second,
  );
});
