import { describe, expect, it } from 'vitest';
import type { QueryFeatures } from '../../bandit/policy.ts';
import type { ObservedContext, ObservedDecision } from '../../src/ledger/entry.ts';
import { decodeSnapshot, encodeSnapshot, stateDigest } from '../../src/state/snapshot-codec.ts';
import { columnsOf, decision, MINUTE, observe, report, START, Story } from './entries.ts';

const CONTEXT = { items: [{ number: 5 }], features: [1, 0.5] };
const TOOLS = ['t0', 't1', 't2'];

/** A catalog that decides by the policy that reads contexts. */
function withContext(): Story {
  const story = Story.withTools(3);
  const patch = { policy: { name: 'sc-linucb-context' } } as const;
  story.tell({ kind: 'settings', key: 'settings/context', at: START, patch } as never);
  return story;
}

/** A decision without logged features: the fold computes them. */
function decided(id: string, context: ObservedContext | undefined, more: Partial<ObservedDecision> = {}) {
  const columns = columnsOf(new Float32Array(TOOLS.length).fill(0.5));
  const own = { features: {}, unit: 7, columns, ...(context && { context }) };
  return decision(id, TOOLS, { ...own, ...more });
}

/** A feature of each tool, for a query of the user with this context. */
function featureOf(story: Story, name: string, unit = 7, context: ObservedContext = CONTEXT): number[] {
  const { policy } = story.state.learners.active;
  const { embedding, terms, at } = decision('a', TOOLS);
  const query: QueryFeatures = { embedding, terms, context: { unit, at, ...context } };
  const n = TOOLS.length;
  const values = new Float64Array(n).fill(0.5);
  const slots = Int32Array.from(TOOLS, (tool) => story.state.tools.find(tool)!.slot);
  const candidates = { slots, lexical: values, dense: values, base: values, similarity: values };
  const features = policy.features(query, candidates, policy.recall(query));
  const [width, at_] = [policy.extras.length, policy.extras.indexOf(name)];
  return TOOLS.map((_, row) => features[row * width + at_]);
}

describe('folding outcomes of decisions with a context', () => {
  it('learns what the user calls when these items are chosen, and nothing about others', () => {
    const story = withContext();
    story.tell(observe(decided('a', CONTEXT), [report('r1', 't1')]));
    expect(featureOf(story, 'habit')).toEqual([0, 0.5, 0]);
    expect(featureOf(story, 'itemHabit')).toEqual([0, 0.5, 0]);
    expect(featureOf(story, 'itemHabit', 7, { ...CONTEXT, items: [{ number: 6 }] })).toEqual([0, 0, 0]);
    expect(featureOf(story, 'habit', 8)).toEqual([0, 0, 0]);
    expect(featureOf(story, 'contextFit', 8)[1]).toBeGreaterThan(0);
    expect(featureOf(story, 'contextFit', 8)[0]).toBeLessThanOrEqual(0);
  });

  it('takes a correction back where the contract counts the last report', () => {
    const story = withContext();
    const patch = { rewards: { aggregation: 'last' } };
    story.tell({ kind: 'settings', key: 'settings/last', at: START, patch } as never);
    const observed = decided('a', CONTEXT);
    story.tell(observe(observed, [report('r1', 't1')], { closes: false }));
    story.tell(observe(observed, [report('r2', 't1', { outcome: 'failure', value: 0 })]));
    expect(featureOf(story, 'habit')).toEqual([0, 0, 0]);
  });

  it('is erased with the unit, from versions that wait too', () => {
    const story = withContext();
    story.tell(observe(decided('a', CONTEXT), [report('r1', 't1')]));
    story.tell(observe(decided('b', CONTEXT, { unit: 8 }), [report('r2', 't2')]));
    story.tell({ kind: 'settings', key: 'back', at: START, patch: { policy: { name: 'hybrid' } } } as never);
    expect(story.tell({ kind: 'forget', key: 'forget/1', at: START, unit: 7 })).toMatchObject({
      kind: 'forget',
    });
    for (const { policy } of story.state.learners.all()) {
      const units = policy.save().arrays['habits.units'];
      if (units !== undefined) expect([...units]).toEqual([8]);
    }
  });

  describe('of decisions from before the unit was erased', () => {
    const ERASED = START + MINUTE;
    const erase = (story: Story) => story.tell({ kind: 'forget', key: 'erase', at: ERASED, unit: 7 });
    const late = { at: ERASED + 1000 };
    const learned = (story: Story) => {
      const { arrays } = story.state.learners.active.policy.save();
      return [...arrays['habits.units'], ...arrays['memory.units']];
    };

    it.each([
      [
        'a report',
        (story: Story) => story.tell(observe(decided('b', CONTEXT), [report('r', 't1', late)], late)),
      ],
      [
        'a correction',
        (story: Story) => story.tell(observe(decided('a', CONTEXT), [report('r', 't1', late)], late)),
      ],
      [
        'a deadline',
        (story: Story) =>
          story.tell({
            ...{ kind: 'settlement', key: 's', at: START + 11 * MINUTE, defaultReward: 1 },
            decision: decided('b', CONTEXT, { deadline: START + 10 * MINUTE }),
          }),
      ],
      [
        'a report of a decision by a clock that is ahead',
        (story: Story) =>
          story.tell(observe(decided('b', CONTEXT, { at: ERASED + 2000 }), [report('r', 't1', late)], late)),
      ],
    ])('%s brings nothing back', (_, tell) => {
      const story = withContext();
      const patch = { rewards: { aggregation: 'last' } };
      story.tell({ kind: 'settings', key: 'settings/last', at: START, patch } as never);
      const first = report('r0', 't1', { outcome: 'failure', value: 0 });
      story.tell(observe(decided('a', CONTEXT), [report('r1', 't2'), first]));
      expect(learned(story)).toEqual([7, 7]);
      erase(story);
      expect(learned(story)).toEqual([]);
      const before = story.state.learners.active.policy.save();
      const context = { kernels: story.kernels, derived: false };
      const restored = decodeSnapshot(encodeSnapshot(story.state), 'default', context);
      expect(restored.forgotten.save()).toEqual(story.state.forgotten.save());
      tell(story);
      expect(story.state.learners.active.policy.save()).toEqual(before);
    });

    it('but what is decided afterwards is learned', () => {
      const story = withContext();
      erase(story);
      const at = ERASED + 1;
      story.tell(observe(decided('b', CONTEXT, { at }), [report('r', 't1', late)], late));
      expect(learned(story)).toEqual([7, 7]);
    });
  });

  it('makes no habit old by a decision of a clock that is far ahead', () => {
    const story = withContext();
    for (const [i, at] of [START, START + 3650 * 24 * 60 * MINUTE].entries()) {
      const observed = decided(`d${i}`, CONTEXT, { at, deadline: at + 10 * MINUTE });
      story.tell(observe(observed, [report(`r${i}`, 't1', { at: START + 1000 })]));
    }
    const { arrays } = story.state.learners.active.policy.save();
    expect([...arrays['habits.times']]).toEqual([START + 1000]);
    expect(featureOf(story, 'habit')[1]).toBeCloseTo(2 / 3, 6);
  });

  it('is the same in every process, and after a snapshot', () => {
    const story = withContext();
    for (const [at, id] of ['a', 'b', 'c', 'd'].entries()) {
      const context = { ...CONTEXT, items: [{ number: at % 2 }] };
      story.tell(observe(decided(id, context), [report(`r${at}`, TOOLS[at % 3])]));
    }
    const context = { kernels: story.kernels, derived: false };
    const restored = decodeSnapshot(encodeSnapshot(story.state), 'default', context);
    expect(stateDigest(restored)).toEqual(stateDigest(story.state));
    expect(restored.learners.active.policy.save()).toEqual(story.state.learners.active.policy.save());
  });

  it.each([
    ['no user', CONTEXT, 0],
    ['numbers out of range', { ...CONTEXT, features: [2] }, 7],
    ['too many numbers', { ...CONTEXT, features: new Array(17).fill(0.5) }, 7],
  ])('learns of a context with %s as if there were none', (_, context, unit) => {
    const [story, without] = [withContext(), withContext()];
    story.tell(observe(decided('a', context, { unit }), [report('r1', 't1')]));
    without.tell(observe(decided('a', undefined, { unit }), [report('r1', 't1')]));
    expect(story.state.learners.active.policy.save()).toEqual(without.state.learners.active.policy.save());
  });

  it('changes nothing for policies that read no context', () => {
    const [story, without] = [Story.withTools(3), Story.withTools(3)];
    story.tell(observe(decided('a', CONTEXT), [report('r1', 't1')]));
    without.tell(observe(decided('a', undefined), [report('r1', 't1')]));
    expect(story.state.learners.active.policy.save()).toEqual(without.state.learners.active.policy.save());
  });
});
