import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_CATALOG_SETTINGS } from '../../src/ledger/catalog-settings.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { RedisLedgers } from '../../src/ledger/redis-ledgers.ts';
import { BullmqJobQueue } from '../../src/queue/bullmq-job-queue.ts';
import { catalogKey } from '../../src/redis/keys.ts';
import { CatalogState } from '../../src/state/catalog-state.ts';
import { fold } from '../../src/state/fold.ts';
import type { StateDigest } from '../../src/state/snapshot-codec.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
import { cleanEnvironment, mainFile, until } from '../e2e/running-service.ts';
import { Shop } from '../e2e/shop.ts';
import { startDeployment } from '../redis/deployment.ts';
import { freePort, redisProgram, startRedis } from '../redis/redis-server.ts';

describe.skipIf(redisProgram.path === null)(`Redis at its limits${redisProgram.missing ?? ''}`, () => {
  const disposals: (() => unknown)[] = [];
  afterEach(async () => {
    for (const dispose of disposals.splice(0).reverse()) await dispose();
  });

  it('a job that runs twice, because its worker was held up, has its effect once', async () => {
    const { redis, admin } = await startDeployment(disposals);
    const lockMs = 500;
    const queue = new BullmqJobQueue(admin, { lockMs });
    disposals.push(() => queue.close(0));
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('hold-job.mjs', import.meta.url)), redis.url, `${lockMs}`, `${6 * lockMs}`],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    disposals.push(() => ended(child, 'SIGKILL'));
    let said = '';
    child.stdout.on('data', (chunk) => (said += chunk));
    const entry: Entry = { kind: 'settings', key: 'settings/1', at: 1, patch: DEFAULT_CATALOG_SETTINGS };
    await queue.add([{ name: 'entries', id: 'one', payload: entry }]);
    await until(() => said.includes('taken'));
    const ledger = await new RedisLedgers(admin).open('default');
    disposals.push(() => ledger.close());
    let runsHere = 0;
    queue.process(
      'entries',
      async ({ payload }) => {
        runsHere++;
        await ledger.append([payload as Entry]);
      },
      { concurrency: 1 },
    );
    await until(() => runsHere === 1);
    await until(() => said.includes('done'));
    await until(async () => (await queue.pending()) === 0);
    const entries = await ledger.read(0, 10);
    expect(entries.map(({ entry: { key } }) => key)).toEqual(['settings/1', 'settings/1']);
    const state = new CatalogState('default', { kernels: await loadKernels(), derived: false });
    fold(state, entries[0]);
    const version = state.learners.active.version;
    fold(state, entries[1]);
    expect(state.learners.active.version).toBe(version);
    expect(await queue.deadJobs(1)).toEqual([]);
    state.free();
  });

  it('out of memory it refuses with 503, loses nothing, and recovers', async () => {
    const { admin, deployment } = await startDeployment(disposals, ['--maxmemory-policy', 'noeviction']);
    const router = await deployment.startRouter();
    await deployment.startWorker();
    const shop = await Shop.open(router, 'shop');
    const { decisionId } = await shop.route('where is my parcel');
    const first = await shop.report(decisionId, { tool: 'track_parcel', value: 1, more: true });
    await shop.settled();
    await admin.commands.config('SET', 'maxmemory', '1mb');

    const refused = await router.request('POST', `/v1/decisions/${decisionId}/rewards`, { value: 1 });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await router.request('POST', '/v1/route', { catalog: 'shop', query: 'refund' })).status).toBe(
      503,
    );
    const put = { put: [{ name: 'late', description: 'Late', inputSchema: {} }] };
    expect((await router.request('PATCH', '/v1/catalogs/shop/tools', put)).status).toBe(503);
    expect((await shop.explain(decisionId)).rewards).toMatchObject([
      { rewardId: first.rewardId, status: 'applied' },
    ]);

    await admin.commands.config('SET', 'maxmemory', '0');
    const second = await shop.report(decisionId, { tool: 'track_parcel', value: 0.5, more: true });
    await shop.settled();
    const { rewards } = await shop.explain(decisionId);
    expect(rewards.map(({ rewardId, status }) => [rewardId, status])).toEqual([
      [first.rewardId, 'applied'],
      [second.rewardId, 'applied'],
    ]);
    expect((await router.request('PATCH', '/v1/catalogs/shop/tools', put)).status).toBe(200);
  });

  it('a router that stood still while its stream was trimmed goes on from a snapshot by itself', async () => {
    const { admin, deployment } = await startDeployment(disposals);
    const slow = await deployment.startRouter();
    const quick = await deployment.startRouter();
    await deployment.startWorker();
    await Shop.open(quick, 'shop');
    const digest = (router: typeof quick) => router.ask<StateDigest>('GET', '/v1/catalogs/shop/digest');
    await until(async () => (await slow.request('GET', '/v1/catalogs/shop')).status === 200);
    slow.process.kill('SIGSTOP');

    const ledger = await new RedisLedgers(admin).open('shop');
    disposals.push(() => ledger.close());
    const stream = catalogKey('shop', 'ledger');
    // Until what the slow one has not read yet is gone from the stream.
    for (let n = 0; (await admin.commands.xrange(stream, '-', '+', 'COUNT', 1))[0]?.[0] === '1-0'; n++) {
      const snapshots = await admin.commands.zcard(catalogKey('shop', 'snapshots'));
      await ledger.append(Array.from({ length: 2_100 }, (_, i) => forgetting(`${n}-${i}`)));
      await until(async () => (await admin.commands.zcard(catalogKey('shop', 'snapshots'))) > snapshots);
    }
    slow.process.kill('SIGCONT');
    const head = await ledger.head();
    await until(async () => (await digest(slow)).position === head);
    await until(async () => (await digest(quick)).position === head);
    expect(await digest(slow)).toEqual(await digest(quick));
    expect(slow.output).toMatch(/too far behind its ledger/);
    expect((await new Shop(slow, 'shop').route('where is my parcel')).tools.length).toBeGreaterThan(0);
  });

  it.each(['serve', 'work'])(
    '`bandolier %s` says in one sentence, in time, why it cannot use Redis',
    async (command) => {
      const guarded = await startRedis(['--requirepass', 'right']);
      disposals.push(() => guarded.dispose());
      const standing = await startRedis();
      disposals.push(() => standing.dispose());
      process.kill(standing.pid, 'SIGSTOP');
      const old = await oldRedis();
      disposals.push(() => old.server.close());
      const cases: [string, RegExp][] = [
        [`redis://127.0.0.1:${await freePort()}`, /cannot be reached: connect ECONNREFUSED/],
        [guarded.url, /refuses the password in REDIS_URL/],
        [guarded.url.replace('//', '//:wrong@'), /refuses the password in REDIS_URL/],
        [standing.url, /does not answer/],
        [old.url, /Redis 5\.0 is too old: version 6\.2 or newer is needed/],
      ];
      for (const [url, sentence] of cases) {
        const child = spawn(process.execPath, [mainFile, command], {
          env: cleanEnvironment({ REDIS_URL: url, BANDOLIER_MODEL: 'none', BANDOLIER_PORT: '0' }),
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        let output = '';
        for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
        const [code] = await once(child, 'close');
        expect([code, output]).toEqual([1, expect.stringMatching(sentence)]);
        expect(output.trim().split('\n')).toHaveLength(1);
        expect(output).not.toContain('wrong');
      }
      process.kill(standing.pid, 'SIGCONT');
    },
  );
});

function forgetting(key: string): Entry {
  return { kind: 'forget', key: `forget/${key}`, at: 1, unit: 1 };
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill(signal);
  await closed;
}

/** Answers what an old Redis answers to whoever asks for its version. */
async function oldRedis(): Promise<{ url: string; server: Server }> {
  const info = 'redis_version:5.0.14\r\nredis_mode:standalone\r\nloading:0\r\n';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const [, name] of chunk.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        const isInfo = name.toLowerCase() === 'info';
        socket.write(isInfo ? `$${info.length}\r\n${info}\r\n` : `-ERR unknown command \`${name}\`\r\n`);
      }
    });
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { url: `redis://127.0.0.1:${port}`, server };
}
