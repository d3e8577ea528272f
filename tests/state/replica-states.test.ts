import { afterEach, describe, expect, it, vi } from 'vitest';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/errors/store-errors.ts';
import type { Entry, Position } from '../../src/ledger/entry.ts';
import { type Ledger, LedgerTrimmedError, type PositionedEntry } from '../../src/ledger/ledger.ts';
import type { CatalogState } from '../../src/state/catalog-state.ts';
import { Replica, ReplicaFailedError } from '../../src/state/replica.ts';
import { stateDigest } from '../../src/state/snapshot-codec.ts';
import { emptyState, putTools, START, Story, tool } from './entries.ts';

/** A ledger in memory that can be trimmed, restored and away. */
class MemoryLedger implements Ledger {
  history = 'first';
  isAway = false;
  readonly #entries: Entry[] = [];
  #trimmed: Position = 0;
  #grown: () => void = () => {};

  async append(entries: readonly Entry[]): Promise<Position> {
    this.#refuseIfAway();
    this.#entries.push(...entries);
    this.#grown();
    return this.#entries.length;
  }

  async read(after: Position, limit: number): Promise<PositionedEntry[]> {
    this.#refuseIfAway();
    if (after < this.#trimmed) throw new LedgerTrimmedError(`entry ${after + 1} was trimmed`);
    const found = this.#entries.slice(after, after + limit);
    return found.map((entry, i) => ({ position: after + 1 + i, entry }));
  }

  follower(): Ledger {
    return this;
  }

  wait(after: Position, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#grown = resolve;
      signal.addEventListener('abort', () => resolve());
      if (this.#entries.length > after || signal.aborted) resolve();
    });
  }

  async head(): Promise<Position> {
    this.#refuseIfAway();
    return this.#entries.length;
  }

  async trim(upTo: Position): Promise<void> {
    this.#trimmed = upTo;
  }

  async exists(): Promise<boolean> {
    return true;
  }

  async close(): Promise<void> {}

  #refuseIfAway(): void {
    if (this.isAway) throw new StoreUnavailableError('the store is away');
  }
}

/** What a snapshot would give after these entries. */
function stateAfter(entries: readonly Entry[]): CatalogState {
  const story = Story.withTools(0);
  for (const entry of entries.slice(story.entries.length)) story.tell(entry);
  return story.state;
}

const closing: Replica[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const replica of closing.splice(0)) {
    await replica.close();
    replica.state.free();
  }
});

/** A replica of a ledger whose entries it has not folded yet; two of them make a catalog without tools. */
async function opened(reload: () => Promise<CatalogState> = () => Promise.reject(new Error('no snapshot'))) {
  const ledger = new MemoryLedger();
  const { entries } = Story.withTools(0);
  await ledger.append(entries);
  const onReload = vi.fn();
  const replica = new Replica(emptyState(), ledger, { now: () => 0, reload, onReload });
  closing.push(replica);
  const failed = vi.fn();
  return { ledger, entries, replica, onReload, failed };
}

const never = new AbortController().signal;
const namesOf = ({ state }: Replica): string[] => [...state.tools.live()].map(({ tool: { name } }) => name);
const rejection = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describe('a replica that was opened', () => {
  it('folds what there is when it is asked to, and nothing by itself until it follows', async () => {
    const { ledger, replica, failed } = await opened();
    expect(replica.state.position).toBe(0);
    await replica.catchUp();
    expect(replica.state.position).toBe(2);
    await ledger.append([putTools([tool('t0')])]);
    expect([replica.state.position, await replica.lag()]).toEqual([2, 1]);
    replica.follow(failed);
    await replica.caughtUp();
    expect([namesOf(replica), await replica.lag()]).toEqual([['t0'], 0]);
  });
});

describe('a replica whose store is away', () => {
  it('serves what it has, refuses commands, and goes on when the store is back', async () => {
    const { ledger, replica, failed } = await opened();
    await replica.catchUp();
    ledger.isAway = true;
    replica.follow(failed);
    await expect(replica.submit(putTools([tool('t0')]))).rejects.toThrow(StoreUnavailableError);
    await expect(replica.caughtUp()).rejects.toThrow(StoreUnavailableError);
    expect(await replica.readConsistent(({ position }) => position)).toBe(2);
    ledger.isAway = false;
    expect(await replica.submit(putTools([tool('t0')]))).toMatchObject({ kind: 'tools', added: 1 });
    expect([replica.failure, failed.mock.calls]).toEqual([null, []]);
  });
});

describe('a replica whose ledger was trimmed behind it', () => {
  it('goes on from the newest snapshot, which takes the place of its state once it knows what came after', async () => {
    const put = putTools([tool('t0')], { key: 'tools/known' });
    const { ledger, entries, replica, onReload, failed } = await opened(async () =>
      stateAfter([...entries, put]),
    );
    await replica.catchUp();
    const old = replica.state;
    await ledger.append([put, putTools([tool('t1')])]);
    await ledger.trim(3);
    const reached = replica.reached(4, never);
    replica.follow(failed);
    await reached;
    expect(namesOf(replica)).toEqual(['t0', 't1']);
    expect(onReload.mock.calls).toEqual([[replica.state, old]]);
    expect(await replica.submit(putTools([tool('t2')]))).toMatchObject({ added: 1 });
    expect(failed).not.toHaveBeenCalled();
  });

  it('answers commands that wait from the snapshot, and the outcome of all others is unknown', async () => {
    const put = putTools([tool('t0')], { key: 'tools/known' });
    const { ledger, entries, replica, failed } = await opened(async () => stateAfter([...entries, put]));
    await replica.catchUp();
    const known = replica.submit(put);
    const lost = rejection(replica.submit(putTools([], { ifMatch: 'r0' })));
    await ledger.trim(3);
    // The fold remembers what it did, and not what it refused.
    replica.follow(failed);
    expect(await known).toMatchObject({ kind: 'tools', added: 1 });
    expect(await lost).toBeInstanceOf(OutcomeUnknownError);
  });

  it('starts over as well where the store was restored from a backup', async () => {
    const { ledger, entries, replica, onReload, failed } = await opened(async () => stateAfter(entries));
    await replica.catchUp();
    ledger.history = 'second';
    replica.follow(failed);
    await ledger.append([putTools([tool('t0')])]);
    await replica.reached(3, never);
    expect(onReload).toHaveBeenCalledOnce();
    expect(namesOf(replica)).toEqual(['t0']);
  });

  it('keeps its state until a digest that is being computed is complete', async () => {
    // Every step of the digest is a slice.
    let time = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (time += 1000));
    const { ledger, entries, replica, onReload, failed } = await opened(async () => stateAfter(entries));
    await replica.catchUp();
    const expected = stateDigest(replica.state);
    const digest = replica.digest();
    digest.then(
      () => expect(onReload).not.toHaveBeenCalled(),
      () => {},
    );
    ledger.history = 'second';
    replica.follow(failed);
    expect(await digest).toEqual(expected);
    await ledger.append([putTools([tool('t0')])]);
    await replica.reached(3, never);
    expect(onReload).toHaveBeenCalledOnce();
  });

  it('fails when no snapshot reaches the ledger', async () => {
    const reload = vi.fn(async () => emptyState());
    const { ledger, replica, failed } = await opened(reload);
    await ledger.trim(1);
    const waiting = rejection(replica.reached(1, never));
    replica.follow(failed);
    expect(await waiting).toBeInstanceOf(ReplicaFailedError);
    expect(replica.failure?.message).toMatch(/after entry 0: entry 1 was trimmed/);
    expect([reload.mock.calls.length, failed.mock.calls.length]).toEqual([2, 1]);
    expect([replica.isConsistent, replica.state.position]).toEqual([true, 0]);
  });
});

describe('a replica that has ended', () => {
  it('stays what it was: one that failed refuses with its failure after it was closed, too', async () => {
    const { ledger, replica, failed } = await opened(async () => emptyState());
    await ledger.trim(1);
    replica.follow(failed);
    await rejection(replica.reached(1, never));
    const { failure } = replica;
    await replica.close(new Error('shutting down'));
    const entry: Entry = { kind: 'forget', key: 'late', at: START, unit: 1 };
    expect(await rejection(replica.submit(entry))).toBe(failure);
    expect(await rejection(replica.digest())).toBe(failure);
  });

  it('folds nothing more, whatever comes', async () => {
    const { ledger, replica, failed } = await opened();
    await replica.catchUp();
    replica.follow(failed);
    await replica.close();
    await ledger.append([putTools([tool('t0')])]);
    await replica.catchUp();
    expect([replica.state.position, failed.mock.calls]).toEqual([2, []]);
  });
});
