import { describe, expect, it } from 'vitest';
import type { LearnerState } from '../../bandit/policy.ts';
import type { RewardContract } from '../../src/ledger/catalog-settings.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { decision, MINUTE, observe, remembered, report, START, Story } from './entries.ts';

const VERSION = 'sc-linucb-memory@2';

function learned(story: Story): LearnerState {
  return story.state.learners.get(VERSION)!.policy.save();
}

function contract(story: Story, rewards: Partial<RewardContract>): void {
  story.tell({ kind: 'settings', key: `settings/${story.entries.length}`, at: START, patch: { rewards } });
}

describe('the weight of a report', () => {
  it('makes it count as so many reports: in the weights, in memory and in the rate of the tool', () => {
    const heavy = Story.withTools(1);
    const often = Story.withTools(1);
    heavy.rewards(observe(decision('a', ['t0']), [report('r', 't0', { weight: 2 })]));
    for (let i = 0; i < 2; i++) {
      const again = { ...decision('a', ['t0']), id: `default.a${i}` };
      often.rewards(observe(again, [report(`r${i}`, 't0')]));
    }
    const [one, two] = [learned(heavy).arrays, learned(often).arrays];
    for (const name of ['matrix', 'target']) {
      for (const [i, value] of (one[name] as Float64Array).entries()) {
        expect(two[name][i]).toBeCloseTo(value, 12);
      }
    }
    for (const name of ['calls', 'successes', 'memory.positives', 'memory.negatives']) {
      expect([...one[name]]).toEqual([...two[name]]);
    }
  });

  it.each([5e-324, 1e-323, 1e-320])('of %s counts hardly, whether the tool was shown or not', (weight) => {
    const story = Story.withTools(3);
    const observed = decision('a', ['t0']);
    const folded = story.rewards(
      observe(observed, [report('r0', 't0', { weight }), report('r1', 't1', { weight })]),
    );
    expect(folded.map(({ status }) => status)).toEqual(['applied', 'applied']);
    const { calls } = learned(story).arrays;
    for (const count of [calls[0], calls[1]]) expect(count > 0 && count < 1e-300).toBe(true);
  });

  it('follows a correction, and an outcome that comes after closing', () => {
    const story = Story.withTools(2);
    const observed = decision('a', ['t0', 't1']);
    story.rewards(observe(observed, [report('r0', 't0', { weight: 2 })]));
    expect(remembered(story, 't0')).toEqual({ positives: 2, negatives: 0 });
    expect(remembered(story, 't1')).toEqual({ positives: 0, negatives: 1 });
    story.rewards(observe(observed, [report('r1', 't0', { outcome: 'partial', value: 0.5 })]));
    expect(remembered(story, 't0')).toEqual({ positives: 1, negatives: 1 });
    story.rewards(observe(observed, [report('r2', 't1', { weight: 0.5 })]));
    expect(remembered(story, 't1')).toEqual({ positives: 0.5, negatives: 0 });
    const { calls, successes } = learned(story).arrays;
    expect([[...calls], [...successes]]).toEqual([
      [2, 0.5],
      [1, 0.5],
    ]);
  });

  it('leaves memory alone where nothing had been put there: a retry after a timeout', () => {
    const story = Story.withTools(2);
    const other = { ...decision('a', ['t0', 't1']), id: 'default.a0' };
    story.rewards(observe(other, [report('r0', 't1', { outcome: 'failure', value: 0 })]));
    expect(remembered(story, 't0')).toEqual({ positives: 0, negatives: 1 });
    const observed = decision('a', ['t0', 't1']);
    const reports = [report('r1', 't0', { outcome: 'timeout', value: 0 }), report('r2', 't1')];
    story.rewards(observe(observed, reports));
    story.rewards(observe(observed, [report('r3', 't0')]));
    expect(remembered(story, 't0')).toEqual({ positives: 1, negatives: 1 });
  });

  it.each([1, 0.25, 0])(
    'takes the place of the default reward %d that the tool got before',
    (defaultReward) => {
      const story = Story.withTools(2);
      const observed = decision('a', ['t0', 't1']);
      story.tell({ kind: 'settlement', key: 's', at: observed.deadline, decision: observed, defaultReward });
      const byDefault = { positives: defaultReward, negatives: 1 - defaultReward };
      expect([remembered(story, 't0'), remembered(story, 't1')]).toEqual([byDefault, byDefault]);
      story.rewards(observe(observed, [report('r0', 't0', { outcome: 'failure', value: 0 })]));
      story.rewards(observe(observed, [report('r1', 't1')]));
      expect(remembered(story, 't0')).toEqual({ positives: 0, negatives: 1 });
      expect(remembered(story, 't1')).toEqual({ positives: 1, negatives: 0 });
    },
  );

  it('leaves memory alone where a default reward was over the limit of its unit', () => {
    const story = Story.withTools(2);
    contract(story, { unitHourlyWeight: 1 });
    const earlier = { ...decision('a', ['t0']), id: 'default.a0', unit: 7 };
    story.rewards(observe(earlier, [report('r0', 't0', { outcome: 'failure', value: 0 })]));
    const observed = decision('a', ['t0', 't1'], { unit: 7 });
    story.tell({ kind: 'settlement', key: 's', at: observed.deadline, decision: observed, defaultReward: 0 });
    expect(remembered(story, 't0')).toEqual({ positives: 0, negatives: 1 });
    expect(remembered(story, 't1')).toEqual({ positives: 0, negatives: 1 });
    contract(story, { unitHourlyWeight: 10 });
    story.rewards(observe(observed, [report('r1', 't0')]));
    expect(remembered(story, 't0')).toEqual({ positives: 1, negatives: 1 });
  });
});

describe('what one unit may teach about one tool in an hour', () => {
  it('ends reports and silence alike, is counted, and begins again with the next hour', () => {
    const story = Story.withTools(3);
    contract(story, { unitHourlyWeight: 2 });
    const nothingHelped = (id: string, at: number) => {
      const shown = decision(id, ['t0', 't1'], { unit: 7, at, deadline: at + 10 * MINUTE });
      const useless = report(`r-${id}`, null, { outcome: 'failure', value: 0, at: at + 1000 });
      return story.rewards(observe(shown, [useless]));
    };
    for (const id of ['b', 'c', 'd', 'e']) nothingHelped(id, START);
    expect(learned(story).numbers.updates).toBe(4);
    const overLimit = () => story.state.rewards.hours().reduce((sum, hour) => sum + hour.overUnitLimit, 0);
    expect(overLimit()).toBe(4);
    // Others go on, and so does this unit about other tools.
    story.rewards(observe(decision('f', ['t0'], { unit: 8 }), [report('r-f', 't0')]));
    story.rewards(observe(decision('g', ['t2'], { unit: 7 }), [report('r-g', 't2')]));
    expect(learned(story).numbers.updates).toBe(6);
    const heavy = decision('h', ['t2'], { unit: 7 });
    expect(story.rewards(observe(heavy, [report('r-h', 't2', { weight: 1.5 })]))).toMatchObject([
      { status: 'applied', reason: 'unit-limit' },
    ]);
    expect(overLimit()).toBe(5);
    nothingHelped('i', START + 60 * MINUTE);
    expect(learned(story).numbers.updates).toBe(8);
  });

  it('keeps the tool that is over it from being learned, and not the rest of the decision', () => {
    const story = Story.withTools(3);
    contract(story, { unitHourlyWeight: 2 });
    for (const id of ['a0', 'a1']) {
      const taught = { ...decision('a', ['t0'], { unit: 7 }), id: `default.${id}` };
      story.rewards(observe(taught, [report(`r-${id}`, 't0')]));
    }
    const observed = decision('a', ['t0', 't1', 't2'], { unit: 7 });
    const reports = [report('r1', 't1'), report('r2', 't0')];
    expect(story.rewards(observe(observed, reports))).toMatchObject([
      { status: 'applied' },
      { status: 'applied', reason: 'unit-limit' },
    ]);
    expect(remembered(story, 't0')).toEqual({ positives: 2, negatives: 0 });
    expect(remembered(story, 't1')).toEqual({ positives: 1, negatives: 0 });
    expect(remembered(story, 't2')).toEqual({ positives: 0, negatives: 1 });
  });

  it('is used up by what is taught: not by repeated or superseded reports, in part by corrections', () => {
    for (const aggregation of ['first', 'last'] as const) {
      const story = Story.withTools(1);
      contract(story, { unitHourlyWeight: 2, aggregation });
      const observed = decision('a', ['t0'], { unit: 7 });
      for (let i = 0; i < 5; i++) story.rewards(observe(observed, [report(`r${i}`, 't0')]));
      const again = { ...observed, id: 'default.a0' };
      expect(story.rewards(observe(again, [report('r', 't0')]))).toEqual([
        { rewardId: 'r', status: 'applied' },
      ]);
    }
    const story = Story.withTools(1);
    contract(story, { unitHourlyWeight: 2 });
    const observed = decision('a', ['t0'], { unit: 7 });
    const reasons = [1, 0.5, 1, 0.5].map((value, i) => {
      return story.rewards(observe(observed, [report(`r${i}`, 't0', { value })]))[0].reason;
    });
    expect(reasons).toEqual([undefined, undefined, undefined, 'unit-limit']);
    expect(remembered(story, 't0')).toEqual({ positives: 1, negatives: 0 });
  });

  it('is used up by a fifth when the tool was not shown', () => {
    const story = Story.withTools(2);
    contract(story, { unitHourlyWeight: 1 });
    const reasons = Array.from({ length: 6 }, (_, i) => {
      const observed = { ...decision('a', ['t0', 't1'], { shown: 1, unit: 7 }), id: `default.a${i}` };
      return story.rewards(observe(observed, [report(`r${i}`, 't1')]))[0].reason;
    });
    expect(reasons).toEqual([...Array(5).fill('tool-not-shown'), 'unit-limit']);
  });

  it('holds for default rewards, too', () => {
    const story = Story.withTools(1);
    contract(story, { unitHourlyWeight: 1 });
    for (const id of ['a', 'b']) {
      const silent = decision(id, ['t0'], { unit: 7 });
      story.tell({ kind: 'settlement', key: id, at: silent.deadline, decision: silent, defaultReward: 0 });
    }
    expect(learned(story).numbers.updates).toBe(1);
  });
});

describe('erasing', () => {
  it('forgets a unit and a tool for good: in later folds, in snapshots, in all versions', () => {
    const story = Story.withTools(2);
    contract(story, {});
    story.tell({
      kind: 'settings',
      key: 'another-version',
      at: START,
      patch: {
        policy: { ...story.state.settings.policy, parameters: { alpha: 1 } },
      },
    });
    story.rewards(observe(decision('a', ['t0', 't1'], { unit: 7 }), [report('r0', 't0')]));
    story.rewards(observe(decision('c', ['t0', 't1'], { unit: 8 }), [report('r1', 't1')]));
    const versions = [...story.state.learners.all()];
    expect(versions.length).toBeGreaterThan(1);
    const cases = () => versions.map(({ policy }) => policy.sizeInBytes().cases);
    expect(cases()).toEqual(versions.map(() => 2));

    expect(story.tell({ kind: 'forget', key: 'unit', at: START, unit: 7 })).toMatchObject({
      forgotten: versions.length,
    });
    expect(cases()).toEqual(versions.map(() => 1));
    expect(story.tell({ kind: 'forget', key: 'tool', at: START, tool: 't1' })).toMatchObject({
      forgotten: 1,
    });
    const { slot, statistics } = story.state.tools.find('t1')!;
    for (const { policy } of versions) {
      const { arrays } = policy.save();
      expect([...arrays['memory.entrySlots']]).not.toContain(slot);
      expect(arrays.calls[slot]).toBe(0);
    }
    expect(Object.values(statistics).every((count) => count === 0)).toBe(true);
    expect(story.state.tools.find('t0')!.statistics.called).toBe(1);

    const bytes = encodeSnapshot(story.state);
    const restored = decodeSnapshot(bytes, 'default', { kernels: story.kernels, derived: true });
    expect(restored.learners.get(VERSION)!.policy.save()).toEqual(learned(story));
    expect(restored.tools.find('t1')!.statistics).toEqual(statistics);
    restored.free();
  });

  it('is a fifth, whatever was asked for, for a tool that was not in the slate', () => {
    const pushed = Story.withTools(3);
    const observed = { ...decision('a', ['t0', 't1', 't2']), shown: 2 };
    pushed.rewards(observe(observed, [report('r0', 't2', { weight: 10 })]));
    expect(remembered(pushed, 't2')?.positives).toBeCloseTo(0.2, 6);
    expect(learned(pushed).arrays.calls[2]).toBeCloseTo(0.2, 6);
    // Two of them are not enough for "this did well for a similar request", three are.
    const { policy } = pushed.state.learners.get(VERSION)!;
    const nearest = () => {
      const recall = policy.recall({ embedding: observed.embedding, terms: observed.terms });
      return recall.nearest[[...recall.slots].indexOf(pushed.state.tools.find('t2')!.slot)];
    };
    for (const id of ['b', 'c']) {
      expect(nearest()).toBe(0);
      pushed.rewards(observe({ ...observed, id: `default.${id}` }, [report(id, 't2', { weight: 10 })]));
    }
    expect(nearest()).toBeGreaterThan(0.9);
  });
});
