import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Decision } from '../../src/decisions/decision.ts';
import { TASK_DECISIONS } from '../../src/decisions/decision-log.ts';
import { Problem } from '../../src/errors/problem.ts';
import { taskKey } from '../../src/ledger/unit.ts';
import type { RewardReport, RewardResult } from '../../src/rewards/reward-report.ts';
import { resultOfTask } from '../../src/rewards/tasks.ts';
import { openEmbeddedStores } from '../../src/stores/embedded-stores.ts';
import { openRedisStores } from '../../src/stores/redis-stores.ts';
import type { Stores } from '../../src/stores/stores.ts';
import { type RedisServer, redisProgram, startRedis } from '../redis/redis-server.ts';
import { Story } from '../state/entries.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { type Process, processOver, shown, WINDOW_MS } from './reward-process.ts';

const onError = () => {};
const SETTINGS = { keepDecisionsDays: 30, maxPendingRewards: 1_000 };
const root = temporaryFolder();
const disposals: (() => unknown)[] = [];
afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});

/** A decision of task `job` whose slate has these of the tools `t0` … `t5`. */
function step(id: string, at: number, slate: readonly number[], more: Partial<Decision> = {}): Decision {
  return shown(`default.${id}`, at, { slate, task: taskKey({ task: 'job' }), ...more });
}

const ids = (results: readonly RewardResult[]) =>
  results.map((result) => ('problem' in result ? result.problem.code : [result.status, result.decisions]));

function tasksFromRouteToFold(connect: () => Promise<() => Promise<Stores>>): void {
  let open: () => Promise<Stores>;

  async function started(...decisions: ((at: number) => Decision)[]): Promise<Process> {
    open = await connect();
    const process = await again();
    await process.append(...Story.withTools(6).entries);
    for (const made of decisions) await process.decisions.append(made(process.now()));
    await process.folded();
    return process;
  }

  async function again(): Promise<Process> {
    const process = await processOver(await open());
    disposals.push(() => process.close());
    return process;
  }

  const record = (process: Process, id: string) => process.catalog.state.decisions.get(`default.${id}`);
  const closed = (process: Process, ...all: string[]) =>
    expect
      .poll(() => all.map((id) => record(process, id)?.closed), { timeout: 10_000 })
      .toEqual(all.map(() => true));
  const report = (process: Process, more: Partial<RewardReport> = {}) =>
    process.rewards.report([{ task: 'job', tool: 't1', outcome: 'success', ...more } as RewardReport]);

  it('one report counts for every decision of the task that showed the tool, and for no other', async () => {
    const process = await started(
      (at) => step('a', at, [0, 1]),
      (at) => step('b', at, [2, 3]),
      (at) => step('c', at, [1, 4]),
      (at) => step('other', at, [1], { task: taskKey({ task: 'another' }) }),
    );
    const results = await report(process);
    expect(ids(results)).toEqual([['queued', 2]]);
    await process.folded();
    expect(record(process, 'a')?.tools.get('t1')?.taught).toBe(1);
    expect(record(process, 'c')?.tools.get('t1')?.taught).toBe(1);
    expect(record(process, 'b')).toBeUndefined();
    expect(record(process, 'other')).toBeUndefined();
    expect('rewardId' in results[0] && (await process.rewards.status(results[0].rewardId)).status).toBe(
      'applied',
    );
  });

  it('tools count as not used when the task ends, unless they were called from another slate of it', async () => {
    const process = await started(
      (at) => step('a', at, [0, 1]),
      (at) => step('b', at, [1, 2]),
      (at) => step('c', at, [3, 4]),
    );
    await process.rewards.report([{ decisionId: 'default.b', tool: 't1', outcome: 'success' }]);
    await process.rewards.report([{ decisionId: 'default.b', tool: 't2', outcome: 'failure' }]);
    await process.folded();
    expect(record(process, 'b')?.closed).toBe(false);
    expect(await process.tasks.end({ task: 'job' })).toEqual({ task: 'job', decisions: 3 });
    await closed(process, 'a', 'b', 'c');
    // Silent: no 0 was learned about it.
    expect(record(process, 'a')?.tools.get('t1')?.silent).toBe(true);
    expect(record(process, 'a')?.tools.has('t0')).toBe(false);
    expect(await process.tasks.end({ task: 'job' })).toEqual({ task: 'job', decisions: 0 });
  });

  it('a task in which nothing was reported teaches nothing when it ends', async () => {
    const process = await started((at) => step('a', at, [0, 1]));
    expect(await process.tasks.end({ task: 'job' })).toEqual({ task: 'job', decisions: 1 });
    await expect.poll(() => process.queue.delayed(), { timeout: 10_000 }).toBe(0);
    await process.folded();
    expect(record(process, 'a')).toBeUndefined();
  });

  it('the same report twice counts once, also for what was routed between the two', async () => {
    const process = await started((at) => step('a', at, [0, 1]));
    await report(process, { idempotencyKey: 'call-1' });
    await process.folded();
    await process.decisions.append(step('b', process.now(), [1, 2]));
    expect(ids(await report(process, { idempotencyKey: 'call-1' }))).toEqual([['duplicate', 1]]);
    expect(ids(await report(process, { idempotencyKey: 'call-2' }))).toEqual([['queued', 2]]);
    await process.folded();
    expect(record(process, 'a')?.rewards.size).toBe(2);
    expect(record(process, 'b')?.rewards.size).toBe(1);
  });

  it('a report after the end is learned as a call, and a step after it is a step of the same task', async () => {
    const process = await started(
      (at) => step('a', at, [0, 1]),
      (at) => step('b', at, [1, 2]),
    );
    await report(process);
    await process.folded();
    await process.tasks.end({ task: 'job' });
    await closed(process, 'a', 'b');
    await process.decisions.append(step('c', process.now(), [0, 3]));
    expect(ids(await report(process, { tool: 't0' }))).toEqual([['queued', 2]]);
    await process.folded();
    expect(record(process, 'a')?.tools.get('t0')).toMatchObject({ called: true, taught: 1 });
    expect(record(process, 'c')?.closed).toBe(false);
    expect((await process.tasks.end({ task: 'job' })).decisions).toBe(1);
    await closed(process, 'c');
  });

  it('reports that are on their way when the task ends are calls, and no 0', async () => {
    const process = await started(...[0, 1, 2, 3].map((n) => (at: number) => step(`d${n}`, at, [n, 4, 5])));
    await Promise.all([report(process, { tool: 't4' }), report(process, { tool: 't0' })]);
    await process.tasks.end({ task: 'job' });
    await closed(process, 'd0', 'd1', 'd2', 'd3');
    for (const n of [0, 1, 2, 3]) {
      expect(record(process, `d${n}`)?.tools.get('t4')).toMatchObject({ called: true, taught: 1 });
      expect(record(process, `d${n}`)?.tools.has('t5')).toBe(false);
    }
  });

  it('finds its decisions again after a restart, and closes them', async () => {
    const process = await started(
      (at) => step('a', at, [0, 1]),
      (at) => step('b', at, [1, 2], { activation: 'later', activatedAt: null }),
    );
    await report(process);
    await process.folded();
    await process.decisions.activate('default.b', process.now());
    await process.close();
    disposals.length = 0;
    const next = await again();
    expect(record(next, 'a')?.tools.get('t1')?.taught).toBe(1);
    expect(ids(await report(next))).toEqual([['queued', 2]]);
    expect((await next.tasks.end({ task: 'job' })).decisions).toBe(2);
    await closed(next, 'a', 'b');
  });

  it('tells users apart whose tasks have the same id, and asks whose is meant', async () => {
    const [anna, ben] = ['anna', 'ben'].map((owner) => ({ task: taskKey({ task: 'job', owner }) }));
    const process = await started(
      (at) => step('a', at, [0, 1], anna),
      (at) => step('b', at, [0, 1], ben),
    );
    expect(ids(await report(process))).toEqual(['task-ambiguous']);
    await expect(process.tasks.end({ task: 'job' })).rejects.toMatchObject({ code: 'task-ambiguous' });
    expect(ids(await report(process, { userId: 'ben' }))).toEqual([['queued', 1]]);
    await process.folded();
    expect(record(process, 'a')).toBeUndefined();
    expect((await process.tasks.end({ task: 'job', userId: 'ben' })).decisions).toBe(1);
    expect(ids(await report(process, { userId: 'carl' }))).toEqual(['task-not-found']);
  });

  it('a tool that no slate of the task showed is a call of its newest decision; late and unknown are said', async () => {
    const old = (at: number) => at - WINDOW_MS - 60_000;
    const process = await started(
      (at) => step('a', at - 10, [0, 1]),
      (at) => step('b', at, [2]),
      (at) => step('late', old(at), [1], { task: taskKey({ task: 'late' }) }),
    );
    const results = await process.rewards.report([
      { task: 'job', tool: 't5', outcome: 'success' },
      { task: 'late', tool: 't1', outcome: 'success' },
      { task: 'unheard', tool: 't1', outcome: 'success' },
      { decisionId: 'default.a', tool: 't0', outcome: 'success' },
    ]);
    expect(ids(results)).toEqual([['queued', 1], ['late', 1], 'task-not-found', ['queued', undefined]]);
    await process.folded();
    expect(record(process, 'b')?.tools.get('t5')?.weight).toBe(0.2);
    expect(record(process, 'a')?.tools.has('t5')).toBe(false);
  });

  it('a task of thousands of decisions answers for its newest thousand', async () => {
    const process = await started();
    const at = process.now();
    const many = TASK_DECISIONS + 200;
    for (let from = 0; from < many; from += 100) {
      const some = Array.from({ length: 100 }, (_, i) => step(`d${from + i}`, at + from + i, [0, 1]));
      await Promise.all(some.map((decision) => process.decisions.append(decision)));
    }
    const heads = await process.decisions.ofTask(taskKey({ task: 'job' }));
    expect(heads.map(({ id }) => id).slice(0, 2)).toEqual([`default.d${many - 1}`, `default.d${many - 2}`]);
    expect(heads).toHaveLength(TASK_DECISIONS);
    expect((await process.tasks.end({ task: 'job' })).decisions).toBe(TASK_DECISIONS);
  });
}

describe('the result of a report on a task', () => {
  const queued = { rewardId: 'a.1', status: 'queued' } as const;
  const duplicate = { rewardId: 'b.1', status: 'duplicate' } as const;
  const problem = (code: 'unavailable' | 'reward-late') => ({ problem: new Problem(code, '', '') });

  it('is that of the first decision that it is new to, and says for how many it counts', () => {
    expect(resultOfTask([duplicate, queued, problem('reward-late')])).toEqual({ ...queued, decisions: 2 });
    expect(resultOfTask([duplicate, duplicate])).toEqual({ ...duplicate, decisions: 2 });
  });

  it('is a problem if a store was away for any of them, or none was taken', () => {
    expect(resultOfTask([queued, problem('unavailable')])).toMatchObject({
      problem: { code: 'unavailable' },
    });
    expect(resultOfTask([problem('reward-late')])).toMatchObject({ problem: { code: 'reward-late' } });
  });
});

describe('tasks over files', () => {
  tasksFromRouteToFold(async () => {
    const dataDir = join(root, randomUUID());
    return () => openEmbeddedStores({ ...SETTINGS, dataDir }, { onError });
  });
});

describe.skipIf(redisProgram.path === null)(`tasks over Redis${redisProgram.missing ?? ''}`, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.dispose());

  let database = 0;
  tasksFromRouteToFold(async () => {
    const url = `${server.url}/${database++}`;
    return () => openRedisStores(url, SETTINGS, { onError });
  });
});
