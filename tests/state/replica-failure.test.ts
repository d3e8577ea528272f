import { afterEach, describe, expect, it, vi } from 'vitest';
import { OutcomeUnknownError } from '../../src/errors/store-errors.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { FileLedgers } from '../../src/ledger/file-ledgers.ts';
import { type Ledger, LedgerCorruptError, LedgerRemovedError } from '../../src/ledger/ledger.ts';
import { Replica, ReplicaFailedError } from '../../src/state/replica.ts';
import { stateDigest } from '../../src/state/snapshot-codec.ts';
import { WaitingCommands } from '../../src/state/waiting.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { emptyState, putTools, START, Story, tool } from './entries.ts';

const KILLED = { killSwitch: true };

function configure(key: string, patch: object = KILLED): Entry {
  return { kind: 'settings', key, at: START, patch };
}

/** No policy has this name: the fold cannot go on. */
function poison(key = 'poison'): Entry {
  const policy = { name: 'none-such', parameters: {}, exploration: 'greedy', temperature: 1 };
  return configure(key, { policy });
}

const disposals: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});

/** A replica that follows a ledger with three tools; what the ledger does can be changed. */
async function following(
  change: (ledger: Ledger) => Partial<Ledger> = () => ({}),
): Promise<{ replica: Replica; ledger: Ledger; failed: Promise<unknown> }> {
  const story = Story.withTools(3);
  const real = await new FileLedgers(temporaryFolder()).open('default');
  await real.append(story.entries);
  const ledger: Ledger = new Proxy(real, {
    get: (target, name: keyof Ledger) => {
      if (name === 'follower') return () => ledger;
      const changed = change(real)[name];
      const own = target[name];
      return changed ?? (typeof own === 'function' ? own.bind(target) : own);
    },
  });
  const replica = new Replica(emptyState(), ledger, {
    now: () => performance.now(),
    reload: () => Promise.reject(new Error('nothing was trimmed')),
  });
  await replica.catchUp();
  const failed = new Promise((resolve) => replica.follow(resolve));
  disposals.push(async () => {
    await replica.close();
    await real.close();
  });
  return { replica, ledger, failed };
}

/** What everybody is answered who asks something of it. */
async function answers(replica: Replica): Promise<unknown[]> {
  const asked = [
    replica.submit(configure('later')),
    replica.caughtUp(),
    replica.reached(999, AbortSignal.timeout(60_000)),
    replica.readConsistent(stateDigest),
  ];
  return Promise.all(
    asked.map((one) =>
      one.then(
        () => 'nothing',
        (error: unknown) => error,
      ),
    ),
  );
}

describe('a replica whose fold fails', () => {
  it('rejects waiting commands with "may have been applied", and refuses later ones at once', async () => {
    const { replica, ledger, failed } = await following();
    const [poisoned, behind] = await Promise.allSettled([
      replica.submit(poison()),
      replica.submit(configure('behind')),
    ]);
    await failed;
    for (const waited of [poisoned, behind]) {
      expect(waited).toMatchObject({ status: 'rejected', reason: expect.any(OutcomeUnknownError) });
    }
    expect(replica.failure).toBeInstanceOf(ReplicaFailedError);
    expect(replica.failure?.message).toMatch(/after entry 2: .*none-such/);
    const head = await ledger.head();
    for (const answer of await answers(replica)) expect(answer).toBe(replica.failure);
    expect(await ledger.head()).toBe(head);
  });

  it('is whole between two entries and goes on serving; in the middle of one it is not', async () => {
    const between = await following((ledger) => ({
      read: async (after, limit) => {
        const entries = await ledger.read(after, limit);
        if (entries.some(({ entry }) => entry.key === 'poison')) throw new LedgerCorruptError('byte 7');
        return entries;
      },
    }));
    await expect(between.replica.submit(poison())).rejects.toThrow(OutcomeUnknownError);
    expect([between.replica.isConsistent, between.replica.state.tools.size]).toEqual([true, 3]);
    for (const answer of await answers(between.replica)) expect(answer).toBe(between.replica.failure);

    const inside = await following();
    await expect(inside.replica.submit(poison())).rejects.toThrow(OutcomeUnknownError);
    expect(inside.replica.isConsistent).toBe(false);
  });
});

describe('a command', () => {
  it('whose outcome does not come is given up, and says that it may have been applied', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const append = vi.fn(async () => 99);
    const { replica } = await following(() => ({ append }));
    const outcome = replica.submit(configure('lost')).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(append).toHaveBeenCalledOnce();
    const error = (await outcome) as OutcomeUnknownError;
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error.message).toContain('may have been');
    expect(error.suggestedFix).toContain('Idempotency-Key');
  });

  it('is waited for longer while something is being folded, but not for ever', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const waiting = new WaitingCommands();
    const done = waiting.after(configure('slow'), async () => {});
    const lost = waiting.after(configure('lost'), async () => {}).catch((error: unknown) => error);
    for (let step = 0; step < 5; step++) {
      waiting.progressed();
      await vi.advanceTimersByTimeAsync(9_000);
    }
    waiting.resolve({ key: 'slow' }, { kind: 'ignored' });
    expect(await done).toEqual({ kind: 'ignored' });
    waiting.progressed();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await lost).toBeInstanceOf(OutcomeUnknownError);
  });

  it('that cannot be appended fails alone: another one of the same key goes on', async () => {
    let first = true;
    const { replica } = await following((ledger) => ({
      append: (entries) => {
        if (!first) return ledger.append(entries);
        first = false;
        return Promise.reject(new Error('the store is away'));
      },
    }));
    const entry = putTools([tool('t9')], { key: 'tools/mine', content: 'a' });
    const [failed, done] = await Promise.allSettled([replica.submit(entry), replica.submit(entry)]);
    expect(failed).toMatchObject({ reason: new Error('the store is away') });
    expect(done).toMatchObject({ status: 'fulfilled', value: { kind: 'tools', added: 1 } });
  });
});

describe('a replica that is closed', () => {
  it('refuses commands with the reason, and rejects waiting ones because their effect is unknown', async () => {
    const { replica } = await following(() => ({ append: async () => 99 }));
    const waiting = replica.submit(configure('waits')).catch((error: unknown) => error);
    const reason = new Error('shutting down');
    await replica.close(reason);
    expect(await waiting).toBeInstanceOf(OutcomeUnknownError);
    for (const answer of await answers(replica)) expect(answer).toBe(reason);
  });

  it('refuses with the removal where another process removed the ledger; that is no failure', async () => {
    const removed = new LedgerRemovedError('default');
    let isRemoved = false;
    const { replica } = await following((ledger) => ({
      read: (after, limit) => (isRemoved ? Promise.reject(removed) : ledger.read(after, limit)),
    }));
    isRemoved = true;
    await expect(replica.submit(configure('late'))).rejects.toBe(removed);
    expect(replica.failure).toBeNull();
    for (const answer of await answers(replica)) expect(answer).toBe(removed);
  });
});
