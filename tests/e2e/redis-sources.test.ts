import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Deployment } from '../redis/deployment.ts';
import { type RedisServer, redisProgram, startRedis } from '../redis/redis-server.ts';
import { type RunningService, until } from './running-service.ts';

describe.skipIf(redisProgram.path === null)(`sources over Redis${redisProgram.missing ?? ''}`, () => {
  let redis: RedisServer;
  let deployment: Deployment;
  let routers: readonly RunningService[];
  let web: Server;
  let names = ['alpha', 'beta'];
  let reads = 0;
  let reading = 0;
  let atOnce = 0;

  beforeAll(async () => {
    web = createServer(async (_, response) => {
      reads++;
      atOnce = Math.max(atOnce, ++reading);
      // Whoever else is asked to read it meanwhile has its chance.
      await new Promise((resolve) => setImmediate(resolve));
      const tools = names.map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));
      response.end(JSON.stringify({ tools }), () => reading--);
    });
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    redis = await startRedis(['--appendonly', 'yes']);
    deployment = new Deployment(redis.url);
    const settings = { BANDOLIER_ALLOW_PRIVATE_HOSTS: 'true' };
    routers = [await deployment.startRouter([], settings), await deployment.startRouter([], settings)];
  });
  afterAll(async () => {
    await deployment.dispose();
    await redis.dispose();
    web.close();
  });

  it('are read by one router at a time, whichever was asked, and all of them know how it went', async () => {
    const [first, second] = routers;
    const path = '/v1/catalogs/default/sources';
    const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/tools`;
    await first.ask('PUT', `${path}/docs`, { kind: 'file', url, refreshSeconds: null });
    await until(async () => (await second.request('GET', `${path}/docs`)).status === 200);
    const syncs = await Promise.all(
      [first, second, first, second].map((router) => router.ask('POST', `${path}/docs/sync`)),
    );
    for (const one of syncs) expect(one).toMatchObject({ status: 'ok', tools: 2 });
    expect(reads).toBeGreaterThan(0);
    expect(atOnce).toBe(1);

    names = ['alpha', 'gamma'];
    await second.ask('POST', `${path}/docs/sync`);
    const digestOf = (router: RunningService) => router.ask('GET', '/v1/catalogs/default/digest');
    await until(async () => JSON.stringify(await digestOf(first)) === JSON.stringify(await digestOf(second)));
    for (const router of routers) {
      const { tools } = await router.ask<{ tools: { name: string }[] }>('GET', '/v1/catalogs/default/tools');
      expect(tools.map(({ name }) => name)).toEqual(['alpha', 'gamma']);
      const { sources } = await router.ask<{ sources: object[] }>('GET', path);
      expect(sources).toMatchObject([{ name: 'docs', status: 'ok', tools: 2 }]);
    }
    expect((await first.request('DELETE', `${path}/docs`)).status).toBe(204);
    await until(async () => (await second.request('GET', `${path}/docs`)).status === 404);
  });
});
