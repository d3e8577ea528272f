import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RewardHealth } from '../../src/rewards/health-report.ts';
import { startDeployment } from '../redis/deployment.ts';
import { redisProgram } from '../redis/redis-server.ts';
import { RunningService, temporaryFolder, until } from './running-service.ts';
import { Shop } from './shop.ts';

const QUERY = 'the customer wants their money back';
const SETTINGS = { BANDOLIER_MODEL: 'none' };

function healthOf({ service, catalog }: Shop): Promise<RewardHealth> {
  return service.ask('GET', `/v1/rewards/health?catalog=${catalog}`);
}

describe('reports of rewards', () => {
  const folder = temporaryFolder();
  let service: RunningService;

  beforeAll(async () => {
    service = await RunningService.start(folder.path, [], SETTINGS);
  });
  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  it.each([
    ['success', -1],
    ['success', 0],
    ['failure', 1],
    ['partial', -0.5],
    ['timeout', 0.5],
  ])('that contradict themselves are refused: %s with the value %d', async (outcome, value) => {
    const shop = await Shop.open(service, 'contradictions');
    const { decisionId } = await shop.route(QUERY);
    for (const [path, body] of [
      [`/v1/decisions/${decisionId}/rewards`, { tool: 'track_parcel', outcome, value }],
      ['/v1/rewards', { rewards: [{ decisionId, tool: 'track_parcel', outcome, value }] }],
    ] as const) {
      const answer = await service.request<{ violations: { path: string }[] }>('POST', path, body);
      expect(answer).toMatchObject({ status: 422, body: { code: 'validation-failed' } });
      expect(answer.body.violations[0].path).toMatch(/value$/);
    }
    expect((await healthOf(shop)).reports.applied).toBe(0);
  });

  it('keep when the outcome happened, if that can be', async () => {
    const shop = await Shop.open(service, 'occurred');
    const { decisionId, tools } = await shop.route(QUERY);
    const path = `/v1/decisions/${decisionId}/rewards`;
    const outcome = { tool: tools[0].name, outcome: 'success', more: true };
    for (const shift of [600_000, -600_000]) {
      const occurredAt = new Date(Date.now() + shift).toISOString();
      expect(await service.request('POST', path, { ...outcome, occurredAt })).toMatchObject({
        status: 422,
        body: { code: 'validation-failed', violations: [{ path: 'occurredAt' }] },
      });
    }
    const occurredAt = new Date().toISOString();
    await shop.report(decisionId, { ...outcome, occurredAt });
    await shop.settled();
    const health = await healthOf(shop);
    expect(health.reports.applied).toBe(1);
    expect(health.outcomeDelaySeconds.p50).toBeLessThanOrEqual(60);
  });

  it('have ids of which only those that were given out are known', async () => {
    const shop = await Shop.open(service, 'ids');
    const { decisionId, tools } = await shop.route(QUERY);
    const { rewardId } = await shop.report(decisionId, { tool: tools[0].name, outcome: 'success' });
    await shop.settled();
    expect(await service.ask('GET', `/v1/rewards/${rewardId}`)).toMatchObject({ status: 'applied' });
    for (const made of [`${decisionId}.0123456789abcdef`, `${decisionId}.1`, `${rewardId}0`, decisionId]) {
      expect(await service.request('GET', `/v1/rewards/${made}`)).toMatchObject({
        status: 404,
        body: { code: 'reward-not-found' },
      });
    }
  });

  it('that repeat one which was learned are counted as duplicates, and as nothing else', async () => {
    const shop = await Shop.open(service, 'repeated');
    const { decisionId, tools } = await shop.route(QUERY);
    const outcome = { tool: tools[0].name, outcome: 'success', idempotencyKey: 'call-1' };
    await shop.report(decisionId, outcome);
    await shop.settled();
    for (let i = 0; i < 2; i++) expect((await shop.report(decisionId, outcome)).status).toBe('duplicate');
    const { reports, outcomes, unlearned } = await healthOf(shop);
    expect([reports.applied, reports.duplicate, outcomes.success, unlearned]).toEqual([1, 2, 1, {}]);
  });

  it('on unknown decisions are counted for the catalog that they name, and kept over a restart', async () => {
    const one = await Shop.open(service, 'one');
    await Shop.open(service, 'other');
    for (let i = 0; i < 3; i++) await one.route(QUERY);
    const unknown = { decisionId: 'one.k0123456789abcdef0123456789abcdef', outcome: 'success' };
    await service.ask('POST', '/v1/rewards', { rewards: [unknown, unknown, { ...unknown, tool: 'x' }] });
    const counts = async () => {
      const health = (catalog: string) => healthOf(new Shop(service, catalog));
      const [{ decisions, reports, unlearned }, there] = [await health('one'), await health('other')];
      return [decisions.routed, reports.unknownDecision, unlearned, there.reports.unknownDecision];
    };
    const expected = [3, 3, { 'decision-not-found': 3 }, 0];
    expect(await counts()).toEqual(expected);
    await service.stop();
    service = await RunningService.start(folder.path, [], SETTINGS);
    expect(await counts()).toEqual(expected);
  });
});

describe.skipIf(redisProgram.path === null)(
  `reports of rewards through several routers${redisProgram.missing ?? ''}`,
  () => {
    const disposals: (() => unknown)[] = [];
    afterEach(async () => {
      for (const dispose of disposals.splice(0).reverse()) await dispose();
    });

    it('are the same figures everywhere', async () => {
      const { deployment } = await startDeployment(disposals);
      const first = await deployment.startRouter();
      const second = await deployment.startRouter();
      await deployment.startWorker();
      const here = await Shop.open(first, 'shop');
      const there = new Shop(second, 'shop');
      await until(async () => (await second.request('GET', '/v1/catalogs/shop')).status === 200);
      const unknown = { decisionId: 'shop.k0123456789abcdef0123456789abcdef', outcome: 'success' };
      for (const shop of [here, there]) {
        for (let i = 0; i < 10; i++) await shop.route(QUERY);
        const { decisionId, tools } = await shop.route(QUERY);
        await shop.report(decisionId, { tool: tools[0].name, outcome: 'success' });
        await shop.service.ask('POST', '/v1/rewards', { rewards: [unknown] });
      }
      for (const shop of [here, there]) {
        await until(async () => {
          const { decisions, reports } = await healthOf(shop);
          return decisions.rewarded === 2 && reports.unknownDecision === 2;
        });
        expect((await healthOf(shop)).decisions).toEqual({ routed: 22, rewarded: 2, share: 2 / 22 });
      }
    });
  },
);
