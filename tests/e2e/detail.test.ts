import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ESTIMATE } from '../../src/tokens/estimate.ts';
import { Deployment } from '../redis/deployment.ts';
import { type RedisServer, redisProgram, startRedis } from '../redis/redis-server.ts';
import { RunningService, temporaryFolder, until } from './running-service.ts';
import { Shop } from './shop.ts';

const QUERY = 'give the customer their money back';
const TOOL = {
  name: 'refund_payment',
  description: `Give a customer their money back for a payment. ${'It is slow. '.repeat(30)}`.trim(),
  inputSchema: {
    type: 'object',
    properties: { payment_id: { type: 'string', description: 'Which payment', minLength: 3 } },
    required: ['payment_id'],
  },
};
const NOTHING = { type: 'object', properties: {} };
const BRIEF = {
  name: TOOL.name,
  description: `Give a customer their money back for a payment. ${'It is slow. '.repeat(12)}`.trim(),
  inputSchema: { ...TOOL.inputSchema, properties: { payment_id: { type: 'string' } } },
};
const LEVELS = { names: { name: TOOL.name, inputSchema: NOTHING }, brief: BRIEF, full: TOOL } as const;
type Level = keyof typeof LEVELS;
const tokensOf = (shown: unknown) => ESTIMATE.count(JSON.stringify(shown));

interface Report {
  readonly variants: readonly { name: string; decisions: number; exposures: number; tokens: number | null }[];
  readonly srm: { readonly ok: boolean };
  readonly ownDetail: number;
  readonly withoutUnit: number;
  readonly differences: readonly { metric: string; estimate: number | null }[];
}

/** A shop with one tool, so that every slate is the same. */
async function openShop(service: RunningService, catalog: string, settings: object = {}): Promise<Shop> {
  const shop = new Shop(service, catalog);
  await shop.configure(settings);
  await service.ask('PUT', `/v1/catalogs/${catalog}/tools`, { tools: [TOOL] });
  return shop;
}

/** The level that was served, and that the definition is of this level. */
async function served(shop: Shop, more: object = {}): Promise<Level> {
  const { detail, tools } = await shop.route(QUERY, { k: 1, ...more });
  expect(tools[0].definition).toEqual(LEVELS[detail]);
  return detail;
}

/** Creates and starts an experiment from the example, with changes. */
async function startTrial(shop: Shop, more: object = {}): Promise<string> {
  const example = new URL('../../examples/fireact/detail.json', import.meta.url);
  const draft = { ...JSON.parse(readFileSync(example, 'utf8')), ...more };
  const path = `/v1/catalogs/${shop.catalog}/experiments`;
  await shop.service.ask('POST', path, draft);
  await shop.service.ask('POST', `${path}/${draft.name}/start`);
  return `${path}/${draft.name}`;
}

let folder: ReturnType<typeof temporaryFolder>;
let service: RunningService;
beforeAll(async () => {
  folder = temporaryFolder();
  service = await RunningService.start(folder.path);
});
afterAll(async () => {
  expect(await service.stop('SIGTERM')).toBe(0);
  expect(service.output).not.toMatch(/"level":[56]0/);
  folder.remove();
});

describe('how much of each definition is served', () => {
  it('is what the request says, else what the catalog says; everything from the start', async () => {
    const shop = await openShop(service, 'levels');
    expect(await served(shop)).toBe('full');
    for (const detail of ['names', 'brief', 'full']) expect(await served(shop, { detail })).toBe(detail);
    const { settings } = await service.ask<{ settings: { detail: string } }>('GET', '/v1/catalogs/levels');
    expect(settings.detail).toBe('full');
    await shop.configure({ detail: 'brief' });
    expect(await served(shop)).toBe('brief');
    expect(await served(shop, { detail: 'full' })).toBe('full');
  });

  it('fits every format', async () => {
    const shop = await openShop(service, 'formats');
    const { name, description, inputSchema } = BRIEF;
    const ask = async (format: string, detail?: string) =>
      (await shop.route(QUERY, { k: 1, format, ...(detail && { detail }) })).tools[0].definition;
    expect(await ask('openai', 'brief')).toEqual({
      type: 'function',
      function: { name, description, parameters: inputSchema },
    });
    expect(await ask('openai', 'names')).toEqual({
      type: 'function',
      function: { name, parameters: NOTHING },
    });
    expect(await ask('anthropic', 'brief')).toEqual({ name, description, input_schema: inputSchema });
    expect(await ask('anthropic', 'names')).toEqual({ name, input_schema: NOTHING });
    for (const detail of [undefined, 'names']) expect(await ask('names', detail)).toBeUndefined();
  });

  it('is part of the decision: explained, and the same when the request is repeated', async () => {
    const shop = await openShop(service, 'kept', { detail: 'names' });
    const route = () =>
      service.request<{ decisionId: string; detail: string; tools: { definition: unknown }[] }>(
        'POST',
        '/v1/route',
        { catalog: 'kept', query: QUERY, format: 'anthropic' },
        { 'idempotency-key': 'once' },
      );
    const first = await route();
    await shop.configure({ detail: 'full' });
    expect((await route()).body).toEqual(first.body);
    expect(first.body.detail).toBe('names');
    const { decisionId } = first.body;
    expect(await shop.explain(decisionId)).toMatchObject({ format: 'anthropic', detail: 'names' });
    const { decisionId: named } = await shop.route(QUERY, { format: 'names' });
    expect(await shop.explain(named)).toMatchObject({ format: 'names', detail: 'names' });
  });

  const draft = (...variants: object[]) => ({ name: 'new', unit: 'unitId', variants });
  it.each([
    ['an unknown level', '/v1/route', { query: 'x', detail: 'short' }, 'detail', /names.*brief.*full/],
    ['a level that is no text', '/v1/route', { query: 'x', detail: null }, 'detail', /names.*brief.*full/],
    [
      'more than names with format names',
      '/v1/route',
      { query: 'x', format: 'names', detail: 'brief' },
      'detail',
      /another `format`/,
    ],
    [
      'an unknown level of a variant',
      '/v1/catalogs/default/experiments',
      draft({ name: 'a', share: 100, detail: 'all' }),
      'variants[0].detail',
      /names.*brief.*full/,
    ],
    [
      'a level of a shadow',
      '/v1/catalogs/default/experiments',
      draft({ name: 'a', share: 100 }, { name: 'b', mode: 'shadow', detail: 'brief' }),
      'variants[1].detail',
      /serves no requests/,
    ],
  ])('is refused with the reason: %s', async (_name, path, body, at, reason) => {
    const answer = await service.request<{ violations: { path: string; message: string }[] }>(
      'POST',
      path,
      body,
    );
    expect(answer).toMatchObject({ status: 422, body: { code: 'validation-failed' } });
    expect(answer.body.violations).toMatchObject([{ path: at, message: expect.stringMatching(reason) }]);
  });

  it('is refused as a setting that does not exist, and nothing changes', async () => {
    const answer = await service.request('PUT', '/v1/catalogs/default', { detail: 'tiny' });
    expect(answer).toMatchObject({ status: 422, body: { code: 'validation-failed' } });
    const { settings } = await service.ask<{ settings: { detail: string } }>('GET', '/v1/catalogs/default');
    expect(settings.detail).toBe('full');
  });
});

describe('an experiment that compares levels of detail', () => {
  /** The level that was served to each of these sessions. */
  async function visits(shop: Shop, from: number, to: number, more: object = {}): Promise<Level[]> {
    const levels: Level[] = [];
    for (let i = from; i < to; i++) {
      const { decisionId, detail, policy, tools } = await shop.route(QUERY, {
        k: 1,
        sessionId: `s${i}`,
        ...more,
      });
      if (policy.variant !== undefined) expect(detail).toBe(policy.variant);
      // An agent that needs more than the names.
      const outcome = detail === 'full' || i % 2 === 0 ? 'success' : 'failure';
      await shop.report(decisionId, { tool: tools[0].name, outcome });
      levels.push(detail);
    }
    await shop.settled();
    return levels;
  }

  it('counts what was really sent, survives a restart, and promotes the level that won', async () => {
    let shop = await openShop(service, 'trial', { detail: 'names' });
    const path = await startTrial(shop);
    const before = await visits(shop, 0, 120);
    expect(new Set(before)).toEqual(new Set(['full', 'brief']));
    await service.stop('SIGTERM');
    service = await RunningService.start(folder.path);
    shop = new Shop(service, 'trial');
    expect(await visits(shop, 0, 20)).toEqual(before.slice(0, 20));

    // Whatever their words are, they are in no variant; the catalog's policy serves them.
    for (const more of [{ detail: 'full' }, { detail: 'brief' }, { format: 'names' }]) {
      const { policy } = await shop.route(QUERY, { sessionId: 's0', ...more });
      expect(policy.variant).toBeUndefined();
    }
    await shop.route(QUERY);
    // Shown later, and counted as it was decided although the catalog has changed.
    const later = await shop.route(QUERY, { sessionId: 's0', k: 1, activate: 'later' });
    await shop.configure({ detail: 'full' });
    await service.ask('POST', `/v1/decisions/${later.decisionId}/activate`);

    const report = await service.ask<Report>('GET', `${path}/report`);
    expect(report).toMatchObject({ ownDetail: 3, withoutUnit: 1, srm: { ok: true } });
    const tokens = Object.fromEntries(report.variants.map((variant) => [variant.name, variant.tokens]));
    expect(tokens).toEqual({ full: tokensOf(TOOL), brief: tokensOf(BRIEF) });
    const exposures = report.variants.reduce((sum, variant) => sum + variant.exposures, 0);
    expect(exposures).toBe(141);

    await shop.configure({ detail: 'names' });
    const promoted = await service.ask<{ history: { note: string }[] }>('POST', `${path}/promote`, {
      variant: 'brief',
    });
    expect(promoted.history.at(-1)?.note).toMatch(/is the active policy now.*detail "brief"/);
    expect(await served(shop, { sessionId: 's0' })).toBe('brief');
  });

  it('leaves variants alone when the level of the catalog changes, and kills theirs', async () => {
    const shop = await openShop(service, 'alone', { detail: 'names' });
    const path = await startTrial(shop, {
      variants: [
        { name: 'names', share: 50 },
        { name: 'brief', share: 50, detail: 'brief' },
      ],
    });
    const view = await service.ask<{ variants: { detail: string }[] }>('GET', path);
    expect(view.variants.map(({ detail }) => detail)).toEqual(['names', 'brief']);
    await shop.configure({ detail: 'full' });
    const levels = await visits(shop, 0, 20);
    expect(new Set(levels)).toEqual(new Set(['names', 'brief']));
    await service.ask('POST', `${path}/kill`, { variant: 'brief' });
    const again = await Promise.all(levels.map((_, i) => served(shop, { sessionId: `s${i}` })));
    expect(again).toEqual(levels.map((level) => (level === 'brief' ? 'full' : level)));
  });

  it('is another one than one of the policy, which requests with their own level take part in', async () => {
    const shop = await openShop(service, 'policies');
    const path = await startTrial(shop, {
      variants: [
        { name: 'now', share: 50, detail: 'brief' },
        { name: 'cosine', share: 50, policy: 'cosine', detail: 'brief' },
      ],
    });
    for (const [more, level] of [
      [{}, 'brief'],
      [{ detail: 'full' }, 'full'],
    ] as const) {
      const { policy, detail } = await shop.route(QUERY, { sessionId: 's1', ...more });
      expect([policy.variant === undefined, detail]).toEqual([false, level]);
    }
    expect(await service.ask<Report>('GET', `${path}/report`)).toMatchObject({ ownDetail: 0 });
  });
});

describe.skipIf(redisProgram.path === null)(`two routers${redisProgram.missing ?? ''}`, () => {
  let redis: RedisServer;
  let deployment: Deployment;
  let shops: Shop[];
  beforeAll(async () => {
    redis = await startRedis(['--appendonly', 'yes']);
    deployment = new Deployment(redis.url);
    const first = await openShop(await deployment.startRouter(), 'shop', { detail: 'brief' });
    const second = new Shop(await deployment.startRouter(), 'shop');
    shops = [first, second];
    await until(async () => (await second.service.request('GET', '/v1/catalogs/shop')).status === 200);
  });
  afterAll(async () => {
    await deployment.dispose();
    await redis.dispose();
  });

  it('serve the same level, count together, and explain what the other one served', async () => {
    const [first, second] = shops;
    const levelOn = async (shop: Shop, more: object = {}) => (await shop.route(QUERY, more)).detail;
    await until(async () => (await levelOn(second)) === 'brief');
    const path = await startTrial(first);
    await until(async () => (await second.service.ask<{ status: string }>('GET', path)).status === 'running');
    let full = 0;
    for (let i = 0; i < 20; i++) {
      const sessionId = `s${i}`;
      const answer = await first.route(QUERY, { sessionId, k: 1 });
      expect(await levelOn(second, { sessionId, k: 1 })).toBe(answer.detail);
      expect(await second.explain(answer.decisionId)).toMatchObject({ detail: answer.detail, format: 'mcp' });
      full += answer.policy.variant === 'full' ? 1 : 0;
      await second.route(QUERY, { sessionId, detail: 'names' });
    }
    let report: Report | undefined;
    await until(async () => {
      report = await first.service.ask<Report>('GET', `${path}/report`);
      return (
        report.ownDetail === 20 && report.variants.reduce((sum, { exposures }) => sum + exposures, 0) === 40
      );
    });
    expect(report?.variants).toMatchObject([
      { name: 'full', exposures: 2 * full, tokens: full > 0 ? tokensOf(TOOL) : null },
      { name: 'brief', exposures: 40 - 2 * full, tokens: full < 20 ? tokensOf(BRIEF) : null },
    ]);
  });
});
