import { describe, expect, it } from 'vitest';
import type { DiscoverAnswer } from '../../src/routing/discover.ts';
import { redisProgram } from '../redis/redis-server.ts';
import { twoRouters } from '../redis/two-routers.ts';
import { oneService } from './one-service.ts';
import { type RunningService, until } from './running-service.ts';
import { SHOP_TOOLS, Shop } from './shop.ts';

const QUERY = 'the parcel of this customer never came, give the money back';

interface Processes {
  readonly first: RunningService;
  /** Another process over the same store, or the same one. */
  readonly second: RunningService;
  /** Kills the first one without a warning; another one takes its place. */
  replaceFirst(): Promise<void>;
}

const names = (tools: readonly { readonly name: string }[]): string[] => tools.map(({ name }) => name);

function discover(service: RunningService, id: string, body: object = {}, key?: string) {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  return service.request<DiscoverAnswer & { code?: string }>(
    'POST',
    `/v1/decisions/${id}/discover`,
    body,
    headers,
  );
}

/** What holds in both modes. */
function behaves(processes: () => Processes): void {
  /** A catalog that both processes have. */
  const open = async (catalog: string, settings: object = {}): Promise<Shop> => {
    const { first, second } = processes();
    const shop = await Shop.open(first, catalog, settings);
    await until(async () => {
      const { body } = await second.request<{ tools?: number }>('GET', `/v1/catalogs/${catalog}`);
      return body.tools === SHOP_TOOLS.length;
    });
    return shop;
  };

  it('adds tools to the slate, whose rewards count as those of tools that were shown', async () => {
    const shop = await open('growing');
    const { second } = processes();
    const { decisionId, tools } = await shop.route(QUERY, { k: 2 });
    const { status, body } = await discover(second, decisionId, { k: 3, rating: 0.1 });
    expect(status).toBe(200);
    expect(body).toMatchObject({ decisionId, discoveries: 1 });
    const shown = [...names(tools), ...names(body.tools)];
    expect(new Set(shown).size).toBe(5);
    for (const { propensity, reason } of body.tools) {
      expect(propensity > 0 && propensity <= 1 && reason === 'discovered').toBe(true);
    }
    const explained = await shop.explain(decisionId);
    expect(names(explained.candidates.slice(0, 5))).toEqual(shown);
    expect(explained.discoveries).toMatchObject([{ rating: 0.1 }]);

    const [helped] = names(body.tools);
    const { rewardId } = await shop.report(decisionId, { tool: helped, outcome: 'success' });
    await shop.settled();
    const reward = await shop.service.ask('GET', `/v1/rewards/${rewardId}`);
    expect(reward).toMatchObject({ status: 'applied' });
    expect(reward).not.toHaveProperty('reason');
    expect(await shop.stats(helped)).toMatchObject({ shown: 1, called: 1, successes: 1 });
    for (const name of shown) expect(await shop.stats(name)).toMatchObject({ shown: 1 });
    expect(await shop.service.ask('GET', '/v1/catalogs/growing/sufficiency')).toMatchObject({
      discoveries: { decisions: 1, times: 1, tools: 3 },
    });
  });

  it('is made once for one Idempotency-Key, and of two at once each has other tools', async () => {
    const shop = await open('at-once');
    const { first, second } = processes();
    const { decisionId } = await shop.route(QUERY, { k: 1 });
    const same = await Promise.all([first, second].map((one) => discover(one, decisionId, { k: 2 }, 'same')));
    const late = await discover(second, decisionId, { k: 2 }, 'same');
    for (const { status, body } of [...same, late]) {
      expect(status).toBe(200);
      expect(body).toEqual(same[0].body);
    }
    expect(await discover(first, decisionId, { k: 3 }, 'same')).toMatchObject({
      status: 409,
      body: { code: 'idempotency-conflict' },
    });
    const others = await Promise.all([first, second].map((one) => discover(one, decisionId, { k: 2 })));
    const found = [same[0], ...others].flatMap(({ body }) => names(body.tools));
    expect(new Set(found).size).toBe(6);
    expect((await shop.explain(decisionId)).discoveries).toHaveLength(3);
    expect(await first.ask('GET', '/v1/catalogs/at-once/sufficiency')).toMatchObject({
      discoveries: { decisions: 1, times: 3, tools: 6 },
    });
  });

  it('sums the catalog up, and does so by itself where nothing is left', async () => {
    const shop = await open('summed-up');
    const { second } = processes();
    const { decisionId } = await shop.route(QUERY, { k: 5 });
    const summed = await discover(second, decisionId, { summary: true });
    expect(summed.body).toMatchObject({ tools: [], summary: { tools: SHOP_TOOLS.length } });
    await discover(second, decisionId, { k: 50 });
    const { body } = await discover(second, decisionId);
    expect(body).toMatchObject({ tools: [], discoveries: 3, summary: { tools: SHOP_TOOLS.length } });
    expect(body.notes?.[0]).toContain('Nothing else');
  });

  it('is refused for a decision that there is not, and once the window of one is over', async () => {
    const shop = await open('short', { rewards: { windowSeconds: 5 } });
    const { decisionId, rewardDeadline } = await shop.route(QUERY, { k: 1 });
    const { second } = processes();
    expect(await discover(second, 'short.unknown')).toMatchObject({
      status: 404,
      body: { code: 'decision-not-found' },
    });
    await until(() => Date.parse(rewardDeadline) + 50 < Date.now());
    expect((await discover(second, decisionId)).body.code).toBe('decision-expired');
    expect((await shop.explain(decisionId)).discoveries).toBeUndefined();
  });

  it('is stopped where it is a storm; summaries and repeated requests are answered', async () => {
    const shop = await open('stormy');
    const { first } = processes();
    const ids: string[] = [];
    for (let i = 0; i < 10; i++) ids.push((await shop.route(QUERY, { k: 1 })).decisionId);
    const before = await discover(first, ids[0], { k: 1 }, 'before');
    // Sixty are counted; the first one about each slate that was said not to suffice is not.
    const answers: { status: number; headers: Headers }[] = [];
    while (answers.length < 80 && answers.at(-1)?.status !== 429) {
      answers.push(await discover(first, ids[answers.length % ids.length], { k: 1 }));
    }
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toEqual([...Array.from({ length: answers.length - 1 }, () => 200), 429]);
    expect(answers.length).toBeGreaterThanOrEqual(60);
    expect(answers.length).toBeLessThanOrEqual(60 + ids.length);
    const wait = Number(answers.at(-1)!.headers.get('retry-after'));
    expect(wait > 0 && wait <= 15).toBe(true);
    expect((await discover(first, ids[0], { summary: true })).status).toBe(200);
    expect(await discover(first, ids[0], { k: 1 }, 'before')).toMatchObject({ body: before.body });
    expect(await first.ask('GET', '/v1/catalogs/stormy/sufficiency')).toMatchObject({
      breaker: { open: true },
    });
    // Routing goes on.
    expect((await shop.route(QUERY, { k: 1 })).tools).toHaveLength(1);
  });

  it('loses nothing that was answered when its process is killed', async () => {
    const shop = await open('killed');
    const ids: string[] = [];
    for (let i = 0; i < 18; i++) ids.push((await shop.route(QUERY, { k: 1 })).decisionId);
    const answered: { id: string; body: DiscoverAnswer }[] = [];
    const asked = ids.map(async (id) => {
      const { status, body } = await discover(processes().first, id, { k: 1 }, `kept-${id}`);
      expect(status).toBe(200);
      answered.push({ id, body });
    });
    await Promise.any(asked);
    await processes().replaceFirst();
    await Promise.allSettled(asked);
    const again = new Shop(processes().first, 'killed');
    expect(answered.length).toBeGreaterThan(0);
    for (const { id, body } of answered) {
      const { discoveries } = await again.explain(id);
      expect(discoveries?.map(({ tools }) => names(tools))).toEqual([names(body.tools)]);
      const repeated = await discover(again.service, id, { k: 1 }, `kept-${id}`);
      expect(names(repeated.body.tools)).toEqual(names(body.tools));
    }
    // Those that were not answered can be sent again: each is counted once.
    for (const id of ids)
      expect((await discover(again.service, id, { k: 1 }, `kept-${id}`)).status).toBe(200);
    expect(await again.service.ask('GET', '/v1/catalogs/killed/sufficiency')).toMatchObject({
      discoveries: { decisions: ids.length, times: ids.length, tools: ids.length },
    });
  });
}

describe('discovery in one process', () => {
  const running = oneService();

  behaves(() => ({
    first: running.service,
    second: running.service,
    replaceFirst: async () => {
      await running.service.kill();
      await running.startAgain();
    },
  }));
});

describe.skipIf(redisProgram.path === null)(`discovery over Redis${redisProgram.missing ?? ''}`, () => {
  const running = twoRouters({ workers: 1 });

  behaves(() => ({
    ...running,
    replaceFirst: async () => {
      await running.first.kill();
      running.first = await running.deployment.startRouter();
    },
  }));
});
