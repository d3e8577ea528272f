import { describe, expect, it } from 'vitest';
import { decision, MINUTE, observe, putTools, remembered, report, START, Story, tool } from './entries.ts';
import { approve, merges, proposalOf, propose } from './merge-entries.ts';

/** Tools `t0` … `t3`, of which the first three are merged, and a decision that showed the merged one and `t3`. */
function shown(more = {}): { story: Story; id: string; decided: ReturnType<typeof decision> } {
  const story = Story.withTools(4);
  const { id, ...proposal } = proposalOf(story.state, ['t0', 't1', 't2']);
  story.tell(propose({ id, ...proposal }));
  story.tell(approve(story.state, id));
  const tools = ['t0', 't3', 't1'];
  const decided = decision('a', tools, { shown: 2, merged: { t0: id }, ...more });
  return { story, id, decided };
}

const statistics = ({ state }: Story, name: string) => state.tools.find(name)!.statistics;

describe('an outcome of a merged tool', () => {
  it('is learned at the member that was called, with the full weight, and the merged tool did not fail', () => {
    const { story, decided } = shown();
    const rewards = story.rewards(observe(decided, [report('r', 't1')]));
    expect(rewards).toEqual([{ rewardId: 'r', status: 'applied' }]);
    story.tell(observe(decided, [report('r2', 't3', { value: 0, outcome: 'failure' })]));
    expect(remembered(story, 't1')).toEqual({ positives: 1, negatives: 0 });
    expect(remembered(story, 't0')).toBeUndefined();
    expect(remembered(story, 't3')).toEqual({ positives: 0, negatives: 1 });
    expect(statistics(story, 't1')).toMatchObject({ shown: 0, called: 1, successes: 1 });
    expect(statistics(story, 't0')).toMatchObject({ shown: 1, called: 0 });
    const record = story.state.tools.get('t0')!;
    expect(story.state.merges.statisticsOf(record)).toMatchObject({ shown: 1, called: 1, successes: 1 });
  });

  it('is learned at the representative if the report names that', () => {
    const { story, decided } = shown();
    story.tell(observe(decided, [report('r', 't0')]));
    expect(remembered(story, 't0')).toEqual({ positives: 1, negatives: 0 });
    expect(statistics(story, 't0')).toMatchObject({ shown: 1, called: 1 });
  });

  it('weighs less where the member was not in what was shown', () => {
    const story = Story.withTools(4);
    const decided = decision('a', ['t0', 't3', 't1'], { shown: 2 });
    expect(story.rewards(observe(decided, [report('r', 't1')]))).toMatchObject([
      { status: 'applied', reason: 'tool-not-shown' },
    ]);
  });

  it('closes the decision once every shown tool or a member of it was reported', () => {
    const { story, decided } = shown();
    const more = { closes: false };
    story.tell(observe(decided, [report('r', 't1')], more));
    expect(story.state.decisions.get('default.a')!.closed).toBe(false);
    story.tell(observe(decided, [report('r2', 't3')], more));
    expect(story.state.decisions.get('default.a')!.closed).toBe(true);
    expect(remembered(story, 't0')).toBeUndefined();
  });

  it('takes back that the merged tool was of no use, when it comes after the decision has closed', () => {
    const { story, decided } = shown();
    story.tell(observe(decided, [report('r', null, { value: 0, outcome: 'not_used' })]));
    expect(remembered(story, 't0')).toEqual({ positives: 0, negatives: 1 });
    story.tell(observe(decided, [report('r2', 't1')]));
    expect(remembered(story, 't1')).toEqual({ positives: 1, negatives: 0 });
    expect(remembered(story, 't0') ?? { negatives: 0 }).toMatchObject({ negatives: 0 });
    story.tell(observe({ ...decided, tools: ['t0', 't3', 't2'] }, [report('r3', 't2')]));
    expect(remembered(story, 't2')).toEqual({ positives: 1, negatives: 0 });
    expect(remembered(story, 't0') ?? { negatives: 0 }).toMatchObject({ negatives: 0 });
  });

  it('that says nothing about relevance leaves the merged tool without a lesson as well', () => {
    const { story, decided } = shown();
    story.tell(
      observe(decided, [
        report('r', 't1', { outcome: 'timeout', value: 0 }),
        report('s', null, { value: 0 }),
      ]),
    );
    expect(remembered(story, 't0')).toBeUndefined();
    expect(remembered(story, 't3')).toEqual({ positives: 0, negatives: 1 });
  });

  it('is that of what was shown also when the merge was undone, or the member left it, in between', () => {
    const ways = [
      (id: string) => merges({ action: 'undo', id }),
      () => putTools([tool('t1', { description: 'is another' })]),
      () => putTools([], { remove: ['t0'] }),
    ];
    for (const way of ways) {
      const { story, id, decided } = shown();
      story.tell(way(id));
      const [reward] = story.rewards(observe(decided, [report('r', 't1')]));
      expect(reward).toEqual({ rewardId: 'r', status: 'applied' });
      expect(remembered(story, 't1')).toEqual({ positives: 1, negatives: 0 });
    }
  });

  it('in a later step of a task says that what was shown before was of use', () => {
    const { story, id, decided } = shown({ task: 'task' });
    const later = decision('b', ['t0', 't2'], {
      shown: 1,
      merged: { t0: id },
      task: 'task',
      at: START + MINUTE,
    });
    story.tell(observe(later, [report('r', 't2', { at: START + MINUTE })]));
    story.tell({
      ...{ kind: 'settlement', key: 'end', at: START + 2 * MINUTE, ended: true },
      ...{ decision: decided, defaultReward: null },
    } as const);
    expect(story.state.decisions.get('default.a')!.closed).toBe(true);
    expect(statistics(story, 't0')).toMatchObject({ shown: 2, called: 0 });
    expect(remembered(story, 't0')).toBeUndefined();
  });
});
