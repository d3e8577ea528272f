import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StateDigest } from '../../src/state/snapshot-codec.ts';
import { Deployment } from '../redis/deployment.ts';
import { type RedisServer, redisProgram, startRedis } from '../redis/redis-server.ts';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder, until } from './running-service.ts';
import { SHOP_TOOLS, Shop } from './shop.ts';

const WORDS = { BANDOLIER_MODEL: 'none' };
const SECRET = { BANDOLIER_TOKEN_KEY: 'a secret of sixteen characters or more' };
const CONTEXT = '/v1/catalogs/shop/users/ada/context';
const ITEM = { id: 'usual', text: 'Two portions of lentils' };

describe.skipIf(redisProgram.path === null)(`moving house${redisProgram.missing ?? ''}`, () => {
  const folder = temporaryFolder();
  const embedded = join(folder.path, 'embedded');
  const back = join(folder.path, 'back');
  let redis: RedisServer;
  let known: { digest: StateDigest; decisionId: string; delayed: string };

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(async () => {
    await redis.dispose();
    folder.remove();
  });

  const run = (...words: string[]) => runWith(redis.url, folder.path, SECRET, ...words);

  const digestOf = (service: RunningService): Promise<StateDigest> =>
    service.ask('GET', '/v1/catalogs/shop/digest');

  async function expectAllOfIt(service: RunningService): Promise<void> {
    expect(await digestOf(service)).toEqual(known.digest);
    const shop = new Shop(service, 'shop');
    const { rewards } = await shop.explain(known.decisionId);
    expect(rewards).toMatchObject([{ status: 'applied' }]);
    expect(
      (await shop.report(known.decisionId, { tool: SHOP_TOOLS[0].name, value: 1, more: true })).status,
    ).toBe('queued');
  }

  it('an embedded service fills its data folder', async () => {
    const service = await RunningService.start(embedded, [], WORDS);
    const shop = await Shop.open(service, 'shop', { rewards: { windowSeconds: 86_400, defaultReward: -1 } });
    const { decisionId } = await shop.route('give them their money back');
    await shop.report(decisionId, { tool: 'refund_payment', value: 1, more: true });
    const { decisionId: delayed } = await shop.route('nobody ever reports on this');
    await shop.settled();
    await service.ask('PUT', CONTEXT, { items: [ITEM] });
    known = { digest: await digestOf(service), decisionId, delayed };
    expect(await service.stop()).toBe(0);
  });

  it('it moves to Redis, and routers there know the same', async () => {
    const refused = await runWith(
      redis.url,
      folder.path,
      {},
      'migrate',
      '--to',
      'redis',
      '--data-dir',
      embedded,
    );
    expect(refused).toEqual({ code: 1, output: expect.stringMatching(/under a secret .* none is set/) });
    const moved = await run('migrate', '--to', 'redis', '--data-dir', embedded);
    expect(moved).toEqual({
      code: 0,
      output: expect.stringMatching(/^Copied 2 catalogs: .* 2 decisions, 2 jobs, what 1 user has\.$/m),
    });
    const again = await run('migrate', '--to', 'redis', '--data-dir', embedded);
    expect(again).toEqual({ code: 1, output: expect.stringMatching(/has a catalog "default" already/) });
    const deployment = new Deployment(redis.url);
    try {
      const router = await deployment.startRouter([], SECRET);
      await expectAllOfIt(router);
      expect((await router.ask('GET', CONTEXT)).items).toMatchObject([ITEM]);
      await deployment.startWorker();
      await new Shop(router, 'shop').settled();
      const { called } = await new Shop(router, 'shop').stats(SHOP_TOOLS[0].name);
      expect(called).toBe(2);
      known = { ...known, digest: await digestOf(router) };
    } finally {
      await deployment.dispose();
    }
  });

  it('and back, by way of a backup that was made while it ran', async () => {
    const deployment = new Deployment(redis.url);
    const router = await deployment.startRouter();
    const backup = join(folder.path, 'backup');
    const made = await run('backup', backup);
    expect(made).toEqual({ code: 0, output: expect.stringMatching(/^Copied 2 catalogs/m) });
    expect((await run('backup', backup)).output).toMatch(/is not empty/);
    expect(await digestOf(router)).toEqual(known.digest);
    await deployment.dispose();

    const moved = await run('migrate', '--to', 'embedded', '--data-dir', back);
    expect(moved).toEqual({ code: 0, output: expect.stringMatching(/what 1 user has/) });
    for (const place of [back, backup]) {
      const service = await RunningService.start(place, [], { ...WORDS, ...SECRET });
      expect(await digestOf(service)).toEqual(known.digest);
      // A backup cannot bring back a user who was erased.
      expect((await service.ask('GET', CONTEXT)).items).toMatchObject(place === back ? [ITEM] : []);
      // The decision that waits for its deadline is still there, and so is the job that will settle it.
      await new Shop(service, 'shop').explain(known.delayed);
      const metrics = await (await fetch(`${service.url}/metrics`)).text();
      expect(metrics).toMatch(/bandolier_queue_jobs\{state="delayed"\} 2/);
      expect(await service.stop()).toBe(0);
    }
  });

  it('a backup is restored into an empty Redis', async () => {
    const staging = await startRedis();
    const child = await runWith(staging.url, folder.path, {}, 'restore', join(folder.path, 'backup'));
    expect(child).toEqual({ code: 0, output: expect.stringMatching(/^Copied 2 catalogs/m) });
    const deployment = new Deployment(staging.url);
    const router = await deployment.startRouter();
    await until(async () => (await router.request('GET', '/readyz')).status === 200);
    expect(await digestOf(router)).toEqual(known.digest);
    await deployment.dispose();
    await staging.dispose();
  });
});

async function runWith(
  url: string,
  cwd: string,
  settings: Readonly<Record<string, string>>,
  ...words: string[]
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [mainFile, ...words], {
    env: cleanEnvironment({ ...WORDS, ...settings, REDIS_URL: url }),
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(child, 'close');
  return { code, output };
}
