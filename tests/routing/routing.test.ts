import { describe, expect, it } from 'vitest';
import { Catalogs } from '../../src/catalog/catalogs.ts';
import { decisionIdFor } from '../../src/decisions/decision-id.ts';
import type { DecisionLogs } from '../../src/decisions/decision-log.ts';
import { LedgerRemovedError } from '../../src/ledger/ledger.ts';
import { rewardIdFor } from '../../src/rewards/reward-report.ts';
import { Rewards } from '../../src/rewards/rewards.ts';
import { Routing } from '../../src/routing/routing.ts';
import { ReplicaFailedError } from '../../src/state/replica.ts';
import { sampleDecision } from '../decisions/arbitrary-decision.ts';
import { START } from '../state/entries.ts';
import { create, move } from '../state/experiment-entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

const DAY = 24 * 60 * 60 * 1000;
const ASSIGNMENT = { experiment: 'trial', variant: 'new', allocation: 1, unit: '0123456789abcdef' };

/** With an experiment that no request in here belongs to: none names a session. */
function withExperiment(): RoutedCatalog {
  const catalog = new RoutedCatalog();
  catalog.story.tell(create());
  move(catalog.story, { action: 'start' });
  return catalog;
}

it('a decision that is activated many times at once is exposed once', async () => {
  const { routing, decisionLogs, counted } = withExperiment();
  const log = await decisionLogs.open('default');
  await log.append({ ...sampleDecision('default.a', START, 6), assignments: [ASSIGNMENT] });
  await Promise.all(Array.from({ length: 5 }, () => routing.activate('default.a')));
  await routing.activate('default.a');
  expect(counted.exposed).toBe(1);
});

it('requests with one Idempotency-Key in one moment make one decision, which counts once', async () => {
  const catalog = withExperiment();
  const asked = Array.from({ length: 5 }, () => catalog.ask({ explore: true }, { idempotencyKey: 'one' }));
  const [first, ...others] = await Promise.all(asked);
  for (const other of others) expect(other).toEqual(first);
  expect(catalog.counted).toEqual({ exposed: 0, ranked: 1, leftOut: 1 });
});

it('different requests with one Idempotency-Key in one moment: one is answered, the others are refused', async () => {
  const catalog = new RoutedCatalog();
  const asked = [1, 2, 3].map((k) => catalog.ask({ k }, { idempotencyKey: 'one' }));
  const settled = await Promise.allSettled(asked);
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const one of settled) {
    if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'idempotency-conflict' });
  }
});

it('a request whose Idempotency-Key stands for a decision that was shown later is answered with the deadline of then', async () => {
  const catalog = new RoutedCatalog();
  const ask = () => catalog.ask({ activate: 'later' }, { idempotencyKey: 'one' });
  const { decisionId, rewardDeadline } = await ask();
  const log = await catalog.decisionLogs.open('default');
  await log.activate(decisionId, START + 5_000);
  const again = await ask();
  expect(again.decisionId).toBe(decisionId);
  expect(Date.parse(again.rewardDeadline)).toBe(Date.parse(rewardDeadline) + 5_000);
});

it('a catalog whose replica failed between two entries goes on being routed in; in the middle of one it is refused', async () => {
  const routed = new RoutedCatalog();
  const replica = { failure: new ReplicaFailedError('It stopped following its ledger.'), isConsistent: true };
  const open = Object.assign(routed.catalog, { replica, close: async () => undefined });
  const closed = { erase: async () => undefined, release: () => undefined };
  const catalogs = await Catalogs.start(async () => open as never, closed as never, ['default']);
  const routing = new Routing(catalogs, routed.parts, {} as never, () => {});
  const request = { ...routed.request, k: 1 };
  expect((await routing.route(request)).tools).toHaveLength(1);
  replica.isConsistent = false;
  await expect(routing.route(request)).rejects.toBe(replica.failure);
});

describe('a decision of a catalog that is not open here', () => {
  const made = (at: number) => decisionIdFor('shop', at);
  const unavailable = { code: 'unavailable' };
  const notFound = { code: 'decision-not-found' };

  /** A process with `default` alone. @param isShared whether other processes write decisions too */
  async function without(isShared: boolean, fault: Error) {
    const { parts, catalog } = new RoutedCatalog();
    const open = Object.assign(catalog, { replica: { failure: null }, close: async () => undefined });
    const openCatalog = async (name: string) => (name === 'default' ? open : Promise.reject(fault));
    const closed = { erase: async () => undefined, release: async () => undefined };
    const catalogs = await Catalogs.start(openCatalog as never, closed, []);
    const decisionLogs = { isShared } as unknown as DecisionLogs;
    const routing = new Routing(catalogs, { ...parts, decisionLogs }, {} as never, () => {});
    return { catalogs, routing };
  }

  it('is unavailable with its catalog, where that could not be opened', async () => {
    const { catalogs, routing } = await without(false, new Error('byte 7'));
    await catalogs.acquire('shop').catch(() => {});
    const id = made(START - DAY);
    const asked = [routing.findHead(id), routing.explain(id), routing.activate(id)];
    for (const one of asked) await expect(one).rejects.toMatchObject(unavailable);
    const rewards = new Rewards(catalogs, {} as never, {} as never, {} as never);
    await expect(rewards.status(rewardIdFor(id))).rejects.toMatchObject(unavailable);
  });

  it('may be one of a catalog that another router has just created, if it is young', async () => {
    const { routing } = await without(true, new LedgerRemovedError('shop'));
    await expect(routing.findHead(made(START - 400))).rejects.toMatchObject(unavailable);
    await expect(routing.findHead(made(START - DAY))).rejects.toMatchObject(notFound);
    await expect(routing.findHead('shop.a')).rejects.toMatchObject(notFound);
  });

  it('is unknown where no other process makes decisions', async () => {
    const { routing } = await without(false, new LedgerRemovedError('shop'));
    await expect(routing.findHead(made(START - 400))).rejects.toMatchObject(notFound);
  });
});
