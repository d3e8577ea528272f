import { describe, expect, it } from 'vitest';
import { redisProgram } from '../redis/redis-server.ts';
import { twoRouters } from '../redis/two-routers.ts';
import { type RunningService, until } from './running-service.ts';
import { Shop } from './shop.ts';

const POSITION = 'x-bandolier-position';

describe.skipIf(redisProgram.path === null)(
  `two routers and two workers${redisProgram.missing ?? ''}`,
  () => {
    const running = twoRouters({ workers: 2 });

    it('tools put through one are there on the other, at once for who brings the position', async () => {
      const { first, second } = running;
      const put = { tools: [{ name: 'refund', description: 'Give money back', inputSchema: {} }] };
      const written = await first.request('PUT', '/v1/catalogs/default/tools', put);
      const position = written.headers.get(POSITION)!;
      expect(position).toMatch(/^default=\d+$/);
      const read = await second.request('GET', '/v1/catalogs/default/tools/refund', undefined, {
        [POSITION]: position,
      });
      expect(read.status).toBe(200);
      const malformed = await second.request('GET', '/v1/catalogs/default', undefined, { [POSITION]: 'x' });
      expect(malformed.status).toBe(400);
      // A position that never was is no reason to wait.
      const beyond = await second.request('GET', '/v1/catalogs/default', undefined, {
        [POSITION]: 'default=999999',
      });
      expect(beyond.status).toBe(200);
    });

    it('a decision of one is rewarded through the other, and both have learned it', async () => {
      const { first, second } = running;
      const shop = await Shop.open(first, 'shop');
      await until(async () => (await second.request('GET', '/v1/catalogs/shop')).status === 200);
      const answer = await second.request<{ decisionId: string; tools: { name: string }[] }>(
        'POST',
        '/v1/route',
        {
          catalog: 'shop',
          query: 'give them their money back',
          k: 3,
        },
      );
      expect(answer.headers.get(POSITION)).toMatch(/^shop=/);
      const { decisionId, tools } = answer.body;
      const tool = tools[0].name;
      const { rewardId } = await first.ask('POST', `/v1/decisions/${decisionId}/rewards`, { tool, value: 1 });
      for (const router of [first, second]) {
        await until(async () => (await router.ask('GET', `/v1/rewards/${rewardId}`)).status === 'applied');
        const stats = await new Shop(router, 'shop').stats(tool);
        expect(stats).toMatchObject({ called: 1, successes: 1 });
      }
      expect((await shop.explain(decisionId)).decisionId).toBe(decisionId);
    });

    it('a decision that nobody rewards is settled with the default reward by a worker', async () => {
      const { first, second } = running;
      await first.ask('PUT', '/v1/catalogs/silent', { rewards: { windowSeconds: 5, defaultReward: -0.5 } });
      const put = { tools: [{ name: 'only', description: 'The only one', inputSchema: {} }] };
      await first.ask('PUT', '/v1/catalogs/silent/tools', put);
      await first.ask('POST', '/v1/route', { catalog: 'silent', query: 'only', k: 1 });
      await until(async () => {
        const { shown } = await new Shop(second, 'silent').stats('only').catch(() => ({ shown: 0 }));
        return shown === 1;
      });
    });

    it('catalogs go on all routers when one deletes them, and begin anew when they come back', async () => {
      const { first, second } = running;
      await first.ask('PUT', '/v1/catalogs/brief', {});
      const put = { tools: [{ name: 'a', description: 'One', inputSchema: {} }] };
      await first.ask('PUT', '/v1/catalogs/brief/tools', put);
      await until(async () => (await second.request('GET', '/v1/catalogs/brief/tools/a')).status === 200);
      await second.ask('DELETE', '/v1/catalogs/brief');
      await until(async () => (await first.request('GET', '/v1/catalogs/brief')).status === 404);
      await second.ask('PUT', '/v1/catalogs/brief', {});
      await until(async () => (await first.request('GET', '/v1/catalogs/brief')).status === 200);
      expect((await first.request('GET', '/v1/catalogs/brief/tools/a')).status).toBe(404);
    });

    it('a shard serves its own catalogs and says whose the others are', async () => {
      const { deployment } = running;
      const shard = await deployment.startRouter(['--catalogs', 'shop,mine']);
      expect((await shard.request('GET', '/v1/catalogs/shop')).status).toBe(200);
      const { catalogs } = await shard.ask<{ catalogs: { name: string }[] }>('GET', '/v1/catalogs');
      expect(catalogs.map(({ name }) => name)).toEqual(['shop']);
      const asked: [string, string, unknown?][] = [
        ['GET', '/v1/catalogs/default'],
        ['PUT', '/v1/catalogs/other', {}],
        ['POST', '/v1/route', { query: 'x' }],
        ['GET', '/v1/decisions/default.0mwqoys3s177ac7cc69087baacece'],
        ['GET', '/v1/rewards/default.0mwqoys3s177ac7cc69087baacece.00'],
      ];
      for (const [method, path, body] of asked) {
        const answer = await shard.request<{ code: string }>(method, path, body);
        expect([path, answer.status, answer.body.code]).toEqual([path, 421, 'wrong-shard']);
      }
      expect((await shard.request('PUT', '/v1/catalogs/mine', {})).status).toBeLessThan(300);
      expect(await shard.stop()).toBe(0);
    });

    it('routes on while Redis is away, and what was decided meanwhile can be rewarded afterwards', async () => {
      const { first, redis, second } = running;
      await redis.stop('SIGKILL');
      const route = () =>
        first.ask<{ decisionId: string }>('POST', '/v1/route', { catalog: 'shop', query: 'refund' });
      const { decisionId } = await route();
      expect((await first.request('GET', '/readyz')).status).toBe(503);
      const away = await metricsOf(first);
      expect(away).toMatch(/^bandolier_store_up 0$/m);
      expect(away).not.toMatch(/^bandolier_(queue_jobs|ledger_lag_entries)\{/m);
      const refused = await first.request('POST', `/v1/decisions/${decisionId}/rewards`, { value: 1 });
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
      await redis.start();
      await until(async () => (await first.request('GET', '/readyz')).status === 200);
      await until(async () => (await second.request('GET', `/v1/decisions/${decisionId}`)).status === 200);
      const back = await metricsOf(first);
      for (const line of [
        'bandolier_store_up 1',
        'bandolier_queue_jobs{state="dead"} 0',
        'bandolier_ledger_lag_entries{catalog="shop"} 0',
      ]) {
        expect(back.split('\n')).toContain(line);
      }
      expect(back).toMatch(/^bandolier_ledger_unsaved_entries\{catalog="shop"\} [1-9]/m);
      const { rewardId } = await second.ask('POST', `/v1/decisions/${decisionId}/rewards`, { value: 1 });
      await until(async () => (await first.ask('GET', `/v1/rewards/${rewardId}`)).status === 'applied');
    });

    it('ends in good order, with Redis and without', async () => {
      const { deployment, first, redis, second } = running;
      expect(await second.stop('SIGTERM')).toBe(0);
      expect(await deployment.workers[0].end()).toBe(0);
      await redis.stop('SIGKILL');
      expect(await first.stop('SIGTERM')).toBe(0);
      expect(await deployment.workers[1].end()).toBe(0);
    });
  },
);

async function metricsOf({ url }: RunningService): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}
