import { afterEach, describe, expect, it } from 'vitest';
import { RedisDecisionLogs } from '../../src/decisions/redis-decision-logs.ts';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { catalogKey } from '../../src/redis/keys.ts';
import { RedisConnections } from '../../src/redis/redis-connection.ts';
import { sampleDecision } from '../decisions/arbitrary-decision.ts';
import { until } from '../e2e/running-service.ts';
import { Shop } from '../e2e/shop.ts';
import { startDeployment } from '../redis/deployment.ts';
import { redisProgram } from '../redis/redis-server.ts';

const APPEND_ONLY = ['--appendonly', 'yes'];

describe.skipIf(redisProgram.path === null)(
  `routing while Redis is away${redisProgram.missing ?? ''}`,
  () => {
    const disposals: (() => unknown)[] = [];
    afterEach(async () => {
      for (const dispose of disposals.splice(0).reverse()) await dispose();
    });

    it('rewards of decisions made while Redis was away are learned, whichever router they are sent to', async () => {
      const { redis, deployment } = await startDeployment(disposals, APPEND_ONLY);
      const first = await deployment.startRouter();
      const second = await deployment.startRouter();
      await deployment.startWorker();
      const shop = await Shop.open(first, 'shop');
      await until(async () => (await second.request('GET', '/v1/catalogs/shop')).status === 200);
      await redis.stop();
      const { decisionId } = await shop.route('where is my parcel');
      const path = `/v1/decisions/${decisionId}/rewards`;
      const called = (n: number) => ({ tool: 'track_parcel', value: 1, more: true, idempotencyKey: `${n}` });
      expect((await first.request('POST', path, called(1))).status).toBe(503);

      // Redis is back before the router that made the decision can write it.
      first.process.kill('SIGSTOP');
      await redis.start();
      await until(async () => (await second.request('GET', '/readyz')).status === 200);
      const early = await second.request('POST', path, called(2));
      expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1']);
      expect(early.body).toMatchObject({ detail: expect.stringContaining('not in Redis yet') });
      first.process.kill('SIGCONT');
      await until(async () => (await first.request('POST', path, called(1))).status === 202);
      await until(async () => (await second.request('POST', path, called(2))).status === 202);
      await until(async () => (await shop.stats('track_parcel')).rewardSum === 2);
    });

    it('what Redis lost of its last moments is written again, so that a reward that is sent again is taken', async () => {
      const { redis, admin, deployment } = await startDeployment(disposals, APPEND_ONLY);
      const first = await deployment.startRouter();
      const second = await deployment.startRouter();
      await deployment.startWorker();
      const shop = await Shop.open(first, 'shop');
      await until(async () => (await second.request('GET', '/v1/catalogs/shop')).status === 200);
      const { decisionId } = await shop.route('where is my parcel', { activate: 'later' });
      await first.ask('POST', `/v1/decisions/${decisionId}/activate`);
      // The one that takes over has not got it yet.
      expect(await admin.commands.unlink(catalogKey('shop', `decision:${decisionId}`))).toBe(1);
      const path = `/v1/decisions/${decisionId}/rewards`;
      const report = { tool: 'track_parcel', value: 1, idempotencyKey: 'once' };
      expect((await second.request('POST', path, report)).status).toBe(503);
      await redis.stop('SIGKILL');
      await redis.start();
      await until(async () => (await second.request('POST', path, report)).status === 202);
      await until(async () => (await shop.stats('track_parcel')).rewardSum === 1);
    });

    it('a decision that waits for Redis is there for everybody before anybody takes a reward for it', async () => {
      const { redis, admin } = await startDeployment(disposals, APPEND_ONLY);
      const logs = new RedisDecisionLogs(admin, { retainMs: 60_000, now: () => Date.now() });
      const log = await logs.open('shop');
      await redis.stop();
      await log.append(sampleDecision('shop.a', Date.now()));
      await expect(log.head('shop.a')).rejects.toThrow(StoreUnavailableError);
      await redis.start();
      await until(() =>
        log.head('shop.a').then(
          () => true,
          () => false,
        ),
      );
      const other = await RedisConnections.open(redis.url);
      disposals.push(() => other.close());
      expect(await other.commands.exists(catalogKey('shop', 'decision:shop.a'))).toBe(1);
      await logs.close();
    });
  },
);
