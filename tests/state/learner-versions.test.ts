import { describe, expect, it } from 'vitest';
import type { PolicySettings } from '../../src/ledger/catalog-settings.ts';
import { decision, observe, report, START, Story } from './entries.ts';

function choose(story: Story, policy: Partial<PolicySettings> & { name: string }): string {
  const patch = { policy: { ...story.state.settings.policy, parameters: {}, ...policy } };
  const outcome = story.tell({ kind: 'settings', key: `s${story.entries.length}`, at: START, patch });
  if (outcome.kind !== 'settings') throw new Error(outcome.kind);
  return outcome.policyVersion;
}

function updates(story: Story, version: string): number {
  return story.state.learners.get(version)!.policy.sizeInBytes().updates;
}

describe('versions of a policy', () => {
  it('are new for new settings, and the same again when the settings come back', () => {
    const story = Story.withTools(2);
    const first = story.state.learners.active.version;
    const second = choose(story, { name: 'sc-linucb' });
    expect(second).not.toBe(first);
    expect(choose(story, { name: 'sc-linucb', parameters: { alpha: 1 } })).not.toBe(second);
    expect(choose(story, { name: 'sc-linucb-memory' })).toBe(first);
    expect(story.state.learners.active.version).toBe(first);
  });

  it('all go on learning, whichever of them decides: rolling back loses no reward', () => {
    const story = Story.withTools(3);
    const first = story.state.learners.active.version;
    const second = choose(story, { name: 'sc-linucb' });
    const decided = decision('a', ['t0', 't1', 't2'], { features: { [second]: new Float32Array(0) } });
    story.rewards(observe(decided, [report('r1', 't1')]));
    expect(updates(story, second)).toBe(3);
    expect(updates(story, first)).toBe(3);
    const { policy } = story.state.learners.get(first)!;
    const recall = policy.recall({ embedding: decided.embedding, terms: decided.terms });
    expect(recall.cases).toHaveLength(1);
  });

  it('learn a correction from the same x as the call, although memory has moved on', () => {
    const tell = (values: readonly number[]): Float64Array => {
      const story = Story.withTools(2);
      const first = story.state.learners.active.version;
      const second = choose(story, { name: 'sc-linucb' });
      const features = { [second]: new Float32Array(0) };
      const decided = decision('a', ['t0', 't1'], { features });
      for (const [index, value] of values.entries()) {
        story.rewards(observe(decided, [report(`r${index}`, 't0', { value })], { closes: false }));
        const other = decision(`b${index}`, ['t0', 't1'], { features });
        story.rewards(observe(other, [report(`o${index}`, 't1', { value: 0 })], { closes: false }));
      }
      return story.state.learners.get(first)!.policy.save().arrays.target as Float64Array;
    };
    const direct = tell([1, 1]);
    const corrected = tell([0, 1]);
    for (const [index, value] of direct.entries()) expect(corrected[index]).toBeCloseTo(value, 10);
  });

  it('are dropped in the order in which they were last used, when there are too many', () => {
    const story = Story.withTools(1);
    const first = story.state.learners.active.version;
    for (const alpha of [1, 2, 3, 4]) choose(story, { name: 'sc-linucb', parameters: { alpha } });
    expect(story.state.learners.get(first)).toBeUndefined();
    expect([...story.state.learners.all()]).toHaveLength(4);
  });
});
