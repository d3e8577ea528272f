import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import { FileLedgers } from '../../src/ledger/file-ledgers.ts';
import { Replica } from '../../src/state/replica.ts';
import { encodeSnapshot } from '../../src/state/snapshot-codec.ts';
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

    const ledger = await new FileLedgers(temporaryFolder(), { now: () => START }).open('default');
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
    const turns: number[] = [];
    const whole: Promise<Uint8Array>[] = [];
    let folded = false;
    const watch = (): void => {
      if (folded) return;
      turns.push(replica.state.position);
      whole.push(replica.whole(encodeSnapshot));
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
    // Who asked for all or nothing of it got all of it.
    for (const seen of await Promise.all(whole)) expect(seen).toEqual(encodeSnapshot(story.state));

    await replica.close();
    replica.state.free();
    await ledger.close();
  });
});
