import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { writeTinyModel } from '../models/tiny-model.ts';
import { type Deployment, startDeployment } from '../redis/deployment.ts';
import { redisProgram } from '../redis/redis-server.ts';
import { type RunningService, temporaryFolder, until } from './running-service.ts';
import { Shop } from './shop.ts';

const folder = temporaryFolder();
const disposals: (() => unknown)[] = [() => folder.remove()];
afterAll(async () => {
  for (const dispose of disposals.reverse()) await dispose();
});

const QUERY = 'send a mail';
const bundled = { BANDOLIER_MODEL: 'bundled' };

/** Learns through a router until it is sure. */
async function taught(deployment: Deployment): Promise<{ first: Shop; slate: string[] }> {
  await deployment.startWorker();
  const first = await Shop.open(await deployment.startRouter([], bundled), 'shop');
  await first.teach(QUERY, 'refund_payment', 4);
  const slate = await first.greedy(QUERY);
  expect(slate[0]).toBe('refund_payment');
  return { first, slate };
}

/** The same through another router, when it has folded what there is. */
async function at(router: RunningService, { service }: Shop): Promise<Shop> {
  const digestOf = async (one: RunningService) =>
    (await one.request('GET', '/v1/catalogs/shop/digest')).body?.sha256;
  await until(async () => (await digestOf(router)) === (await digestOf(service)));
  return new Shop(router, 'shop');
}

describe.skipIf(redisProgram.path === null)(
  `routers with different embedding models${redisProgram.missing ?? ''}`,
  () => {
    it('leave a catalog what it was learned with, in whatever order they start and stop', async () => {
      const { deployment } = await startDeployment(disposals);
      const { first, slate } = await taught(deployment);
      const { policy } = await first.service.ask<{ policy: object }>('GET', '/v1/catalogs/shop');
      const digest = await first.service.ask('GET', '/v1/catalogs/shop/digest');

      const model = writeTinyModel(join(folder.path, 'tiny'), { dimensions: 16 });
      for (const BANDOLIER_MODEL of [model, 'none', 'bundled']) {
        const router = await deployment.startRouter([], { BANDOLIER_MODEL });
        const other = await at(router, first);
        // They have the model as well, and use it.
        expect(await other.greedy(QUERY)).toEqual(slate);
        expect(await first.greedy(QUERY)).toEqual(slate);
        expect(await router.ask('GET', '/v1/catalogs/shop')).toMatchObject({ policy });
        await router.stop();
      }
      expect(await first.service.ask('GET', '/v1/catalogs/shop/digest')).toEqual(digest);
    });

    it('follow a command that moves it, and one that cannot goes by words alone and harms nothing', async () => {
      const { deployment } = await startDeployment(disposals);
      const { first, slate } = await taught(deployment);
      // A folder that this machine has; the third router is configured with it, and removes it afterwards.
      const model = writeTinyModel(join(folder.path, 'moving'), { dimensions: 16 });
      const mover = new Shop(await deployment.startRouter([], { BANDOLIER_MODEL: model }), 'shop');
      const second = await at(await deployment.startRouter([], bundled), first);

      await mover.configure({ embedder: 'default' });
      await Promise.all([
        at(mover.service, first),
        until(async () => (await first.route(QUERY)).fallback === null),
        until(async () => (await second.route(QUERY)).fallback === null),
      ]);
      for (const shop of [first, second, mover]) {
        const { policy, fallback } = await shop.route(QUERY);
        expect([policy.version, fallback]).toEqual(['sc-linucb-memory@3', null]);
      }

      writeTinyModel(model, { dimensions: 8 });
      const without = await at(await deployment.startRouter([], bundled), first);
      const answer = await without.route(QUERY);
      expect(answer.fallback).toBe('embedder_down');
      expect(without.service.output).toContain(`bandolier catalogs embedder shop bundled`);
      await without.report(answer.decisionId, { tool: 'book_courier', outcome: 'success' });
      await without.settled();
      const put = await without.service.request('PATCH', '/v1/catalogs/shop/tools', {
        put: [{ name: 'late_tool', description: 'Came while words decided.', inputSchema: {} }],
      });
      expect([put.status, JSON.stringify(put.body)]).toEqual([503, expect.stringContaining(model)]);
      await first.service.ask('PATCH', '/v1/catalogs/shop/tools', {
        put: [{ name: 'late_tool', description: 'Came while words decided.', inputSchema: {} }],
      });

      // It has what the catalog was learned with before: back with it, by everybody.
      await at(without.service, first);
      const back = await without.configure({ embedder: 'bundled' });
      expect(back.policy.version).toBe('sc-linucb-memory@2');
      for (const shop of [first, second, mover, without]) {
        await at(shop.service, first);
        await until(async () => (await shop.route(QUERY)).fallback === null);
        expect((await shop.greedy(QUERY))[0]).toBe(slate[0]);
        expect(await shop.greedy('came while words decided')).toContain('late_tool');
      }
    });
  },
);
