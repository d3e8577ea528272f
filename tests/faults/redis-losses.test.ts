import { afterEach, describe, expect, it } from 'vitest';
import { catalogKey, snapshotsKey } from '../../src/redis/keys.ts';
import { RedisConnections } from '../../src/redis/redis-connection.ts';
import type { StateDigest } from '../../src/state/snapshot-codec.ts';
import { type RunningService, temporaryFolder, until } from '../e2e/running-service.ts';
import { Shop } from '../e2e/shop.ts';
import { Deployment, startDeployment } from '../redis/deployment.ts';
import { openRedisDoor } from '../redis/redis-door.ts';
import { redisProgram, startRedis } from '../redis/redis-server.ts';
import { runProgramWith } from './program.ts';

const REPORT = { tool: 'refund_payment', value: 1, more: true };

describe.skipIf(redisProgram.path === null)(`another Redis than before${redisProgram.missing ?? ''}`, () => {
  const disposals: (() => unknown)[] = [];
  afterEach(async () => {
    for (const dispose of disposals.splice(0).reverse()) await dispose();
  });

  it('an emptied one: nothing is dropped or written, and a backup brings everything back beside the routers', async () => {
    const { admin, redis, deployment } = await startDeployment(disposals);
    const first = await deployment.startRouter();
    const second = await deployment.startRouter();
    const worker = await deployment.startWorker();
    const shop = await Shop.open(first, 'shop', { rewards: { windowSeconds: 86_400 } });
    const { decisionId } = await shop.route('give them their money back');
    await shop.report(decisionId, REPORT);
    await shop.settled();
    const backup = temporaryFolder();
    disposals.push(() => backup.remove());
    const kept = await digest(first);
    expect((await runProgramWith({ REDIS_URL: redis.url }, 'backup', backup.path)).code).toBe(0);
    await shop.configure({ rewards: { windowSeconds: 3_600 } });
    const known = await digest(first);
    await until(async () => (await digest(second)).sha256 === known.sha256);

    await admin.commands.flushall();
    for (const router of [first, second]) {
      await until(async () => (await router.request('GET', '/readyz')).status === 503);
      const { checks } = (await router.request<{ checks: Checks }>('GET', '/readyz')).body;
      expect(checks.store.detail).toMatch(/Redis has lost everything/);
      expect(await digest(router)).toEqual(known);
      expect((await new Shop(router, 'shop').route('where is my parcel')).tools.length).toBeGreaterThan(0);
      await refusesRewards(router, decisionId);
      const put = await router.request('PUT', '/v1/catalogs/shop', { rewards: { windowSeconds: 60 } });
      expect([put.status, put.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      expect(said(router.output, /restore a backup into this one/)).toBe(1);
    }
    await until(() => said(worker.output, /restore a backup into this one/) === 1);
    expect(await admin.commands.keys('bandolier:*ledger*')).toEqual([]);
    expect(await admin.commands.keys('bandolier:*snapshot*')).toEqual([]);

    const restored = await runProgramWith({ REDIS_URL: redis.url }, 'restore', backup.path);
    expect(restored).toEqual({ code: 0, output: expect.stringMatching(/^Copied 2 catalogs/m) });
    for (const router of [first, second]) {
      await until(async () => (await router.request('GET', '/readyz')).status === 200);
      await until(async () => (await digest(router)).sha256 === kept.sha256);
      expect(said(router.output, /restored from a backup: what it holds/)).toBe(1);
    }
    const { rewardId } = await new Shop(second, 'shop').report(decisionId, REPORT);
    await until(async () => (await first.ask('GET', `/v1/rewards/${rewardId}`)).status === 'applied');
    await first.ask('DELETE', '/v1/catalogs/shop');
    await until(async () => (await second.request('GET', '/v1/catalogs/shop')).status === 404);
    expect((await second.request('GET', '/readyz')).status).toBe(200);
  });

  it('one that was restarted without its data; whoever restarts a router begins anew, the others wait', async () => {
    const { redis, deployment } = await startDeployment(disposals);
    const old = await deployment.startRouter();
    const shop = await Shop.open(old, 'shop');
    const { decisionId } = await shop.route('give them their money back');
    const known = await digest(old);
    await redis.stop('SIGKILL');
    await redis.start();
    await until(async () => (await reasonOf(old)).includes('Redis has lost everything'));
    const fresh = await deployment.startRouter();
    expect((await fresh.request('GET', '/readyz')).status).toBe(200);
    expect((await fresh.request('GET', '/v1/catalogs/shop')).status).toBe(404);
    await until(async () => (await reasonOf(old)).includes('another deployment'));
    expect(await digest(old)).toEqual(known);
    await refusesRewards(old, decisionId);
  });

  it('that of another deployment is left alone, and all goes on with their own', async () => {
    const own = await startRedis();
    const other = await startRedis();
    const door = await openRedisDoor(own.port);
    disposals.push(() => own.dispose());
    disposals.push(() => other.dispose());
    disposals.push(() => door.dispose());
    const strangers = new Deployment(other.url);
    disposals.push(() => strangers.dispose());
    const stranger = await strangers.startRouter();
    const theirs = await Shop.open(stranger, 'shop', { rewards: { windowSeconds: 60 } });
    await theirs.configure({ rewards: { windowSeconds: 61 } });
    const theirDigest = await digest(stranger);

    const deployment = new Deployment(door.url);
    disposals.push(() => deployment.dispose());
    const router = await deployment.startRouter();
    await deployment.startWorker();
    const shop = await Shop.open(router, 'shop', { rewards: { windowSeconds: 86_400 } });
    const { decisionId } = await shop.route('give them their money back');
    await shop.report(decisionId, REPORT);
    await shop.settled();
    const known = await digest(router);

    const admin = await RedisConnections.open(other.url);
    disposals.push(() => admin.close());
    const keys = (await admin.commands.keys('*')).sort();
    door.leadTo(other.port);
    await until(async () => (await reasonOf(router)).includes('another deployment'));
    expect(await digest(router)).toEqual(known);
    const { decisionId: meanwhile } = await shop.route('where is my parcel');
    await refusesRewards(router, decisionId);
    await refusesRewards(router, meanwhile);
    expect(await digest(stranger)).toEqual(theirDigest);
    expect((await admin.commands.keys('*')).sort()).toEqual(keys);

    door.leadTo(own.port);
    await until(async () => (await router.request('GET', '/readyz')).status === 200);
    // One that was taken although its answer said otherwise is a duplicate the next time; below it is counted once.
    await until(async () => (await shop.report(meanwhile, REPORT).catch(() => null)) !== null);
    await shop.settled();
    expect((await shop.stats('refund_payment')).called).toBe(2);
    expect(await digest(stranger)).toEqual(theirDigest);
  });

  it('emptied in the middle of traffic: what was accepted and not learned yet is learned after the restore', async () => {
    const { admin, redis, deployment } = await startDeployment(disposals);
    const router = await deployment.startRouter();
    const worker = await deployment.startWorker();
    const shop = await Shop.open(router, 'shop', { rewards: { windowSeconds: 86_400 } });
    const decisions: string[] = [];
    for (let n = 0; n < 40; n++) decisions.push((await shop.route(`question ${n}`)).decisionId);
    const backup = temporaryFolder();
    disposals.push(() => backup.remove());
    expect((await runProgramWith({ REDIS_URL: redis.url }, 'backup', backup.path)).code).toBe(0);

    let accepted = 0;
    let sent = 0;
    const refused: object[][] = [];
    const agent = async (): Promise<void> => {
      while (refused.length < 20) {
        const rewards = Array.from({ length: 10 }, () => ({
          ...REPORT,
          decisionId: decisions[sent % decisions.length],
          idempotencyKey: `reward-${sent++}`,
        }));
        const answer = await router.request<{ results?: { status?: string }[] }>('POST', '/v1/rewards', {
          rewards,
        });
        if (answer.status >= 500) refused.push(rewards);
        for (const { status } of answer.body.results ?? []) if (status === 'queued') accepted++;
      }
    };
    const agents = [agent(), agent(), agent()];
    await until(() => accepted > 500);
    // So that some are accepted and not learned when it happens.
    worker.process.kill('SIGSTOP');
    await until(() => accepted > 800);
    await admin.commands.flushall();
    await Promise.all(agents);
    worker.process.kill('SIGCONT');
    await until(async () => (await reasonOf(router)).includes('Redis has lost everything'));
    const { called: learned } = await shop.stats('refund_payment');
    expect(learned).toBeLessThan(accepted);

    const restored = await runProgramWith({ REDIS_URL: redis.url }, 'restore', backup.path);
    expect(restored.code).toBe(0);
    await until(async () => (await router.request('GET', '/readyz')).status === 200);
    for (const rewards of refused) await router.ask('POST', '/v1/rewards', { rewards });
    // One more, so that the number below is odd: the state before the restore, with an even number of calls, cannot have it.
    const last = { ...REPORT, decisionId: decisions[0], idempotencyKey: `reward-${sent++}` };
    await router.ask('POST', '/v1/rewards', { rewards: [last] });
    // The backup was made before the first of them: those that had been learned are gone with the Redis they were in.
    await until(async () => (await shop.stats('refund_payment')).called === sent - learned);
    await shop.settled();
    expect((await shop.stats('refund_payment')).called).toBe(sent - learned);
  });

  it('one that lost the ledger of a single catalog: this one says so until it is deleted, the others are served', async () => {
    const { admin, deployment } = await startDeployment(disposals);
    const old = await deployment.startRouter();
    for (const name of ['aisle', 'shop']) await Shop.open(old, name);
    const parts = ['ledger', 'ledger-head', 'ledger-identity'].map((part) => catalogKey('aisle', part));
    await admin.commands.zadd(snapshotsKey('aisle'), 7, '7/1');
    await admin.commands.del(...parts);
    const fresh = await deployment.startRouter();
    expect((await new Shop(fresh, 'shop').route('where is my parcel')).tools.length).toBeGreaterThan(0);
    const { status, body } = await fresh.request<{ detail: string }>('GET', '/v1/catalogs/aisle');
    expect([status, body.detail]).toEqual([503, expect.stringMatching(/lost the ledger of catalog "aisle"/)]);
    const { checks } = (await fresh.request<{ checks: Checks }>('GET', '/readyz')).body;
    expect(checks['catalog:aisle'].ok).toBe(false);
    expect(said(fresh.output, /catalog \\?"aisle\\?" could not be followed/)).toBe(1);
    await Shop.open(old, 'basement');
    await until(async () => (await fresh.request('GET', '/v1/catalogs/basement')).status === 200);
    await fresh.ask('DELETE', '/v1/catalogs/aisle');
    for (const router of [fresh, old]) {
      await until(async () => (await router.request('GET', '/v1/catalogs/aisle')).status === 404);
      expect((await router.request('GET', '/readyz')).status).toBe(200);
    }
  });

  it('one into which a backup is being restored is taken by nobody until it is whole', async () => {
    const { admin, deployment, redis } = await startDeployment(disposals);
    const router = await deployment.startRouter();
    const { epoch } = admin;
    await epoch.claim();
    await epoch.beginRestore(epoch.deployment);
    await until(async () => (await reasonOf(router)).includes('is being restored'));
    const refused = await runProgramWith({ REDIS_URL: redis.url }, 'work');
    expect(refused).toEqual({ code: 1, output: expect.stringMatching(/A backup is being restored/) });
    await epoch.endRestore();
    // This one forgot to bring the catalogs: they are those of an earlier epoch.
    await until(() => router.output.includes('restored from a backup'));
  });
});

type Checks = Record<string, { readonly ok: boolean; readonly detail: string }>;

function digest(router: RunningService): Promise<StateDigest> {
  return router.ask('GET', '/v1/catalogs/shop/digest');
}

async function reasonOf(router: RunningService): Promise<string> {
  return (await router.request<{ checks: Checks }>('GET', '/readyz')).body.checks.store.detail;
}

async function refusesRewards(router: RunningService, decisionId: string): Promise<void> {
  const { status, headers } = await router.request('POST', `/v1/decisions/${decisionId}/rewards`, REPORT);
  expect([status, headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
}

/** In how many lines. */
function said(output: string, what: RegExp): number {
  return output.split('\n').filter((line) => what.test(line)).length;
}
