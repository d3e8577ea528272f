import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RewardOutcome } from '../../src/state/fold-result.ts';
import { UNFINISHED } from '../../src/storage/durable-file.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
import { RunningService, temporaryFolder, until } from '../e2e/running-service.ts';
import { SHOP_TOOLS, Shop } from '../e2e/shop.ts';
import { StoredCatalog } from './replay.ts';
import { ShopLoad } from './shop-load.ts';

const KILLS = 20;
/** Every so often a process is killed as soon as it has begun to write a snapshot. */
const SNAPSHOT_EVERY = 5;
const AGENTS = 6;

const folder = temporaryFolder();
const load = new ShopLoad();
let service: RunningService;
let shop: Shop;

/** Finished ones and those that are being written. */
function snapshotFiles(): string[] {
  const path = join(folder.path, 'catalogs/default/snapshots');
  return existsSync(path) ? readdirSync(path) : [];
}

function finishedSnapshots(): number {
  return snapshotFiles().filter((file) => !file.endsWith(UNFINISHED)).length;
}

beforeAll(async () => {
  // How many of them a process finishes before it is killed is chance; to compare, there have to be two.
  for (let life = 0; life < KILLS || finishedSnapshots() < 2; life++) {
    service = await RunningService.start(folder.path);
    if (life === 0) await Shop.open(service, 'default');
    const killAt = load.answers + 10 + load.draw(250);
    const known = new Set(snapshotFiles());
    let isTime = (): boolean => load.answers >= killAt;
    if (life >= KILLS) isTime = () => finishedSnapshots() > 1;
    else if (life % SNAPSHOT_EVERY === SNAPSHOT_EVERY - 1)
      isTime = () => snapshotFiles().some((file) => !known.has(file));
    const running = load.run(service, AGENTS);
    await Promise.race([running, until(isTime)]);
    await service.kill();
    await running;
    expect(service.output).not.toMatch(/"level":[56]0/);
  }
  service = await RunningService.start(folder.path);
  shop = new Shop(service, 'default');
  await load.sendAgain(service);
  await shop.settled();
}, 900_000);
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

describe(`a process that was killed ${KILLS} times under load`, () => {
  it('has every decision, and every accepted reward exactly once', async () => {
    expect(load.accepted.size).toBeGreaterThan(1000);
    const statuses = new Map<string, string>();
    for (const decisionId of load.decisions.keys()) {
      const { rewards } = await shop.explain(decisionId);
      for (const { rewardId, status } of rewards) statuses.set(rewardId, status);
    }
    expect([...statuses.keys()].sort()).toEqual([...load.accepted.keys()].sort());
    expect(new Set(statuses.values())).toEqual(new Set(['applied']));
    for (const rewardId of [...load.accepted.keys()].slice(0, 50)) {
      expect(await service.ask<RewardOutcome>('GET', `/v1/rewards/${rewardId}`)).toMatchObject({
        status: 'applied',
      });
    }
  });

  it('has counted every reward once', async () => {
    const reports = [...load.accepted.values()];
    const reported = new Set(reports.map(({ decisionId }) => decisionId));
    for (const { name } of SHOP_TOOLS) {
      const own = reports.filter(({ tool }) => tool === name);
      const slates = [...load.decisions].filter(([id, slate]) => reported.has(id) && slate.includes(name));
      expect(await shop.stats(name)).toEqual({
        name,
        shown: slates.length,
        called: own.length,
        successes: own.filter(({ value }) => value > 0).length,
        failures: own.filter(({ value }) => value <= 0).length,
        rewardSum: own.reduce((sum, { value }) => sum + value, 0),
        unlearned: 0,
        timeouts: 0,
      });
    }
  });

  it('has the tools that were answered for', async () => {
    const { tools } = await service.ask<{ tools: { name: string }[] }>('GET', '/v1/catalogs/default/tools');
    const present = new Set(tools.map(({ name }) => name));
    for (const [name, isThere] of load.putTools) expect([name, present.has(name)]).toEqual([name, isThere]);
    for (const { name } of SHOP_TOOLS) expect(present).toContain(name);
  });

  it('knows bit for bit what a clean replay of its ledger knows, with and without its snapshots', async () => {
    expect(await service.stop()).toBe(0);
    const stored = new StoredCatalog(folder.path, await loadKernels());
    const snapshots = await stored.snapshots();
    expect(snapshots.length).toBeGreaterThan(1);
    const { end, at } = await stored.replay(snapshots.map(({ position }) => position));
    for (const { position, bytes } of snapshots) {
      expect(Buffer.compare(bytes, at.get(position)!)).toBe(0);
      expect(Buffer.compare(await stored.replayFrom(bytes), end)).toBe(0);
    }
  });
});
