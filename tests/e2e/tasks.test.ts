import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RewardReceipt } from '../../src/rewards/reward-report.ts';
import type { EndedTask } from '../../src/rewards/tasks.ts';
import { startDeployment } from '../redis/deployment.ts';
import { redisProgram } from '../redis/redis-server.ts';
import { RunningService, temporaryFolder, until } from './running-service.ts';
import { Shop } from './shop.ts';

const REFUND = 'the customer wants their money back for the payment';
const PARCEL = 'order a courier who delivers the parcel';
const SETTINGS = { BANDOLIER_MODEL: 'none' };

const report = async (service: RunningService, outcome: object): Promise<RewardReceipt> => {
  const rewards = [{ outcome: 'success', ...outcome }];
  return (await service.ask<{ results: RewardReceipt[] }>('POST', '/v1/rewards', { rewards })).results[0];
};
const end = (service: RunningService, task: string, body?: object) =>
  service.ask<EndedTask>('POST', `/v1/tasks/${encodeURIComponent(task)}/end`, body);
const shown = async ({ service, catalog }: Shop, tool: string) =>
  service.ask<Record<string, number>>('GET', `/v1/catalogs/${catalog}/tools/${tool}/stats`);
const learned = async (shop: Shop, decisionId: string) =>
  (await shop.explain(decisionId)).rewards.map(({ tool, status }) => [tool, status]);

describe('tasks over HTTP', () => {
  const folder = temporaryFolder();
  let service: RunningService;
  beforeAll(async () => {
    service = await RunningService.start(folder.path, [], SETTINGS);
  });
  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  it('one report counts for all steps that showed the tool, also after the service was killed', async () => {
    const shop = await Shop.open(service, 'killed', { policy: { exploration: 'greedy' } });
    const first = await shop.route(REFUND, { task: 'turn/1' });
    const second = await shop.route(PARCEL, { task: 'turn/1', k: 10 });
    await service.kill();
    service = await RunningService.start(folder.path, [], SETTINGS);
    const again = new Shop(service, 'killed');
    const call = { task: 'turn/1', tool: 'refund_payment', idempotencyKey: 'call-1' };
    expect(await report(service, call)).toMatchObject({ status: 'queued', decisions: 2 });
    await again.settled();
    await service.kill();
    service = await RunningService.start(folder.path, [], SETTINGS);
    const after = new Shop(service, 'killed');
    for (const { decisionId } of [first, second]) {
      expect(await learned(after, decisionId)).toEqual([['refund_payment', 'applied']]);
    }
    expect((await report(service, call)).status).toBe('duplicate');
    expect(await end(service, 'turn/1')).toEqual({ task: 'turn/1', decisions: 2 });
    expect(await end(service, 'turn/1')).toEqual({ task: 'turn/1', decisions: 0 });
    expect(await shown(after, 'refund_payment')).toMatchObject({ shown: 2, called: 2, successes: 2 });
  });

  it('go over several catalogs, unless one is named', async () => {
    const [here, there] = [await Shop.open(service, 'here'), await Shop.open(service, 'there')];
    for (const shop of [here, there]) await shop.route(REFUND, { task: 'both', k: 10 });
    expect(await report(service, { task: 'both', tool: 'refund_payment' })).toMatchObject({ decisions: 2 });
    const one = { task: 'both', tool: 'track_parcel', catalog: 'there' };
    expect(await report(service, one)).toMatchObject({ decisions: 1 });
    await there.settled();
    expect((await shown(here, 'track_parcel')).called).toBe(0);
    expect((await shown(there, 'track_parcel')).called).toBe(1);
    expect((await end(service, 'both', { catalog: 'here' })).decisions).toBe(1);
    expect((await end(service, 'both')).decisions).toBe(1);
  });
});

describe.skipIf(redisProgram.path === null)(
  `tasks through several routers${redisProgram.missing ?? ''}`,
  () => {
    const disposals: (() => unknown)[] = [];
    afterEach(async () => {
      for (const dispose of disposals.splice(0).reverse()) await dispose();
    });

    it('a report finds the decision that another router has just made, and all learn the same', async () => {
      const { deployment } = await startDeployment(disposals);
      const [first, second] = [await deployment.startRouter(), await deployment.startRouter()];
      const worker = await deployment.startWorker();
      const here = await Shop.open(first, 'shop');
      const there = new Shop(second, 'shop');
      await until(
        async () => (await second.request('GET', '/v1/catalogs/shop/tools/track_parcel')).status === 200,
      );
      for (let turn = 0; turn < 5; turn++) {
        const task = `turn-${turn}`;
        await here.route(REFUND, { task, k: 10 });
        await there.route(PARCEL, { task, k: 10 });
        expect(await report(second, { task, tool: 'refund_payment' })).toMatchObject({ decisions: 2 });
        if (turn === 2) await worker.end('SIGKILL');
        expect((await end(first, task)).decisions).toBe(2);
      }
      await deployment.startWorker();
      for (const shop of [here, there]) {
        await until(async () => (await shown(shop, 'refund_payment')).successes === 10);
      }
      const { decisionId } = await here.route(REFUND, { task: 'late', k: 10 });
      await report(second, { decisionId, tool: 'track_parcel', more: false });
      await until(async () => (await learned(there, decisionId)).length === 1);
    });
  },
);
