import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogKey } from '../../src/redis/keys.ts';
import { RedisConnections } from '../../src/redis/redis-connection.ts';
import { RedisSnapshotStores } from '../../src/snapshots/redis-snapshot-store.ts';
import type { RewardOutcome } from '../../src/state/fold-result.ts';
import { decodeSnapshot, type StateDigest, stateDigest } from '../../src/state/snapshot-codec.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
import { type RunningService, until } from '../e2e/running-service.ts';
import { SHOP_TOOLS, Shop } from '../e2e/shop.ts';
import { Deployment, type RunningWorker } from '../redis/deployment.ts';
import { LedgerArchive } from '../redis/ledger-archive.ts';
import { type RedisServer, redisProgram, startRedis } from '../redis/redis-server.ts';
import { RewardLoad } from './reward-load.ts';

const CATALOG = 'shop';
const REWARDS = 10_000;
const PHASES = 6;
const QUOTA = Math.ceil(REWARDS / PHASES);
/** Longer than the lock of a job. */
/** A lease ends after 15 s, is held for a moment only, and needs something to make a snapshot of. */
const PATIENCE_MS = 120_000;
const FREEZE_MS = 12_000;

describe.skipIf(redisProgram.path === null)(
  `10,000 rewards while everything breaks${redisProgram.missing ?? ''}`,
  () => {
    let redis: RedisServer;
    let admin: RedisConnections;
    let archive: LedgerArchive;
    let deployment: Deployment;
    let load: RewardLoad;
    let connectionsAtRest = 0;

    const leaseHolder = async (): Promise<number | null> => {
      const holder = await admin.commands.get(catalogKey(CATALOG, 'lease')).catch(() => null);
      return holder === null ? null : Number.parseInt(holder, 10);
    };
    /** Makes a worker stand still in the middle of a snapshot. */
    const standStill = async (): Promise<RunningWorker> => {
      let found: RunningWorker | undefined;
      await until(async () => {
        const pid = await leaseHolder();
        const worker = deployment.workers.find(({ process }) => process.pid === pid);
        worker?.process.kill('SIGSTOP');
        if (worker !== undefined && (await leaseHolder()) === pid) found = worker;
        else worker?.process.kill('SIGCONT');
        return found !== undefined;
      }, PATIENCE_MS);
      return found!;
    };
    const router = (): RunningService => deployment.routers.find(({ isAlive }) => isAlive)!;

    const events: Record<string, () => Promise<void>> = {
      'a worker is killed': async () => {
        await until(() => load.sent > 200);
        await deployment.workers[load.draw(2)].end('SIGKILL');
        await deployment.startWorker();
      },
      'a router is killed': async () => {
        await deployment.routers[load.draw(2)].kill();
        await deployment.startRouter();
      },
      'a worker is killed in the middle of a snapshot': async () => {
        const worker = await standStill();
        await worker.end('SIGKILL');
        await deployment.startWorker();
      },
      'Redis is killed': async () => {
        await redis.stop('SIGKILL');
        expect((await router().request('GET', '/readyz')).status).toBe(503);
        await redis.start();
      },
      'the holder of the lease stands still until another one has it': async () => {
        const worker = await standStill();
        await until(async () => ![null, worker.process.pid].includes(await leaseHolder()), PATIENCE_MS);
        // If it was in the middle of a snapshot, the fence refuses it now; the bits are compared at the end.
        worker.process.kill('SIGCONT');
      },
      'Redis stands still for longer than the lock of a job': async () => {
        const end = performance.now() + FREEZE_MS;
        process.kill(redis.pid, 'SIGSTOP');
        const answer = await router().request('POST', '/v1/route', {
          catalog: CATALOG,
          query: 'still there?',
        });
        expect(answer.status).toBe(200);
        await until(() => performance.now() > end);
        process.kill(redis.pid, 'SIGCONT');
      },
    };

    beforeAll(async () => {
      redis = await startRedis(['--appendonly', 'yes']);
      admin = await RedisConnections.open(redis.url);
      connectionsAtRest = await connections(admin);
      archive = await LedgerArchive.of(CATALOG, admin);
      deployment = new Deployment(redis.url);
      await Promise.all([deployment.startRouter(), deployment.startRouter()]);
      await Promise.all([deployment.startWorker(), deployment.startWorker()]);
      load = new RewardLoad(CATALOG, () => deployment.routers);
      await load.prepare(400);
    }, 300_000);
    afterAll(async () => {
      await archive.close();
      await deployment.dispose();
      admin.close();
      await redis.dispose();
    });

    for (const [name, event] of Object.entries(events)) {
      it(`goes on while ${name}`, () => load.during(QUOTA, event), 300_000);
    }

    it('has applied every accepted reward exactly once', async () => {
      expect(load.sent).toBeGreaterThanOrEqual(REWARDS);
      expect(Object.keys(load.statuses).sort()).toEqual([
        'decision-not-found',
        'duplicate',
        'late',
        'queued',
      ]);
      const shop = new Shop(router(), CATALOG);
      await shop.settled();
      const statuses = new Map<string, string>();
      for (const decisionId of load.slates.keys()) {
        for (const { rewardId, status } of (await shop.explain(decisionId)).rewards)
          statuses.set(rewardId, status);
      }
      expect([...statuses.keys()].sort()).toEqual([...load.accepted.keys()].sort());
      expect(new Set(statuses.values())).toEqual(new Set(['applied']));
      for (const rewardId of [...load.late.keys()].slice(0, 50)) {
        const { status } = await router().ask<RewardOutcome>('GET', `/v1/rewards/${rewardId}`);
        expect(status).toBe('late');
      }
      const { dead } = await router().ask<{ dead: unknown[] }>('GET', '/v1/rewards/dead');
      expect(dead).toEqual([]);
    }, 300_000);

    it('has counted every reward once', async () => {
      const shop = new Shop(router(), CATALOG);
      const reports = [...load.accepted.values()];
      for (const { name } of SHOP_TOOLS) {
        const own = reports.filter(({ tool }) => tool === name);
        expect(await shop.stats(name)).toMatchObject({
          called: own.length,
          successes: own.filter(({ value }) => value > 0).length,
          failures: own.filter(({ value }) => value <= 0).length,
          rewardSum: own.reduce((sum, { value }) => sum + value, 0),
        });
      }
    });

    it('knows the same bit for bit in every process, old and new, in the snapshots, and in a clean fold', async () => {
      await deployment.startRouter();
      const digests: StateDigest[] = [];
      for (const one of deployment.routers.filter(({ isAlive }) => isAlive)) {
        digests.push(await one.ask<StateDigest>('GET', `/v1/catalogs/${CATALOG}/digest`));
      }
      const kernels = await loadKernels();
      const store = await new RedisSnapshotStores(admin).open(CATALOG);
      const stored = await Promise.all((await store.list()).map((position) => store.get(position)));
      expect(stored.length).toBeGreaterThan(0);
      for (const snapshot of stored) {
        const state = decodeSnapshot(snapshot!.bytes, CATALOG, { kernels, derived: false });
        digests.push(stateDigest(state));
        state.free();
      }
      const clean = archive.digests(
        digests.map(({ position }) => position),
        kernels,
      );
      for (const digest of digests) expect(clean.get(digest.position)).toEqual(digest);
      expect(archive.entries.map(({ position }) => position)).toEqual(archive.entries.map((_, at) => at + 1));
    }, 120_000);

    it('ends in good order and leaves no connection behind', async () => {
      const routers = deployment.routers.filter(({ isAlive }) => isAlive);
      const workers = deployment.workers.filter(({ isAlive }) => isAlive);
      expect([routers.length, workers.length]).toEqual([3, 2]);
      expect(await Promise.all(routers.map((one) => one.stop('SIGTERM')))).toEqual([0, 0, 0]);
      expect(await Promise.all(workers.map((one) => one.end()))).toEqual([0, 0]);
      await archive.close();
      await until(async () => (await connections(admin)) === connectionsAtRest);
    });
  },
);

async function connections({ commands }: RedisConnections): Promise<number> {
  return String(await commands.call('CLIENT', 'LIST'))
    .trim()
    .split('\n').length;
}
