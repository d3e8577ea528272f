import { expect, it } from 'vitest';
import { Catalogs } from '../../src/catalog/catalogs.ts';
import { Routing } from '../../src/routing/routing.ts';
import { ReplicaFailedError } from '../../src/state/replica.ts';
import { sampleDecision } from '../decisions/arbitrary-decision.ts';
import { START } from '../state/entries.ts';
import { create, move } from '../state/experiment-entries.ts';
import { RoutedCatalog } from './routed-catalog.ts';

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
