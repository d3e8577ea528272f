import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import { FileLedgers } from '../../src/ledger/file-ledgers.ts';
import { FileSnapshotStores } from '../../src/snapshots/file-snapshot-store.ts';
import { loadState } from '../../src/snapshots/stored-state.ts';
import { Replica } from '../../src/state/replica.ts';
import { encodeSnapshot, encodeSnapshotParts, stateDigest } from '../../src/state/snapshot-codec.ts';
import { WaitingCommands } from '../../src/state/waiting.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { decision, emptyState, observe, report, START, Story } from './entries.ts';

const TOOLS = 50;
/** The clock of these tests goes on by this much whenever somebody looks at it. */
const TICK_MS = 1;

describe('a decision of fifty tools', () => {
  it('is folded in slices, counts as folded when all of it is, and teaches the same', async () => {
    const story = Story.withTools(TOOLS);
    const names = Array.from({ length: TOOLS }, (_, i) => `t${i}`);
    const entry: Entry = observe(decision('a', names), [report('r', 't7')]);

    const ledger = await new FileLedgers(temporaryFolder()).open('default');
    await ledger.append(story.entries);
    let time = 0;
    const replica = new Replica(emptyState(), ledger, {
      now: () => (time += TICK_MS),
      reload: () => Promise.reject(new Error('nothing was trimmed')),
    });
    await replica.catchUp();
    story.tell(entry);
    await ledger.append([entry]);

    const before = replica.state.position;
    const nothing = encodeSnapshot(replica.state);
    const turns: number[] = [];
    const whole: Promise<Uint8Array>[] = [];
    let folded = false;
    const watch = (): void => {
      if (folded) return;
      turns.push(replica.state.position);
      whole.push(replica.readConsistent(encodeSnapshot));
      setImmediate(watch);
    };
    setImmediate(watch);
    await replica.catchUp();
    folded = true;
    const learner = replica.state.learners.active.policy;
    // Fifty steps of a millisecond, four to a slice.
    expect(turns.filter((position) => position === before).length).toBeGreaterThan(8);
    expect(replica.state.position).toBe(story.state.position);
    expect(learner.sizeInBytes().updates).toBe(TOOLS);
    expect(encodeSnapshot(replica.state)).toEqual(encodeSnapshot(story.state));
    // Who asked for all or nothing of it got all of it; nothing only before the fold began, while the ledger was read.
    const all = encodeSnapshot(story.state);
    const seen = await Promise.all(whole);
    const early = seen.findIndex((bytes) => !Buffer.from(bytes).equals(nothing));
    expect(seen.length - early).toBeGreaterThan(8);
    // Not `toEqual`, which takes most of a second for each.
    for (const bytes of seen.slice(early)) expect(Buffer.from(bytes).equals(all)).toBe(true);

    await replica.close();
    replica.state.free();
    await ledger.close();
  });
});

afterEach(() => void vi.restoreAllMocks());

describe('a state with much in it', () => {
  it('is read, digested and written down a part at a time, while folding waits', async () => {
    // Every part takes longer than a slice.
    let time = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (time += 1000));
    const story = Story.withTools(3);
    for (let i = 0; i < 10_000; i++) {
      const id = `default.0mjuq1a2b${i.toString(16).padStart(20, '0')}`;
      story.state.decisions.keep(story.state.decisions.begin({ ...decision('a', ['t0']), id }, START));
    }
    const folder = temporaryFolder();
    const ledger = await new FileLedgers(folder).open('default');
    await ledger.append(story.entries);
    const snapshots = await new FileSnapshotStores(folder).open('default');
    const { position } = story.state;
    await snapshots.put({ position, bytes: encodeSnapshot(story.state) }, 1, 1);
    const parts = [...encodeSnapshotParts(story.state)].filter(({ length }) => length > 0).length / 2;

    const context = { kernels: story.kernels, derived: true };
    const unreadable = (): never => expect.fail('the snapshot can be read');
    const loading = await turnsDuring(loadState('default', snapshots, context, unreadable));
    expect(loading.turns).toBeGreaterThan(parts - 3);
    const replica = new Replica(loading.result, ledger, {
      now: () => 0,
      reload: () => Promise.reject(new Error('nothing was trimmed')),
    });
    replica.follow((error) => expect.fail(String(error)));

    const before = stateDigest(story.state);
    const digesting = turnsDuring(Promise.all([replica.digest(), replica.digest(), replica.snapshot()]));
    const entry = observe(decision('b', ['t0', 't1']), [report('r', 't1')]);
    await ledger.append([entry]);
    const { result, turns } = await digesting;
    expect(turns).toBeGreaterThan(parts / 2);
    const [one, two, snapshot] = result;
    expect([one, two, snapshot.position]).toEqual([before, before, position]);
    expect(Buffer.from(snapshot.bytes).equals(encodeSnapshot(story.state))).toBe(true);
    await replica.caughtUp();
    story.tell(entry);
    expect(await replica.digest()).toEqual(stateDigest(story.state));

    await replica.close();
    replica.state.free();
    await ledger.close();
  });
});

describe('a digest', () => {
  it('asked for again and again does not hold up folding, and commands know that it goes on', async () => {
    const story = Story.withTools(3);
    const ledger = await new FileLedgers(temporaryFolder()).open('default');
    await ledger.append(story.entries);
    let time = 0;
    const replica = new Replica(emptyState(), ledger, {
      now: () => (time += 10),
      reload: () => Promise.reject(new Error('nothing was trimmed')),
    });
    await replica.catchUp();
    replica.follow((error) => expect.fail(String(error)));
    const progressed = vi.spyOn(WaitingCommands.prototype, 'progressed');
    await replica.digest();
    expect(progressed).toHaveBeenCalled();
    const many = Array.from({ length: 100 }, (_, n) =>
      observe(decision(`d${n}`, ['t0']), [report(`r${n}`, 't0')]),
    );
    const head = await ledger.append(many);
    const seen = new Set<number>();
    while (replica.state.position < head) {
      seen.add((await replica.digest()).position);
    }
    // What was read together is folded together.
    expect(seen.size).toBeLessThan(5);
    await replica.close();
    replica.state.free();
    await ledger.close();
  });
});

/** How often others had their turn before this was done. */
async function turnsDuring<T>(work: Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0;
  let done = false;
  const turn = (): void => {
    turns++;
    if (!done) setImmediate(turn);
  };
  setImmediate(turn);
  const result = await work;
  done = true;
  return { result, turns };
}
