import { randomUUID } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { DecisionLog } from '../../src/decisions/decision-log.ts';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { type EvaluationParts, Evaluations } from '../../src/evaluation/evaluations.ts';
import { FileEvaluationStore } from '../../src/evaluation/file-evaluation-store.ts';
import { type EvaluationWorkerParts, startEvaluationWorker } from '../../src/evaluation/run-evaluation.ts';
import { FileJobQueue } from '../../src/queue/file-job-queue.ts';
import { wasmKernels } from '../bandit/kernels/both-kernels.ts';
import { ReplacedState } from '../state/replaced-state.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { LoggedTraffic } from './logged-traffic.ts';

const kernels = wasmKernels();
const traffic = new LoggedTraffic(kernels, 200);
const root = temporaryFolder();
const DRAFT = {
  candidates: [{ name: 'soft', policy: { name: 'uniform', exploration: 'plackett-luce' } }],
} as const;

/** A process that evaluates: the noun, and the worker beside it. */
interface Process {
  readonly evaluations: Evaluations;
  readonly queue: FileJobQueue;
  readonly store: FileEvaluationStore;
}

/** A data folder, the ledger and the decision log of a catalog, and a gate that holds up reading a decision. */
class Folder {
  isOpen = true;
  /** Decisions that were asked for. */
  reads = 0;
  readonly replica = new ReplacedState(new LoggedTraffic(kernels, 0).state, traffic.state);
  onOpenLog: () => void = () => undefined;
  /** Catalogs that this process has open. */
  names: readonly string[] = ['default'];
  readonly closing = new AbortController();
  path = join(root, randomUUID());
  readonly errors: string[] = [];

  constructor() {
    folders.push(this);
  }

  /** Starts a process; without a worker, if it is only to be asked. */
  async start(works = true): Promise<Process> {
    const entries = [...traffic.setUp, ...traffic.entries];
    const ledger = {
      head: async () => entries.length,
      read: async (after: number, limit: number) =>
        entries.slice(after, after + limit).map((entry, i) => ({ position: after + i + 1, entry })),
    };
    const log = {
      get: async (id: string) => {
        this.reads++;
        while (!this.isOpen) await nextTurn();
        return traffic.decisions.find((decision) => decision.id === id) ?? null;
      },
    } as DecisionLog;
    const { replica } = this;
    const catalog = {
      name: 'default',
      closed: this.closing.signal,
      get state() {
        return replica.state;
      },
      ledger,
      replica,
    } as unknown as Catalog;
    const store = new FileEvaluationStore(this.path);
    const queue = await FileJobQueue.open(join(this.path, 'jobs'));
    started.push(queue);
    const now = () => 1_000_000;
    const catalogs = {
      find: (name: string) => (this.names.includes(name) ? catalog : undefined),
      holding: async (_name: string, work: (open: object) => unknown) => work(catalog),
    } as unknown as EvaluationWorkerParts['catalogs'] & EvaluationParts['catalogs'];
    const decisionLogs = {
      find: async () => {
        this.onOpenLog();
        return log;
      },
    } as unknown as EvaluationWorkerParts['decisionLogs'];
    if (works)
      startEvaluationWorker({
        ...{ queue, catalogs, decisionLogs, store, kernels, now },
        steadyNow: () => performance.now(),
        onError: (message) => this.errors.push(message),
      });
    return { evaluations: new Evaluations({ catalogs, store, queue, now }), queue, store };
  }

  /** The folder as a process leaves it that is killed now. */
  async killed(): Promise<Folder> {
    const left = new Folder();
    await cp(this.path, left.path, { recursive: true });
    return left;
  }
}

const folders: Folder[] = [];
const started: FileJobQueue[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) folder.isOpen = true;
  await Promise.all(started.splice(0).map((queue) => queue.close(10_000)));
});

const ends = ({ evaluations }: Process, id: string) =>
  expect.poll(async () => (await evaluations.get('default', id)).endedAt, { timeout: 20_000 }).not.toBeNull();
const runs = async (folder: Folder, { evaluations }: Process, id: string) => {
  const status = async () => (await evaluations.get('default', id)).status;
  await expect.poll(status, { timeout: 20_000 }).toBe('running');
  await expect.poll(() => folder.reads, { timeout: 20_000 }).toBeGreaterThan(0);
};

describe('evaluations', () => {
  it('read the state that is there when they begin, not one that a reload has freed', async () => {
    const folder = new Folder();
    folder.onOpenLog = () => folder.replica.replace();
    const one = await folder.start();
    const { id } = await one.evaluations.create('default', DRAFT);
    await ends(one, id);
    expect(await one.evaluations.get('default', id)).toMatchObject({ status: 'done', decisions: 200 });
  });

  it('are found after a restart, with what they found', async () => {
    const folder = new Folder();
    const first = await folder.start();
    const { id } = await first.evaluations.create('default', {
      candidates: [...DRAFT.candidates, { name: 'close', policy: 'cosine' }],
    });
    await ends(first, id);
    const done = await first.evaluations.get('default', id);
    expect(done).toMatchObject({ status: 'done', winner: 'close', progress: 1, decisions: 200 });
    await first.queue.close(10_000);
    const { evaluations } = await folder.start();
    expect(await evaluations.get('default', id)).toEqual(done);
    expect(await evaluations.list('default')).toEqual([done]);
    expect(await evaluations.winnerOf('default', id)).toEqual(done.candidates[1]);
  });

  it('of the policy that ran find no winner', async () => {
    const { evaluations } = await new Folder().start();
    const created = await evaluations.create('default', DRAFT);
    await ends({ evaluations } as Process, created.id);
    const done = await evaluations.get('default', created.id);
    expect(done).toMatchObject({
      status: 'done',
      winner: null,
      reason: expect.stringContaining('surely better'),
    });
    await expect(evaluations.winnerOf('default', created.id)).rejects.toThrow('surely better');
  });

  it('that were queued or running when their process was killed are run after its restart', async () => {
    const folder = new Folder();
    folder.isOpen = false;
    const dying = await folder.start();
    const running = await dying.evaluations.create('default', DRAFT);
    const queued = await dying.evaluations.create('default', DRAFT);
    await runs(folder, dying, running.id);
    const left = await folder.killed();
    folder.isOpen = true;
    const second = await left.start();
    for (const { id } of [running, queued]) {
      await ends(second, id);
      expect(await second.evaluations.get('default', id)).toMatchObject({ status: 'done', decisions: 200 });
    }
    expect(await second.store.get('default', running.id)).toMatchObject({ interruptions: 1 });
  });

  it('that were running at the third death of their process are given up', async () => {
    let folder = new Folder();
    const created = await (await folder.start(false)).evaluations.create('default', DRAFT);
    for (let death = 0; death < 3; death++) {
      folder = await folder.killed();
      folder.isOpen = false;
      await runs(folder, await folder.start(), created.id);
    }
    const last = await (await folder.killed()).start();
    await ends(last, created.id);
    expect(await last.evaluations.get('default', created.id)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('interrupted 3 times'),
    });
    await expect(last.evaluations.winnerOf('default', created.id)).rejects.toThrow('no winner: it is failed');
    await expect(last.evaluations.cancel('default', created.id)).rejects.toThrow('has ended (failed)');
  });

  it('that are stopped with their process go on after a restart, and that is no interruption', async () => {
    const folder = new Folder();
    folder.isOpen = false;
    const first = await folder.start();
    const { id } = await first.evaluations.create('default', DRAFT);
    await runs(folder, first, id);
    const closed = first.queue.close(10_000);
    folder.isOpen = true;
    await closed;
    expect(await first.store.get('default', id)).toMatchObject({ evaluation: { status: 'queued' } });
    const second = await folder.start();
    await ends(second, id);
    expect(await second.store.get('default', id)).toMatchObject({
      evaluation: { status: 'done' },
      interruptions: 0,
    });
  });

  it('of a catalog that was deleted store nothing more, and leave no job', async () => {
    const folder = new Folder();
    folder.isOpen = false;
    const first = await folder.start();
    const { id } = await first.evaluations.create('default', DRAFT);
    await runs(folder, first, id);
    folder.closing.abort();
    await first.store.remove('default');
    folder.isOpen = true;
    await expect.poll(() => first.queue.pending()).toBe(0);
    expect(await first.store.list('default')).toEqual([]);
    expect(await first.queue.buried()).toBe(0);
  });

  it('are cancelled while they wait and while they run, once', async () => {
    const folder = new Folder();
    folder.isOpen = false;
    const { evaluations, queue } = await folder.start();
    const [a, b] = [await evaluations.create('default', DRAFT), await evaluations.create('default', DRAFT)];
    for (const { id } of [a, b]) {
      expect(await evaluations.cancel('default', id)).toMatchObject({ status: 'cancelled' });
      await expect(evaluations.cancel('default', id)).rejects.toThrow('has ended (cancelled)');
    }
    folder.isOpen = true;
    await expect.poll(() => queue.pending()).toBe(0);
    for (const { id } of [a, b]) {
      expect(await evaluations.get('default', id)).toMatchObject({ status: 'cancelled', results: [] });
    }
  });

  it('wait for a process that has their catalog', async () => {
    const folder = new Folder();
    folder.names = [];
    const { evaluations, queue } = await folder.start();
    const { id } = await evaluations.create('default', DRAFT);
    await nextTurn();
    expect([await queue.pending(), await queue.buried()]).toEqual([1, 0]);
    folder.names = ['default'];
    await ends({ evaluations } as Process, id);
    expect(await evaluations.get('default', id)).toMatchObject({ status: 'done' });
  });

  it('that cannot be enqueued have failed, and the request as well', async () => {
    const { evaluations, queue } = await new Folder().start(false);
    await queue.close(0);
    await expect(evaluations.create('default', DRAFT)).rejects.toThrow(StoreUnavailableError);
    expect(await evaluations.list('default')).toMatchObject([{ status: 'failed' }]);
  });

  it('that fail by their own fault say why, and are not run again', async () => {
    const folder = new Folder();
    folder.onOpenLog = () => {
      throw new Error('the log is of no use');
    };
    const one = await folder.start();
    const { id } = await one.evaluations.create('default', DRAFT);
    await ends(one, id);
    expect(await one.evaluations.get('default', id)).toMatchObject({
      status: 'failed',
      reason: 'the log is of no use',
    });
    await expect.poll(() => one.queue.pending()).toBe(0);
    expect(folder.errors).toHaveLength(1);
  });

  it('with a share for learning are judged by the rest', async () => {
    const one = await new Folder().start();
    const { id } = await one.evaluations.create('default', {
      candidates: [{ name: 'learner', policy: { name: 'sc-linucb', exploration: 'plackett-luce' } }],
      learnShare: 0.5,
    });
    await ends(one, id);
    const view = await one.evaluations.get('default', id);
    expect(view.learnShare).toBe(0.5);
    expect(view.decisions + view.skipped.forLearning).toBe(200);
    expect(view.decisions).toBeGreaterThan(90);
    expect(view.decisions).toBeLessThan(110);
  });
});
