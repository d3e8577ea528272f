import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { DecisionLog } from '../../src/decisions/decision-log.ts';
import type { EvaluationStore } from '../../src/evaluation/evaluation-store.ts';
import { type EvaluationParts, Evaluations } from '../../src/evaluation/evaluations.ts';
import { FileEvaluationStore } from '../../src/evaluation/file-evaluation-store.ts';
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

/** The ledger and the decision log of a catalog, and a gate that holds up whoever reads a decision. */
class Place {
  readonly open: { now: boolean } = { now: true };
  time = 1_000_000;
  readonly replica = new ReplacedState(new LoggedTraffic(kernels, 0).state, traffic.state);
  onOpenLog: () => void = () => undefined;
  readonly closing = new AbortController();
  readonly folder = join(root, randomUUID());

  /** A process that starts. */
  start(store: EvaluationStore = new FileEvaluationStore(this.folder)): Evaluations {
    const entries = [...traffic.setUp, ...traffic.entries];
    const ledger = {
      head: async () => entries.length,
      read: async (after: number, limit: number) =>
        entries.slice(after, after + limit).map((entry, i) => ({ position: after + i + 1, entry })),
    };
    const log = {
      get: async (id: string) => {
        while (!this.open.now) await nextTurn();
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
    };
    return new Evaluations({
      catalogs: {
        get: () => catalog,
        holding: async (_name: string, work: (open: object) => unknown) => work(catalog),
      } as unknown as EvaluationParts['catalogs'],
      decisionLogs: {
        open: async () => {
          this.onOpenLog();
          return log;
        },
      } as unknown as EvaluationParts['decisionLogs'],
      store,
      kernels,
      now: () => this.time,
      steadyNow: () => performance.now(),
      onError: (message, error) => {
        throw new Error(message, { cause: error });
      },
    });
  }

  /** As routers see it that work with one Redis. */
  shared(): EvaluationStore {
    const store = new FileEvaluationStore(this.folder);
    return {
      shared: true,
      save: (stored) => store.save(stored),
      get: (catalog, id) => store.get(catalog, id),
      list: (catalog) => store.list(catalog),
      remove: (catalog) => store.remove(catalog),
    };
  }
}

const ends = (evaluations: Evaluations, id: string) =>
  expect.poll(async () => (await evaluations.get('default', id)).endedAt, { timeout: 20_000 }).not.toBeNull();
const runs = (evaluations: Evaluations, id: string) =>
  expect.poll(async () => (await evaluations.get('default', id)).status, { timeout: 20_000 }).toBe('running');

describe('evaluations', () => {
  it('read the state that is there when they begin, not one that a reload has freed', async () => {
    const place = new Place();
    place.onOpenLog = () => place.replica.replace();
    const evaluations = place.start();
    const { id } = await evaluations.create('default', DRAFT);
    await ends(evaluations, id);
    expect(await evaluations.get('default', id)).toMatchObject({ status: 'done', decisions: 200 });
    await evaluations.close();
  });

  it('are found after a restart, with what they found', async () => {
    const place = new Place();
    const first = place.start();
    const { id } = await first.create('default', DRAFT);
    await ends(first, id);
    const done = await first.get('default', id);
    expect(done).toMatchObject({ status: 'done', winner: 'soft', progress: 1, decisions: 200 });
    await first.close();
    const second = place.start();
    expect(await second.get('default', id)).toEqual(done);
    expect(await second.list('default')).toEqual([done]);
    expect(await second.winnerOf('default', id)).toEqual(done.candidates[0]);
  });

  it('that were under way when their process died say so, and keep saying so', async () => {
    const place = new Place();
    place.open.now = false;
    const dying = place.start();
    const ids = [(await dying.create('default', DRAFT)).id, (await dying.create('default', DRAFT)).id];
    await runs(dying, ids[0]);
    const second = place.start();
    for (const id of ids) {
      const found = await second.get('default', id);
      expect(found).toMatchObject({ status: 'failed', reason: expect.stringContaining('Start it again') });
      expect(await second.get('default', id)).toEqual(found);
      await expect(second.winnerOf('default', id)).rejects.toThrow('has no winner: it is failed');
      await expect(second.cancel('default', id)).rejects.toThrow('has ended (failed)');
    }
    place.open.now = true;
    await dying.close();
    expect((await second.get('default', ids[0])).status).toBe('failed');
  });

  it('that are stopped with their process say so too', async () => {
    const place = new Place();
    place.open.now = false;
    const first = place.start();
    const { id } = await first.create('default', DRAFT);
    await runs(first, id);
    const closed = first.close();
    place.open.now = true;
    await closed;
    expect(await place.start().get('default', id)).toMatchObject({ status: 'failed' });
  });

  it('of a catalog that was deleted store nothing more', async () => {
    const place = new Place();
    place.open.now = false;
    const store = new FileEvaluationStore(place.folder);
    const first = place.start(store);
    const { id } = await first.create('default', DRAFT);
    await runs(first, id);
    place.closing.abort();
    await store.remove('default');
    const closed = first.close();
    place.open.now = true;
    await closed;
    expect(await store.list('default')).toEqual([]);
  });

  it('of another process are seen, cancelled, and given up when it is not heard of any more', async () => {
    const place = new Place();
    place.open.now = false;
    const one = place.start(place.shared());
    const other = place.start(place.shared());
    const [a, b, c] = await Promise.all([1, 2, 3].map(() => one.create('default', DRAFT)));
    await runs(other, a.id);
    expect((await other.get('default', b.id)).status).toBe('queued');
    expect(await other.cancel('default', b.id)).toMatchObject({ status: 'cancelled' });
    place.time += 60_000;
    expect(await other.get('default', c.id)).toMatchObject({ status: 'failed' });
    place.open.now = true;
    await one.close();
    const left = await other.list('default');
    expect(left.find(({ id }) => id === b.id)?.status).toBe('cancelled');
    expect(left.every(({ endedAt }) => endedAt !== null)).toBe(true);
  });

  it('with a share for learning are judged by the rest', async () => {
    const place = new Place();
    const evaluations = place.start();
    const { id } = await evaluations.create('default', {
      candidates: [{ name: 'learner', policy: { name: 'sc-linucb', exploration: 'plackett-luce' } }],
      learnShare: 0.5,
    });
    await ends(evaluations, id);
    const view = await evaluations.get('default', id);
    expect(view.learnShare).toBe(0.5);
    expect(view.decisions + view.skipped.forLearning).toBe(200);
    expect(view.decisions).toBeGreaterThan(90);
    expect(view.decisions).toBeLessThan(110);
    await evaluations.close();
  });
});
