import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Decision } from '../../src/decisions/decision.ts';
import { observedDecision } from '../../src/decisions/observed-decision.ts';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import type { RewardContract } from '../../src/ledger/catalog-settings.ts';
import { unitKey, unitNumber } from '../../src/ledger/unit.ts';
import { UnrecoverableJobError } from '../../src/queue/job-queue.ts';
import { DueSettlements } from '../../src/rewards/due-settlements.ts';
import { JoinedRewards, wholeDecision } from '../../src/rewards/joined-rewards.ts';
import { REWARDS_JOB } from '../../src/rewards/reward-job.ts';
import type { RewardReport, RewardResult } from '../../src/rewards/reward-report.ts';
import { openEmbeddedStores } from '../../src/stores/embedded-stores.ts';
import { openRedisStores } from '../../src/stores/redis-stores.ts';
import type { Stores } from '../../src/stores/stores.ts';
import { type RedisServer, redisProgram, startRedis } from '../redis/redis-server.ts';
import { Story } from '../state/entries.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { MOST_PENDING, type Process, processOver, shown, WINDOW_MS } from './reward-process.ts';

const onError = () => {};
const root = temporaryFolder();
const disposals: (() => unknown)[] = [];
afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});

const SETTINGS = { keepDecisionsDays: 30, maxPendingRewards: MOST_PENDING };

describe('rewards over files', () => {
  rewardsFromReportToFold(async () => {
    const dataDir = join(root, randomUUID());
    return () => openEmbeddedStores({ ...SETTINGS, dataDir }, { onError });
  });

  const past = (process: Process) => process.now() - WINDOW_MS - 1;
  const settled = (process: Process, id: string) =>
    expect.poll(() => process.catalog.state.decisions.get(id)?.closed, { timeout: 5_000 }).toBe(true);

  async function started(dataDir = join(root, randomUUID())) {
    const stores = await openEmbeddedStores({ ...SETTINGS, dataDir }, { onError });
    const process = await processOver(stores, dataDir);
    disposals.push(() => process.close());
    const restarted = async (): Promise<Process> => {
      await process.close();
      return (await started(dataDir)).process;
    };
    return { process, restarted };
  }

  it('a reward is in the ledger when it is answered, and no job is made of it', async () => {
    const { process } = await started();
    await process.append(...Story.withTools(6).entries);
    await process.decisions.append(shown('default.a', process.now()));
    const before = await process.catalog.ledger.head();
    await process.rewards.report([{ decisionId: 'default.a', tool: 't0', outcome: 'success', more: true }]);
    expect(await process.catalog.ledger.head()).toBe(before + 1);
    expect([await process.queue.pending(), await process.queue.delayed()]).toEqual([0, 0]);
  });

  it('decisions whose deadline passed while no process ran are settled by the next one, each once', async () => {
    const { process, restarted } = await started();
    await process.append(...Story.withTools(6).entries);
    const at = past(process);
    await process.decisions.append(shown('default.silent', at, { defaultReward: 0.5 }));
    await process.decisions.append(shown('default.hidden', at, { defaultReward: 0.5, activatedAt: null }));
    await process.decisions.append(shown('default.plain', at));
    const report = { tool: 't0', outcome: 'success', value: 1, weight: 1, at: at + 1 } as const;
    const open = shown('default.open', at);
    await process.append({
      ...{ kind: 'observation', key: 'o', at: at + 1, decision: observedDecision(open, []), closes: false },
      reports: [{ ...report, rewardId: 'default.open.r' }],
    });
    await process.decisions.append(open);
    await process.folded();
    const next = await restarted();
    await settled(next, 'default.silent');
    await settled(next, 'default.open');
    const head = await next.catalog.ledger.head();
    const shownOften = next.statistics('t1');
    expect(next.catalog.state.decisions.has('default.hidden')).toBe(false);
    expect(next.catalog.state.decisions.has('default.plain')).toBe(false);
    await next.close();
    const { process: third } = await started(next.dataDir);
    await third.folded();
    expect(third.statistics('t1')).toEqual(shownOften);
    expect(await third.catalog.ledger.head()).toBe(head);
  });

  it('a decision that was activated is settled when its own window is over', async () => {
    const { process, restarted } = await started();
    await process.append(...Story.withTools(6).entries);
    const at = past(process) - WINDOW_MS;
    await process.decisions.append(shown('default.later', at, { defaultReward: 0, activatedAt: null }));
    await process.decisions.append(shown('default.young', at, { defaultReward: 0, activatedAt: null }));
    await process.decisions.activate('default.later', at + WINDOW_MS);
    await process.decisions.activate('default.young', process.now());
    const next = await restarted();
    await settled(next, 'default.later');
    expect(next.catalog.state.decisions.has('default.young')).toBe(false);
  });

  it('what cannot be settled because the disk is full is settled when there is room', async () => {
    const { process } = await started();
    await process.append(...Story.withTools(6).entries);
    const decision = shown('default.a', past(process), { defaultReward: 0 });
    await process.decisions.append(decision);
    const append = process.catalog.ledger.append.bind(process.catalog.ledger);
    let refused = 0;
    process.catalog.ledger.append = async (entries) => {
      if (refused++ === 0) throw new StoreUnavailableError('full');
      return append(entries);
    };
    await process.settlements.settle(decision);
    await settled(process, 'default.a');
    expect(refused).toBe(2);
  });

  it('a catalog that cannot be written keeps no other one from being settled, and is reported once', async () => {
    const { process } = await started();
    await process.append(...Story.withTools(6).entries);
    const decision = shown('default.a', past(process), { defaultReward: 0 });
    await process.decisions.append(decision);
    const attempts = { count: 0 };
    const broken = {
      ...process.catalog,
      replica: process.catalog.replica,
      state: process.catalog.state,
      ledger: {
        append: async () => {
          attempts.count++;
          throw new StoreUnavailableError('full');
        },
      },
    } as unknown as Catalog;
    const reported: string[] = [];
    const due = new DueSettlements({
      catalogs: { find: (name) => (name === 'broken' ? broken : process.catalog) },
      decisionLogs: { find: async () => process.decisions },
      takeAwaitingDefault: async () => [],
      now: process.now,
      onError: (message) => reported.push(message),
    });
    disposals.push(() => due.close());
    await due.settle({ ...decision, id: 'default.a', catalog: 'broken' });
    await expect.poll(() => attempts.count, { timeout: 5_000 }).toBe(1);
    await due.settle(decision);
    await settled(process, 'default.a');
    // It is closed now, so that the broken catalog's is as well: nothing is left to be written there.
    expect(reported).toEqual(['decisions of "broken" whose deadline has passed cannot be settled, and wait']);
  });

  it('a decision of an earlier catalog does not close one of the same id before its deadline', async () => {
    const { process } = await started();
    await process.append(...Story.withTools(6).entries);
    const first = shown('default.kept', past(process), { defaultReward: 0.5 });
    const second = shown('default.kept', process.now(), { defaultReward: 0.5 });
    await process.decisions.append(second);
    const head = await process.catalog.ledger.head();
    await process.settlements.settle(first);
    await process.decisions.append(shown('default.b', past(process), { defaultReward: 0 }));
    await process.settlements.settle(shown('default.b', past(process) + 1, { defaultReward: 0 }));
    await settled(process, 'default.b');
    expect(await process.catalog.ledger.head()).toBe(head + 1);
    expect(process.catalog.state.decisions.has('default.kept')).toBe(false);
  });

  it('a restart writes nothing for a decision that was reported without a tool', async () => {
    const { process, restarted } = await started();
    await process.append(...Story.withTools(6).entries);
    const at = past(process);
    const report = { tool: null, outcome: 'success', value: 1, weight: 1, at: at + 1 } as const;
    const thanked = shown('default.thanked', at);
    await process.append({
      ...{ kind: 'observation', key: 'o', at: at + 1, decision: observedDecision(thanked, []), closes: true },
      reports: [{ ...report, rewardId: 'default.thanked.r' }],
    });
    await process.decisions.append(thanked);
    await process.decisions.append(shown('default.silent', at, { defaultReward: 0 }));
    await process.folded();
    const head = await process.catalog.ledger.head();
    const next = await restarted();
    await settled(next, 'default.silent');
    expect(next.catalog.state.decisions.get('default.thanked')?.closed).toBe(false);
    expect(await next.catalog.ledger.head()).toBe(head + 1);
  });

  it('nothing is written, at any start, for decisions that are not learned or whose unit was forgotten', async () => {
    const { process, restarted } = await started();
    await process.append(...Story.withTools(6).entries);
    const at = past(process);
    await process.decisions.append(shown('default.unlearned', at, { defaultReward: 0.5, learn: false }));
    await process.decisions.append(
      shown('default.forgotten', at, { defaultReward: 0.5, unit: unitKey('ann') }),
    );
    await process.append({
      kind: 'forget',
      key: 'forget/7',
      at: process.now(),
      unit: unitNumber(unitKey('ann')),
    });
    await process.decisions.append(shown('default.silent', at, { defaultReward: 0.5, unit: unitKey('bob') }));
    await process.folded();
    const head = await process.catalog.ledger.head();
    const next = await restarted();
    await settled(next, 'default.silent');
    expect(await next.catalog.ledger.head()).toBe(head + 1);
    expect(next.catalog.state.decisions.has('default.unlearned')).toBe(false);
    expect(next.catalog.state.decisions.has('default.forgotten')).toBe(false);
  });

  it('a decision that is overdue before its catalog has been opened waits for it', async () => {
    const { process } = await started();
    await process.append(...Story.withTools(6).entries);
    const { catalog, decisions } = process;
    let looks = 0;
    const due = new DueSettlements({
      catalogs: { find: () => (looks++ === 0 ? undefined : catalog) },
      decisionLogs: { find: async () => decisions },
      takeAwaitingDefault: async () => [],
      now: process.now,
      onError,
    });
    disposals.push(() => due.close());
    const decision = shown('default.early', past(process), { defaultReward: 0.5 });
    await decisions.append(decision);
    await due.settle(decision);
    await settled(process, 'default.early');
    expect(looks).toBeGreaterThan(1);
  });

  it('a decision waits once, until its reports have closed it; nothing is written when too many wait', async () => {
    const { process } = await started();
    await process.append(...Story.withTools(6).entries);
    const { catalog, decisions } = process;
    const due = new DueSettlements({
      catalogs: { find: () => catalog },
      decisionLogs: { find: async () => decisions },
      takeAwaitingDefault: async () => [],
      now: process.now,
      onError,
      mostWaiting: 2,
    });
    disposals.push(() => due.close());
    const at = process.now();
    const [a, b] = [shown('default.a', at), shown('default.b', at)];
    for (const decision of [a, b]) await decisions.append(decision);
    const joined = new JoinedRewards({ find: async () => decisions }, due, MOST_PENDING);
    const report = (decision: Decision, n: number, closes: boolean) => {
      const reports = [
        { rewardId: `${decision.id}.${n}`, tool: 't0', outcome: 'success' as const, value: 1, weight: 1, at },
      ];
      const reported = { decisionId: decision.id, closes, reports };
      return { catalog, decision: wholeDecision(decision), reported };
    };
    for (const n of [1, 2, 3]) await joined.send([report(a, n, false)]);
    due.assertRoom();
    await joined.send([report(b, 1, false)]);
    expect(() => due.assertRoom()).toThrow(StoreUnavailableError);
    const head = await catalog.ledger.head();
    await expect(joined.send([report(a, 4, false)])).rejects.toThrow(StoreUnavailableError);
    expect(await catalog.ledger.head()).toBe(head);
    await joined.send([report(b, 2, true)]);
    await process.folded();
    due.folded('default', 'default.b');
    due.assertRoom();
    due.folded('default', 'default.a');
    await joined.send([report(b, 3, false)]);
    expect(() => due.assertRoom()).toThrow(StoreUnavailableError);
  });

  it('rewards are refused while too many wait to be learned', async () => {
    const { process } = await started();
    await process.append(...Story.withTools(6).entries);
    for (let n = 0; n <= MOST_PENDING; n++)
      await process.decisions.append(shown(`default.${n}`, process.now()));
    const reports = Array.from({ length: MOST_PENDING + 1 }, (_, n) => ({
      ...{ decisionId: `default.${n}`, tool: 't0', outcome: 'success' as const },
    }));
    await process.folded();
    const head = await process.catalog.ledger.head();
    await expect(process.rewards.report(reports)).rejects.toThrow(StoreUnavailableError);
    expect(await process.catalog.ledger.head()).toBe(head);
    expect(await process.rewards.report(reports.slice(1))).toHaveLength(MOST_PENDING);
  });
});

describe.skipIf(redisProgram.path === null)(`rewards over Redis${redisProgram.missing ?? ''}`, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.dispose());

  let database = 0;
  rewardsFromReportToFold(async () => {
    const url = `${server.url}/${database++}`;
    return () => openRedisStores(url, SETTINGS, { onError });
  });
});

function rewardsFromReportToFold(newStores: () => Promise<() => Promise<Stores>>) {
  /** A catalog with six tools, and how another process opens it after this one was closed. */
  async function start(contract: Partial<RewardContract> = {}) {
    const open = await newStores();
    let running = await processOver(await open());
    disposals.push(() => running.close());
    await running.append(...Story.withTools(6).entries, {
      ...{ kind: 'settings', key: 'contract', at: running.now() },
      patch: { rewards: contract },
    });
    await running.folded();
    const restart = async (): Promise<Process> => {
      await running.close();
      running = await processOver(await open());
      return running;
    };
    return { process: running, restart };
  }

  async function statusesOf(process: Process, results: readonly RewardResult[]) {
    await process.folded();
    return Promise.all(
      results.map(async (result) =>
        'problem' in result ? result.problem.code : (await process.rewards.status(result.rewardId)).status,
      ),
    );
  }

  const success = (decisionId: string, more: Partial<RewardReport> = {}): RewardReport => ({
    ...{ decisionId, tool: 't0', outcome: 'success' },
    ...more,
  });

  it('counts two reports with one key in one moment once, whatever the second says', async () => {
    const { process } = await start();
    await process.decisions.append(shown('default.a', process.now()));
    const key = { idempotencyKey: 'k', more: true };
    const [[one], [two]] = await Promise.all([
      process.rewards.report([success('default.a', key)]),
      process.rewards.report([success('default.a', { ...key, outcome: 'failure' })]),
    ]);
    expect(one).toHaveProperty('rewardId', (two as { rewardId: string }).rewardId);
    expect(await statusesOf(process, [one])).toEqual(['applied']);
    expect(process.statistics('t0')).toMatchObject({ called: 1 });
    const [again] = await process.rewards.report([success('default.a', key)]);
    expect(again).toHaveProperty('status', 'duplicate');
  });

  it('takes what is right in a batch, and says of the rest what is wrong', async () => {
    const { process } = await start();
    const at = process.now();
    await process.decisions.append(shown('default.a', at));
    await process.decisions.append(shown('default.b', at));
    await process.decisions.append(shown('default.hidden', at, { activatedAt: null }));
    const results = await process.rewards.report([
      success('default.a'),
      success('default.none'),
      success('default.b', { occurredAt: new Date(at + 3_600_000).toISOString() }),
      success('default.hidden'),
      success('default.b', { tool: 't1', idempotencyKey: 'k' }),
      success('default.b', { tool: 't1', idempotencyKey: 'k' }),
      success('default.b', { tool: 'unheard-of' }),
    ]);
    expect(await statusesOf(process, results)).toEqual([
      'applied',
      'decision-not-found',
      'validation-failed',
      'decision-not-activated',
      'applied',
      'applied', // the same reward as the one before
      'rejected',
    ]);
    expect(results[5]).toHaveProperty('status', 'duplicate');
    expect(process.statistics('t1')).toMatchObject({ called: 1, successes: 1 });
  });

  it('finds no decision and no reward of a catalog that is not there, and none that was made up', async () => {
    const { process } = await start();
    await process.decisions.append(shown('default.a', process.now()));
    const [foreign] = await process.rewards.report([success('elsewhere.a')]);
    expect(foreign).toMatchObject({ problem: { code: 'decision-not-found' } });
    const [made] = await process.rewards.report([success('default.a')]);
    const { rewardId } = made as { rewardId: string };
    const others = [rewardId.replace('default', 'elsewhere'), `${rewardId.slice(0, -1)}-`, 'default.a', 'x'];
    for (const id of others) {
      await expect(process.rewards.status(id)).rejects.toMatchObject({ code: 'reward-not-found' });
    }
  });

  it.each([
    ['log', { status: 'late' }, 'late', 0],
    ['learn', { status: 'queued' }, 'applied', 1],
    ['reject', { problem: { code: 'reward-late' } }, 'reward-late', 0],
  ] as const)('judges a late report by onLate: %s', async (onLate, answer, status, called) => {
    const { process } = await start({ onLate });
    await process.decisions.append(shown('default.a', process.now() - 2 * WINDOW_MS));
    const results = await process.rewards.report([success('default.a')]);
    expect(results).toMatchObject([answer]);
    expect(await statusesOf(process, results)).toEqual([status]);
    expect(process.statistics('t0')).toMatchObject({ called });
  });

  it('corrects a reward with a later one of the same tool', async () => {
    const { process } = await start({ aggregation: 'last' });
    for (const id of ['default.corrected', 'default.right']) {
      await process.decisions.append(shown(id, process.now()));
    }
    const learned = async (id: string, outcomes: readonly ('success' | 'failure')[]) => {
      for (const outcome of outcomes) {
        await process.rewards.report([success(id, { outcome, more: true })]);
        await process.folded();
      }
      const record = process.catalog.state.decisions.get(id);
      return record?.tools.get('t0');
    };
    const corrected = await learned('default.corrected', ['success', 'failure']);
    const right = await learned('default.right', ['failure']);
    expect(corrected?.taught).toBeDefined();
    expect(corrected?.taught).toEqual(right?.taught);
    expect(process.statistics('t0')).toMatchObject({ called: 3, successes: 1, failures: 2 });
  });

  it('counts a refused report once when it is written down twice at a time', async () => {
    const { process } = await start();
    await process.rewards.report([success('default.none')]);
    await Promise.all([process.refused.flush(), process.refused.flush()]);
    await process.refused.flush();
    expect((await process.rewards.health('default')).reports.unknownDecision).toBe(1);
  });

  it('lists and tries again what was given up of rewards, and leaves other jobs alone', async () => {
    const { process } = await start();
    const { queue, rewards } = process;
    const giveUp = async () => Promise.reject(new UnrecoverableJobError('of no use'));
    queue.process('other', giveUp, { concurrency: 1 });
    await queue.add([{ name: 'other', id: 'another', payload: null }]);
    await queue.add([
      { name: REWARDS_JOB, id: 'unreadable', payload: { catalog: 'default', decisions: 'none' } },
    ]);
    await expect.poll(() => queue.buried(), { timeout: 10_000 }).toBe(2);
    expect(await rewards.dead(10)).toMatchObject([{ id: 'unreadable', kind: 'rewards', attempts: 1 }]);
    expect(await rewards.redrive(['another'])).toBe(0);
    expect(await rewards.redrive()).toBe(1);
    await expect.poll(async () => (await rewards.dead(10)).length, { timeout: 10_000 }).toBe(1);
  });

  it('has the same health after a restart', async () => {
    const { process, restart } = await start();
    for (const id of ['a', 'b', 'c']) await process.decisions.append(shown(`default.${id}`, process.now()));
    await process.rewards.report([
      success('default.a'),
      success('default.b', { outcome: 'failure' }),
      success('default.none'),
      success('default.c', { tool: 'unheard-of' }),
    ]);
    await process.folded();
    const health = await process.rewards.health('default');
    expect(health).toMatchObject({
      decisions: { routed: 3, rewarded: 3 },
      reports: { applied: 2, rejected: 1, unknownDecision: 1 },
      outcomes: { success: 2, failure: 1 },
      pending: 0,
    });
    const restarted = await restart();
    expect(await restarted.rewards.health('default')).toEqual(health);
  });
}
