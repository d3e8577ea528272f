import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import { RedisLedgers } from '../../src/ledger/redis-ledgers.ts';
import { BullmqJobQueue } from '../../src/queue/bullmq-job-queue.ts';
import { catalogKey } from '../../src/redis/keys.ts';
import { REWARDS_JOB } from '../../src/rewards/reward-job.ts';
import type { StateDigest } from '../../src/state/snapshot-codec.ts';
import { type RunningService, until } from '../e2e/running-service.ts';
import { metric, Shop } from '../e2e/shop.ts';
import { startDeployment } from '../redis/deployment.ts';
import { redisProgram } from '../redis/redis-server.ts';
import { runProgram, runProgramWith } from './program.ts';

describe.skipIf(redisProgram.path === null)(`running on Redis${redisProgram.missing ?? ''}`, () => {
  const disposals: (() => unknown)[] = [];
  afterEach(async () => {
    for (const dispose of disposals.splice(0).reverse()) await dispose();
  });

  it('what was given up is counted, listed and tried again from the command line', async () => {
    const { admin, deployment } = await startDeployment(disposals);
    const router = await deployment.startRouter();
    await deployment.startWorker();
    const queue = new BullmqJobQueue(admin);
    disposals.push(() => queue.close(0));
    await queue.add([{ name: REWARDS_JOB, id: 'lost', payload: { catalog: 'later', decisions: [] } }]);
    await until(async () => (await metric(router, 'bandolier_queue_jobs', { state: 'dead' })) === 1);
    const listed = await runProgram('rewards', 'dead', '--url', router.url);
    expect(listed.output).toMatch(/^lost +rewards +later .* catalog "later" was deleted$/m);

    const early = await runProgram('rewards', 'redrive', 'unknown', '--url', router.url);
    expect(early.output).toMatch(/^0 put back/);
    await router.ask('PUT', '/v1/catalogs/later', {});
    const redriven = await runProgram('rewards', 'redrive', '--url', router.url);
    expect(redriven).toEqual({ code: 0, output: '1 put back into the queue.\n' });
    await until(async () => (await queue.pending()) === 0);
    expect(await metric(router, 'bandolier_queue_jobs', { state: 'dead' })).toBe(0);
  });

  it('a full queue refuses rewards with 503 until there is room', async () => {
    const { admin, deployment } = await startDeployment(disposals);
    const router = await deployment.startRouter([], { BANDOLIER_MAX_PENDING_REWARDS: '1000' });
    const shop = await Shop.open(router, 'shop');
    const { decisionId } = await shop.route('where is my parcel');
    const queue = new BullmqJobQueue(admin);
    disposals.push(() => queue.close(0));
    await queue.add(Array.from({ length: 1000 }, (_, n) => ({ name: 'other', id: `${n}`, payload: null })));
    const report = { tool: 'track_parcel', value: 1, idempotencyKey: 'once' };
    const path = `/v1/decisions/${decisionId}/rewards`;
    // Free places are counted once a second.
    await until(async () => (await router.request('POST', path, report)).status === 503);
    const refused = await router.request('POST', path, report);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    queue.process('other', async () => {}, { concurrency: 50 });
    await until(async () => (await router.request('POST', path, report)).status === 202);
    await deployment.startWorker();
    await shop.settled();
    expect(await shop.stats('track_parcel')).toMatchObject({ called: 1, rewardSum: 1 });
  });

  it('routers agree again when Redis comes back without its last moments', async () => {
    const { redis, admin, deployment } = await startDeployment(disposals);
    const first = await deployment.startRouter();
    const second = await deployment.startRouter();
    const digest = (router: RunningService) => router.ask<StateDigest>('GET', '/v1/catalogs/shop/digest');
    const shop = await Shop.open(first, 'shop');
    await until(async () => (await second.request('GET', '/v1/catalogs/shop')).status === 200);
    // Without an append-only file it comes back as it was here.
    await admin.commands.call('SAVE');
    await shop.configure({ rewards: { windowSeconds: 60 } });
    const lost = await digest(first);
    await until(async () => (await digest(second)).sha256 === lost.sha256);
    await redis.stop('SIGKILL');
    await redis.start();

    await until(async () => (await first.request('GET', '/readyz')).status === 200);
    const put = { put: [{ name: 'afterwards', description: 'Put afterwards', inputSchema: {} }] };
    await until(async () => (await second.request('PATCH', '/v1/catalogs/shop/tools', put)).status === 200);
    const fresh = await deployment.startRouter();
    const known = await digest(fresh);
    // At the position where something else was before.
    expect(known.position).toBeGreaterThanOrEqual(lost.position);
    expect(known.sha256).not.toBe(lost.sha256);
    for (const router of [first, second]) {
      await until(async () => (await digest(router)).sha256 === known.sha256);
    }
  });

  it('a ledger that grew while nobody made snapshots is trimmed behind the first one', async () => {
    const { admin, deployment } = await startDeployment(disposals);
    const router = await deployment.startRouter();
    const ledger = await new RedisLedgers(admin, 110_000).open('default');
    disposals.push(() => ledger.close());
    const many = (n: number): Entry[] =>
      Array.from({ length: 5_000 }, (_, i) => ({ kind: 'forget', key: `forget/${n}-${i}`, at: 1, unit: 1 }));
    const fill = async (): Promise<void> => {
      for (let n = 0; ; n++) await ledger.append(many(n));
    };
    await expect(fill()).rejects.toThrow(/it is full, since no snapshots are made: start `bandolier work`/);
    await deployment.startWorker();
    const stream = catalogKey('default', 'ledger');
    await until(async () => (await admin.commands.xlen(stream)) < 5_000);
    await ledger.append(many(1_000_000));
    const head = await ledger.head();
    await until(async () => {
      const { position } = await router.ask<StateDigest>('GET', '/v1/catalogs/default/digest');
      return position === head;
    });
  });

  it('rewards are exported and evaluated as long as their decisions are kept, however many snapshots there are', async () => {
    const { admin, redis, deployment } = await startDeployment(disposals);
    const router = await deployment.startRouter();
    await deployment.startWorker();
    const shop = await Shop.open(router, 'shop', {
      policy: { name: 'uniform', exploration: 'plackett-luce' },
    });
    for (let n = 0; n < 5; n++) {
      const { decisionId } = await shop.route('give the customer their money back');
      await shop.report(decisionId, { tool: 'track_parcel', value: 1 });
    }
    await shop.settled();
    const ledger = await new RedisLedgers(admin).open('shop');
    disposals.push(() => ledger.close());
    const first = catalogKey('shop', 'snapshots');
    const newest = async () => Number((await admin.commands.zrevrange(first, 0, 0, 'WITHSCORES'))[1] ?? 0);
    for (let n = 0; n < 4; n++) {
      const before = await newest();
      const some = Array.from({ length: 1_100 }, (_, i) => ({
        ...{ kind: 'forget' as const, key: `forget/${n}-${i}`, at: Date.now(), unit: 1 },
      }));
      await ledger.append(some);
      await until(async () => (await newest()) > before);
    }
    const exported = await runProgramWith({ REDIS_URL: redis.url }, 'export', '--catalog', 'shop');
    expect(exported.output.split('\n').filter((line) => line.startsWith('{"kind":"reward"'))).toHaveLength(5);
    const path = '/v1/catalogs/shop/evaluations';
    const candidates = [{ name: 'cosine', policy: { name: 'cosine' } }];
    const { id } = await router.ask('POST', path, { candidates });
    const evaluation = () => router.ask<{ endedAt: string | null }>('GET', `${path}/${id}`);
    await until(async () => (await evaluation()).endedAt !== null);
    expect(await evaluation()).toMatchObject({ decisions: 5, skipped: { decisionGone: 0 } });
  }, 120_000);

  it('a worker that is stopped lets its lease go, and its jobs stay', async () => {
    const { admin, deployment } = await startDeployment(disposals);
    const router = await deployment.startRouter();
    const worker = await deployment.startWorker();
    const ledger = await new RedisLedgers(admin).open('default');
    disposals.push(() => ledger.close());
    const entry = (n: number): Entry => ({ kind: 'forget', key: `forget/${n}`, at: 1, unit: 1 });
    await ledger.append(Array.from({ length: 20_000 }, (_, n) => entry(n)));
    const lease = catalogKey('default', 'lease');
    await until(async () => (await admin.commands.exists(lease)) === 1);
    expect(await worker.end()).toBe(0);
    expect(await admin.commands.exists(lease)).toBe(0);
    expect(await admin.commands.zcard(catalogKey('default', 'snapshots'))).toBe(1);

    const shop = await Shop.open(router, 'shop');
    const { decisionId } = await shop.route('where is my parcel');
    const { rewardId } = await shop.report(decisionId, { tool: 'track_parcel', value: 1 });
    await deployment.startWorker();
    await until(async () => (await router.ask('GET', `/v1/rewards/${rewardId}`)).status === 'applied');
  });

  it.each([
    ['a second signal ends a router at once', '600', true, 130],
    ['a request that never ends is cut off at the deadline', '1', false, 0],
  ])('%s', async (_, shutdownSeconds, again, code) => {
    const { deployment } = await startDeployment(disposals);
    const router = await deployment.startRouter([], { BANDOLIER_SHUTDOWN_SECONDS: shutdownSeconds });
    const socket = connect(Number(new URL(router.url).port), '127.0.0.1');
    socket.on('error', () => {});
    const head =
      'POST /v1/route HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n';
    socket.write(`${head}content-length: 100\r\n\r\n{`);
    // The router has begun with it.
    await once(socket, 'data');
    const closed = once(router.process, 'close');
    router.process.kill('SIGTERM');
    await until(() => router.output.includes('Finishing what is in progress'));
    expect(router.isAlive).toBe(true);
    if (again) router.process.kill('SIGTERM');
    expect((await closed)[0]).toBe(code);
    socket.destroy();
  });
});
