import { expect } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import type { Decision } from '../../src/decisions/decision.ts';
import { QueuedSettlements } from '../../src/decisions/settlements.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { AcceptedRewards } from '../../src/rewards/accepted-rewards.ts';
import { DueSettlements } from '../../src/rewards/due-settlements.ts';
import { JoinedRewards, wholeDecision } from '../../src/rewards/joined-rewards.ts';
import { RefusedReports } from '../../src/rewards/refused-reports.ts';
import { RewardIntake } from '../../src/rewards/reward-intake.ts';
import { Rewards } from '../../src/rewards/rewards.ts';
import { Tasks } from '../../src/rewards/tasks.ts';
import type { RoutingParts } from '../../src/routing/route-query.ts';
import { Routing } from '../../src/routing/routing.ts';
import { CatalogState } from '../../src/state/catalog-state.ts';
import { Replica } from '../../src/state/replica.ts';
import type { Stores } from '../../src/stores/stores.ts';
import { startRewardWorker } from '../../workers/reward-worker.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { sampleDecision } from '../decisions/arbitrary-decision.ts';
import { axis } from '../state/entries.ts';

export const WINDOW_MS = 600_000;
export const MOST_PENDING = 1_000;
const onError = () => {};

/** A decision of catalog `default` that showed `t0` … `t4`. */
export function shown(id: string, at: number, more: Partial<Decision> = {}): Decision {
  const sample = sampleDecision(id, at, 6);
  return {
    ...sample,
    deadline: at + WINDOW_MS,
    activatedAt: at,
    candidates: sample.candidates.map((_, i) => `t${i}`),
    query: { ...sample.query, embedding: axis('1') },
    ...more,
  };
}

/** All that a reward passes in one process: intake, queue, worker, ledger and fold, over real stores. */
export async function processOver(stores: Stores, dataDir = '') {
  const { clock, decisionLogs, queue } = stores;
  const ledger = await stores.ledgers.open('default');
  const accepted = stores.mode === 'redis' ? new AcceptedRewards(queue) : null;
  const state = new CatalogState('default', { kernels: createTypescriptKernels(), derived: true });
  const replica = new Replica(state, ledger, {
    now: () => performance.now(),
    reload: async () => Promise.reject(new Error('nothing is trimmed here')),
    onFold: ({ entry }) => accepted?.folded(entry.key),
  });
  await replica.catchUp();
  replica.follow((error) => {
    throw error;
  });
  const closing = new AbortController();
  const catalog = {
    ...{ name: 'default', ledger, replica, closed: closing.signal, now: clock.now },
    get state() {
      return replica.state;
    },
  } as unknown as Catalog;
  const known = (name: string) => (name === 'default' ? catalog : undefined);
  const catalogs = {
    serves: () => true,
    find: known,
    getIfAny: known,
    get: () => catalog,
    names: () => ['default'],
    all: () => [catalog],
    holding: (_: string, work: (one: Catalog) => unknown) => work(catalog),
  } as unknown as Catalogs;
  const parts = { decisionLogs, now: clock.now } as unknown as RoutingParts;
  const { takeAwaitingDefault } = stores;
  const due =
    takeAwaitingDefault === undefined
      ? null
      : new DueSettlements({ catalogs, decisionLogs, takeAwaitingDefault, now: clock.now, onError });
  await due?.restore(catalog);
  const settlements = due ?? new QueuedSettlements(queue);
  const routing = new Routing(catalogs, parts, settlements, () => {});
  const refused = new RefusedReports(catalogs);
  const joined = new JoinedRewards(decisionLogs, settlements, MOST_PENDING);
  const tasks = new Tasks({ catalogs, decisionLogs, sink: accepted ?? joined, now: clock.now });
  const noteUses = async () => new Map<string, string>();
  const intake =
    accepted === null
      ? new RewardIntake(catalogs, stores, {
          find: async (id) => wholeDecision(await routing.find(id)),
          sink: joined,
          noteUses,
          refused,
        })
      : new RewardIntake(catalogs, stores, {
          find: (id) => routing.findHead(id),
          sink: accepted,
          refused,
          noteUses,
        });
  const rewards = new Rewards(catalogs, intake, tasks, { queue, decisionLogs, refused, now: clock.now });
  const decisions = await decisionLogs.open('default');
  startRewardWorker({ queue, storesOf: async () => ({ ledger, decisions }), now: clock.now });

  async function close(): Promise<void> {
    await refused.close();
    await queue.close(2_000);
    await settlements.close();
    accepted?.close();
    closing.abort();
    await replica.close();
    await ledger.close();
    await stores.close();
  }
  return {
    ...{ rewards, tasks, refused, queue, catalog, decisions, settlements, now: clock.now, close },
    dataDir,
    append: (...entries: Entry[]) => ledger.append(entries),
    /** Resolves when everything that was accepted has been folded. */
    folded: async () => {
      await expect.poll(() => queue.pending(), { timeout: 10_000 }).toBe(0);
      await replica.caughtUp();
    },
    statistics: (tool: string) => catalog.state.tools.find(tool)?.statistics,
  };
}

export type Process = Awaited<ReturnType<typeof processOver>>;
