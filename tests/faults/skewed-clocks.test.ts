import { spawnSync } from 'node:child_process';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { RedisLedgers } from '../../src/ledger/redis-ledgers.ts';
import {
  cleanEnvironment,
  mainFile,
  RunningService,
  temporaryFolder,
  until,
} from '../e2e/running-service.ts';
import { Shop } from '../e2e/shop.ts';
import { startDeployment } from '../redis/deployment.ts';
import { redisProgram } from '../redis/redis-server.ts';

const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;
const SKEWS = { '3 h ahead': 3 * HOUR, '10 years ahead': 10 * YEAR, '3 h behind': -3 * HOUR };

/** For a process whose machine has a wrong clock. */
function shifted(ms: number): Record<string, string> {
  const preload = new URL('./shifted-clock.mjs', import.meta.url).href;
  return { NODE_OPTIONS: `--import=${preload}`, CLOCK_SHIFT_MS: String(ms), BANDOLIER_MODEL: 'none' };
}

/** Routes and reports through these services in turn, and says what became of each reward. */
async function rewarded(routed: Shop, reported: Shop, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const { decisionId, tools } = await routed.route(`refund a payment ${i}`);
    ids.push((await reported.report(decisionId, { tool: tools[0].name, outcome: 'success' })).rewardId);
  }
  const statuses: string[] = [];
  for (const id of ids) {
    await until(async () => (await statusOf(reported, id)).status !== 'queued');
    statuses.push((await statusOf(reported, id)).status);
  }
  return statuses;
}

function statusOf({ service }: Shop, rewardId: string): Promise<{ status: string; reason?: string }> {
  return service.ask('GET', `/v1/rewards/${rewardId}`);
}

const disposals: (() => unknown)[] = [];
afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});

describe('a service whose clock was wrong, and is right when it is started again', () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());

  it.each(Object.entries(SKEWS))('loses no reward: %s', async (name, skew) => {
    const data = `${folder.path}/${name.replaceAll(' ', '-')}`;
    const first = await RunningService.start(data, [], shifted(skew));
    disposals.push(() => first.kill());
    const before = await Shop.open(first, 'shop');
    expect(await rewarded(before, before, 3)).toEqual(Array(3).fill('applied'));
    const { decisionId, tools } = await before.route('where is my parcel');
    await first.stop();

    const second = await RunningService.start(data, [], { BANDOLIER_MODEL: 'none' });
    disposals.push(() => second.kill());
    const after = new Shop(second, 'shop');
    expect(await rewarded(after, after, 10)).toEqual(Array(10).fill('applied'));
    if (skew > 0) {
      // Nothing is late because of it: the window goes on where it was.
      const receipt = await after.report(decisionId, { tool: tools[0].name, outcome: 'success' });
      expect(receipt.status).toBe('queued');
      const { checks } = await second.ask<{ checks: { clock: { detail: string } } }>('GET', '/readyz');
      expect(checks.clock.detail).toContain('ahead of the clock of this machine');
      expect(second.output).toContain('ahead of the clock of this machine');
      await second.stop();
      const doctor = spawnSync(process.execPath, [mainFile, 'doctor', '--data-dir', data, '--port', '0'], {
        env: cleanEnvironment({ BANDOLIER_MODEL: 'none' }),
        encoding: 'utf8',
      });
      expect(doctor.stdout).toMatch(/BAD +clock: wrong\n +What is stored is .* ahead of the clock of this/);
    }
  });
});

describe.skipIf(redisProgram.path === null)(
  `processes over Redis with different clocks${redisProgram.missing ?? ''}`,
  () => {
    it.each(Object.entries(SKEWS))('lose no reward: a router and a worker %s', async (_, skew) => {
      const { deployment } = await startDeployment(disposals);
      const wrong = await deployment.startRouter([], shifted(skew));
      const right = await deployment.startRouter();
      await deployment.startWorker();
      await deployment.startWorker(shifted(skew));
      const there = await Shop.open(wrong, 'shop');
      const here = new Shop(right, 'shop');
      await until(async () => (await right.request('GET', '/v1/catalogs/shop')).status === 200);
      await until(async () => (await here.route('money')).tools.length > 0);
      for (const [from, to] of [
        [here, here],
        [there, here],
        [here, there],
      ]) {
        await there.service.ask('PATCH', '/v1/catalogs/shop/tools', { remove: ['send_newsletter'] });
        expect(await rewarded(from, to, 15)).toEqual(Array(15).fill('applied'));
      }
      const direction = skew > 0 ? 'ahead of' : 'behind';
      expect(wrong.output).toContain(`${direction} that of Redis`);
      expect(right.output).not.toContain('that of Redis');
    });

    it('settle a decision at its deadline, not when a worker thinks that it has come', async () => {
      const { deployment, admin } = await startDeployment(disposals);
      const router = await deployment.startRouter();
      await deployment.startWorker(shifted(3 * HOUR));
      const shop = await Shop.open(router, 'shop', { rewards: { windowSeconds: 5, defaultReward: 0 } });
      const { rewardDeadline } = await shop.route('refund a payment');
      const ledger = await new RedisLedgers(admin).open('shop');
      disposals.push(() => ledger.close());
      const settlements = async () =>
        (await ledger.read(0, 100)).filter(({ entry }) => entry.kind === 'settlement');
      await until(async () => (await settlements()).length > 0);
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(rewardDeadline) - 1000);
    });
  },
);
