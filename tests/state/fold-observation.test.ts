import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPolicy } from '../../bandit/policies/registry.ts';
import type { LearnerState, Policy } from '../../bandit/policy.ts';
import type { ObservedDecision, SettlementEntry } from '../../src/ledger/entry.ts';
import { fold } from '../../src/state/fold.ts';
import { RECORD_GRACE_MS } from '../../src/state/observed/observed-decisions.ts';
import { decodeSnapshot, encodeSnapshot, stateDigest } from '../../src/state/snapshot-codec.ts';
import { columnsOf, decision, MINUTE, observe, remembered, report, START, Story } from './entries.ts';

const VERSION = 'sc-linucb-memory@2';

/** The same policy, taught by hand: what the fold is expected to have done. */
function byHand(story: Story, teach: (policy: Policy) => void): LearnerState {
  const { policy, settings } = story.state.learners.get(VERSION)!;
  const { tools } = story.state;
  const context = { kernels: story.kernels, vectors: tools.vectors, derived: true };
  const twin = createPolicy(policy.name, { ...context, parameters: settings.parameters });
  for (const { slot } of tools.records()) twin.addTool(slot);
  teach(twin);
  const state = twin.save();
  twin.free();
  return state;
}

function learned(story: Story): LearnerState {
  return story.state.learners.get(VERSION)!.policy.save();
}

function example(observed: ObservedDecision, story: Story, name: string) {
  const index = observed.tools.indexOf(name);
  return {
    query: { embedding: observed.embedding, terms: observed.terms },
    slot: story.state.tools.find(name)!.slot,
    similarity: observed.columns.similarity[index],
    extras: observed.features[VERSION].subarray(index * 8, index * 8 + 8),
  };
}

describe('folding observations', () => {
  it('learns a call at once and, when the decision closes, 0 for what was shown and not called', () => {
    const story = Story.withTools(3);
    const observed = decision('a', ['t0', 't1', 't2']);
    expect(story.rewards(observe(observed, [report('r1', 't1')]))).toEqual([
      { rewardId: 'r1', status: 'applied' },
    ]);
    const slot = (name: string): number => story.state.tools.find(name)!.slot;
    const expected = byHand(story, (policy) => {
      policy.learn(example(observed, story, 't1'), 1, 1);
      policy.countCall(slot('t1'), 1, 1);
      policy.learn(example(observed, story, 't0'), 0, 1);
      policy.learn(example(observed, story, 't2'), 0, 1);
      const outcomes = [
        { slot: slot('t0'), reward: 0 },
        { slot: slot('t1'), reward: 1 },
        { slot: slot('t2'), reward: 0 },
      ];
      policy.remember({ embedding: observed.embedding, terms: observed.terms }, outcomes, observed.at, 0);
    });
    expect(learned(story)).toEqual(expected);
  });

  it('stays open while more is promised, and closes at its deadline', () => {
    const story = Story.withTools(2);
    const observed = decision('a', ['t0', 't1']);
    story.rewards(observe(observed, [report('r1', 't0')], { closes: false }));
    expect(learned(story).numbers.updates).toBe(1);
    const settlement = {
      kind: 'settlement',
      key: 's',
      at: observed.deadline,
      decision: observed,
      defaultReward: null,
    } as const;
    const early = { ...settlement, key: 'early', at: observed.deadline - 1 };
    expect(story.tell(early)).toEqual({ kind: 'settlement', closed: false });
    expect(learned(story).numbers.updates).toBe(1);
    expect(story.tell(settlement)).toEqual({ kind: 'settlement', closed: true });
    expect(learned(story).numbers.updates).toBe(2);
    expect(story.tell({ ...settlement, key: 's2' })).toEqual({ kind: 'settlement', closed: false });
    expect(learned(story).numbers.updates).toBe(2);
  });

  it('applies a reward once, however often and in whatever entry it arrives', () => {
    const story = Story.withTools(2);
    const observed = decision('a', ['t0', 't1']);
    story.rewards(observe(observed, [report('r1', 't0')]));
    const before = learned(story);
    expect(story.rewards(observe(observed, [report('r1', 't0')]))).toEqual([
      { rewardId: 'r1', status: 'duplicate' },
    ]);
    expect(learned(story)).toEqual(before);
    expect(story.state.tools.get('t0')!.statistics).toMatchObject({ called: 1, rewardSum: 1, shown: 1 });
  });

  it('does not learn what came after the deadline unless the contract says so', () => {
    const late = { at: START + 11 * MINUTE };
    const story = Story.withTools(1);
    const before = learned(story);
    expect(story.rewards(observe(decision('a', ['t0']), [report('r1', 't0', late)]))).toMatchObject([
      { status: 'late', reason: 'after-deadline' },
    ]);
    expect(learned(story)).toEqual(before);
    const contract = { onLate: 'learn' } as const;
    story.tell({
      kind: 'settings',
      key: 'k',
      at: START,
      patch: { rewards: contract },
    });
    expect(story.rewards(observe(decision('b', ['t0']), [report('r2', 't0', late)]))).toMatchObject([
      { status: 'applied' },
    ]);
  });

  it('refuses a report whose record may have been dropped rather than risk applying it twice', () => {
    const story = Story.withTools(1);
    story.rewards(observe(decision('a', ['t0']), [report('r1', 't0')]));
    const later = START + 1000 + 10 * MINUTE + RECORD_GRACE_MS.log + 1;
    story.rewards(
      observe(decision('b', ['t0'], { at: later, deadline: later + MINUTE }), [
        report('r2', 't0', { at: later }),
      ]),
    );
    const before = learned(story);
    expect(story.rewards(observe(decision('a', ['t0']), [report('r1', 't0')]))).toMatchObject([
      { status: 'late', reason: 'record-expired' },
    ]);
    expect(learned(story)).toEqual(before);
  });

  it.each(['timeout', 'refused', 'unknown'] as const)(
    'takes %s as silence: neither a call nor a negative',
    (outcome) => {
      const story = Story.withTools(2);
      const observed = decision('a', ['t0', 't1']);
      const reports = [report('r1', 't0', { outcome, value: 0 }), report('r2', 't1')];
      expect(story.rewards(observe(observed, reports))).toMatchObject([
        { status: 'applied', reason: 'outcome-teaches-nothing' },
        { status: 'applied' },
      ]);
      expect(learned(story).numbers.updates).toBe(1);
      expect(story.state.tools.get('t0')!.statistics).toMatchObject({ called: 1, failures: 0, unlearned: 1 });
    },
  );

  it.each([
    ['last', [0, 1], 1],
    ['first', [0, 1], 0],
    ['mean', [0, 1], 0.5],
    ['sum', [0.25, 0.5], 0.75],
    ['sum', [1, 1], 1],
    ['last', [1, -1], 0],
  ] as const)('makes one reward of several by "%s": %j is learned as %d', (aggregation, values, expected) => {
    const story = Story.withTools(2);
    const contract = { aggregation };
    story.tell({
      kind: 'settings',
      key: 'k',
      at: START,
      patch: { rewards: contract },
    });
    const observed = decision('a', ['t0', 't1']);
    for (const [index, value] of values.entries()) {
      story.rewards(observe(observed, [report(`r${index}`, 't0', { value })], { closes: false }));
    }
    const { slot } = story.state.tools.find('t0')!;
    const direct = byHand(story, (policy) => {
      policy.learn(example(observed, story, 't0'), expected, 1);
      policy.countCall(slot, expected, 1);
    });
    const folded = learned(story);
    expect(folded.numbers.updates).toBe(direct.numbers.updates);
    expect(folded.arrays.matrix).toEqual(direct.arrays.matrix);
    const target = folded.arrays.target as Float64Array;
    for (const [index, value] of (direct.arrays.target as Float64Array).entries()) {
      expect(target[index]).toBeCloseTo(value, 12);
    }
  });

  it('learns an outcome that arrives after closing as a call, and takes its 0 back from memory', () => {
    const story = Story.withTools(2);
    const observed = decision('a', ['t0', 't1']);
    story.rewards(observe(observed, [report('r1', 't0', { outcome: 'failure', value: 0 })]));
    story.rewards(observe(observed, [report('r2', 't1')]));
    const { policy } = story.state.learners.get(VERSION)!;
    const recall = policy.recall({ embedding: observed.embedding, terms: observed.terms });
    const at = [...recall.slots].indexOf(story.state.tools.find('t1')!.slot);
    expect(recall.positives[at]).toBeGreaterThan(0);
    expect(recall.trials[at]).toBeCloseTo(recall.positives[at], 6);
    expect(learned(story).numbers.updates).toBe(3);
  });

  it('closes by itself when every shown tool has an outcome', () => {
    const story = Story.withTools(2);
    const observed = decision('a', ['t0', 't1']);
    const reports = [report('r1', 't0'), report('r2', 't1', { outcome: 'not_used', value: 0 })];
    story.rewards(observe(observed, reports, { closes: false }));
    expect(story.state.decisions.get(observed.id)!.closed).toBe(true);
    expect(story.state.rewards.hours()[0].decisions).toBe(1);
    expect(learned(story).numbers.updates).toBe(2);
  });

  it('learns a tool that was called without being shown, from the features it had as a candidate', () => {
    const story = Story.withTools(3);
    const observed = decision('a', ['t0', 't2'], { shown: 1 });
    expect(story.rewards(observe(observed, [report('r1', 't2')]))).toMatchObject([
      { status: 'applied', reason: 'tool-not-shown' },
    ]);
    expect(learned(story).numbers.updates).toBe(2);
    const stranger = decision('b', ['t0', 't1'], {
      shown: 1,
      columns: columnsOf(Float32Array.of(0.5, Number.NaN)),
    });
    story.rewards(observe(stranger, [report('r2', 't1')]));
    expect(learned(story).numbers.updates).toBe(3);
  });

  it('remembers a tool that was called without being shown, though another report closes the decision', () => {
    const story = Story.withTools(3);
    const first = decision('a', ['t0', 't1', 't2'], { shown: 2 });
    story.rewards(observe(first, [report('r1', 't2')], { closes: false }));
    story.rewards(observe(decision('a', ['t0', 't1']), [report('r2', 't0')]));
    expect(remembered(story, 't0')).toEqual({ positives: 1, negatives: 0 });
    expect(remembered(story, 't1')).toEqual({ positives: 0, negatives: 1 });
    expect(remembered(story, 't2')?.positives).toBeCloseTo(0.2, 6);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'takes a report, and learns nothing, where %s stands in what was logged',
    (wrong) => {
      const story = Story.withTools(3);
      const plain = decision('a', ['t0', 't1']);
      const features = { [VERSION]: plain.features[VERSION].slice() };
      features[VERSION][3] = wrong;
      const { terms } = plain.terms;
      for (const [id, more] of [
        ['a', { embedding: plain.embedding!.map((value, i) => (i === 1 ? wrong : value)) }],
        ['b', { terms: { terms, weights: Float32Array.of(wrong) } }],
      ] as const) {
        const before = learned(story).arrays;
        expect(story.rewards(observe({ ...plain, ...more, id }, [report(`r${id}`, 't0')]))).toMatchObject([
          { status: 'applied' },
        ]);
        expect(learned(story).arrays).toMatchObject({
          matrix: before.matrix,
          target: before.target,
          'memory.lastSeen': before['memory.lastSeen'],
          'taught.dense': before['taught.dense'],
        });
      }
      // Of the other tool everything is known.
      story.rewards(observe({ ...plain, features, id: 'c' }, [report('rc', 't1')]));
      expect(learned(story).numbers.updates).toBe(1);
      for (const array of Object.values(learned(story).arrays))
        expect(array.every(Number.isFinite)).toBe(true);
    },
  );

  it('rejects what cannot be learned: unknown tools, another embedder', () => {
    const story = Story.withTools(1);
    const before = learned(story);
    expect(story.rewards(observe(decision('a', ['t0']), [report('r1', 'nobody')]))).toMatchObject([
      { status: 'rejected', reason: 'tool-unknown' },
    ]);
    const foreign = decision('b', ['t0'], { fingerprint: 'e0' });
    expect(story.rewards(observe(foreign, [report('r2', 't0')]))).toMatchObject([
      { status: 'rejected', reason: 'embedder-changed' },
    ]);
    expect(learned(story)).toEqual(before);
  });

  it('counts but does not learn when the decision must not teach or its unit is over the limit', () => {
    const story = Story.withTools(2);
    const before = learned(story);
    story.rewards(observe(decision('a', ['t0', 't1'], { learn: false }), [report('r1', 't0')]));
    expect(learned(story)).toEqual(before);
    const contract = { unitHourlyWeight: 2 };
    story.tell({
      kind: 'settings',
      key: 'k',
      at: START,
      patch: { rewards: contract },
    });
    const reasons = ['b', 'c', 'd'].map((id) => {
      const observed = decision(id, ['t0', 't1'], { unit: 7 });
      return story.rewards(observe(observed, [report(`r-${id}`, 't0')]))[0].reason;
    });
    expect(reasons).toEqual([undefined, undefined, 'unit-limit']);
    expect(learned(story).numbers.updates).toBe(4);
  });

  it('teaches the default reward at the deadline when nothing was reported', () => {
    const story = Story.withTools(2);
    const observed = decision('a', ['t0', 't1']);
    const settle = { kind: 'settlement', at: observed.deadline, decision: observed } as const;
    const early = { ...settle, key: 'early', at: observed.deadline - 1, defaultReward: 0 };
    expect(story.tell(early)).toMatchObject({ closed: false });
    expect(story.tell({ ...settle, key: 'none', defaultReward: null })).toMatchObject({ closed: false });
    expect(learned(story).numbers.updates).toBe(0);
    expect(story.tell({ ...settle, key: 'zero', defaultReward: 0 })).toMatchObject({ closed: true });
    expect(learned(story).numbers.updates).toBe(2);
  });

  it('teaches the default reward although a report came that was late, and once', () => {
    const story = Story.withTools(2);
    const observed = decision('a', ['t0', 't1']);
    const late = observe(observed, [report('r1', 't0', { at: observed.deadline + 1 })], {
      at: observed.deadline + 1,
      closes: false,
    });
    expect(story.rewards(late)).toMatchObject([{ status: 'late' }]);
    expect(learned(story).numbers.updates).toBe(0);
    const settle = { kind: 'settlement', at: observed.deadline + 2, decision: observed } as const;
    expect(story.tell({ ...settle, key: `s${story.entries.length}`, defaultReward: 1 })).toMatchObject({
      closed: true,
    });
    expect(learned(story).numbers.updates).toBe(2);
    expect(story.state.tools.find('t0')!.statistics.shown).toBe(1);
    expect(story.tell({ ...settle, key: `s${story.entries.length}`, defaultReward: 1 })).toMatchObject({
      closed: false,
    });
    expect(learned(story).numbers.updates).toBe(2);
  });

  it('does not teach the default reward where a report counted that named no tool', () => {
    const story = Story.withTools(2);
    const observed = decision('a', ['t0', 't1']);
    story.rewards(observe(observed, [report('r1', null)]));
    const settle = { kind: 'settlement', key: 's', at: observed.deadline, decision: observed } as const;
    expect(story.tell({ ...settle, defaultReward: 1 })).toMatchObject({ closed: true });
    expect(learned(story).numbers.updates).toBe(0);
    expect(story.tell({ ...settle, key: 's2', defaultReward: 1 })).toMatchObject({ closed: false });
  });

  it('says that a report without a tool was counted, and closes only if nothing helped', () => {
    const story = Story.withTools(2);
    story.rewards(observe(decision('a', ['t0', 't1']), [report('r1', null)]));
    expect(learned(story).numbers.updates).toBe(0);
    story.rewards(
      observe(decision('b', ['t0', 't1']), [report('r2', null, { outcome: 'failure', value: 0 })]),
    );
    expect(learned(story).numbers.updates).toBe(2);
  });
});

describe('folding decisions of a task', () => {
  const inTask = (id: string, tools: readonly string[], more: Partial<ObservedDecision> = {}) =>
    decision(id, tools, { task: 'job', ...more });
  const ended = (observed: ObservedDecision, at = START + MINUTE): SettlementEntry => {
    const key = `end/${observed.id}`;
    return { kind: 'settlement', key, at, decision: observed, defaultReward: null, ended: true };
  };
  const updates = (story: Story): number => learned(story).numbers.updates;

  it('leaves them open when a report or reports on all tools would have closed them', () => {
    const story = Story.withTools(2);
    const observed = inTask('a', ['t0', 't1']);
    story.rewards(observe(observed, [report('r1', 't0')]));
    story.rewards(observe(observed, [report('r2', 't1', { outcome: 'not_used', value: 0 })]));
    expect(story.state.decisions.get(observed.id)?.closed).toBe(false);
    expect(updates(story)).toBe(1);
    expect(story.tell(ended(observed))).toEqual({ kind: 'settlement', closed: true });
    expect(updates(story)).toBe(2);
    expect(story.tell(ended(observed))).toEqual({ kind: 'settlement', closed: false });
  });

  it('learns no 0 about a tool that was called from another slate of the task, and takes none back later', () => {
    const story = Story.withTools(3);
    const [a, b] = [inTask('a', ['t0', 't1']), inTask('b', ['t1', 't2'])];
    story.rewards(observe(b, [report('r1', 't1', { outcome: 'failure', value: 0 })]));
    for (const observed of [a, b]) story.tell(ended(observed));
    // The call of t1, then 0 for t0 and t2.
    expect(updates(story)).toBe(3);
    expect(remembered(story, 't1')).toBeUndefined();
    story.rewards(observe(a, [report('r2', 't1')]));
    expect(remembered(story, 't1')).toEqual({ positives: 1, negatives: 0 });
  });

  it('teaches nothing by the end of a task without reports, or of a decision whose window is over', () => {
    const story = Story.withTools(2);
    const [a, b] = [inTask('a', ['t0', 't1']), inTask('b', ['t0', 't1'])];
    expect(story.tell(ended(a))).toEqual({ kind: 'settlement', closed: false });
    story.rewards(observe(b, [report('r1', 't0')]));
    expect(story.tell(ended(a, a.deadline + 1))).toEqual({ kind: 'settlement', closed: false });
    expect(updates(story)).toBe(1);
    expect(story.tell(ended(a))).toEqual({ kind: 'settlement', closed: true });
    // t1 alone: t0 was called.
    expect(updates(story)).toBe(2);
  });

  it('count by themselves after an end: what was reported before it neither hides a tool nor makes the next end teach', () => {
    const story = Story.withTools(3);
    const again = { at: START + 2 * MINUTE };
    const [a, b, c] = [
      inTask('a', ['t0', 't1']),
      inTask('b', ['t0', 't2'], again),
      inTask('c', ['t0', 't1'], { at: START + 4 * MINUTE }),
    ];
    story.rewards(observe(a, [report('r1', 't0')]));
    expect(story.tell(ended(a))).toMatchObject({ closed: true });
    story.rewards(observe(b, [report('r2', 't2')]));
    expect(story.tell(ended(b, START + 3 * MINUTE))).toMatchObject({ closed: true });
    expect(story.state.decisions.get(b.id)?.tools.get('t0')?.silent ?? false).toBe(false);
    // t0 called and t1 not, then t2 called and t0 not.
    expect(updates(story)).toBe(4);
    expect(story.tell(ended(c, START + 5 * MINUTE))).toMatchObject({ closed: false });
    const copy = decodeSnapshot(encodeSnapshot(story.state), 'default', {
      kernels: story.kernels,
      derived: true,
    });
    expect(stateDigest(copy)).toEqual(stateDigest(story.state));
    expect(updates(story)).toBe(4);
  });

  it('closes one at once with a report that its whole slate was of no help', () => {
    const story = Story.withTools(2);
    const observed = inTask('a', ['t0', 't1']);
    story.rewards(observe(observed, [report('r1', null, { outcome: 'failure', value: 0 })]));
    expect(story.state.decisions.get(observed.id)?.closed).toBe(true);
    expect(updates(story)).toBe(2);
  });

  it('keeps what was called in a snapshot, and drops it with the records', () => {
    const story = Story.withTools(2);
    const [a, b] = [inTask('a', ['t0', 't1']), inTask('b', ['t0', 't1'])];
    story.rewards(observe(a, [report('r1', 't0')]));
    const context = { kernels: story.kernels, derived: true };
    const copy = decodeSnapshot(encodeSnapshot(story.state), 'default', context);
    expect(stateDigest(copy)).toEqual(stateDigest(story.state));
    for (const state of [copy, story.state]) {
      fold(state, { position: story.entries.length + 1, entry: ended(b) });
      expect(state.decisions.get(b.id)?.tools.get('t0')?.silent).toBe(true);
    }
    expect(stateDigest(copy)).toEqual(stateDigest(story.state));
    const later = START + 10 * MINUTE + RECORD_GRACE_MS.log + 2000;
    const entry = observe(decision('c', ['t0'], { at: later, deadline: later + MINUTE }), [
      report('r3', 't0', { at: later }),
    ]);
    fold(copy, { position: story.entries.length + 2, entry });
    expect(copy.tasks.get('job', START)).toBeUndefined();
  });

  it('learns each call once, and 0 for exactly the shown tools that nobody had called in the task by then', () => {
    const tools = fc.uniqueArray(fc.nat(4), { minLength: 1, maxLength: 4 });
    const event = fc.record({ at: fc.nat(3), tool: fc.nat(4), ends: fc.boolean() });
    const run = (
      slates: readonly number[][],
      events: readonly { at: number; tool: number; ends: boolean }[],
    ) => {
      const story = Story.withTools(5);
      const steps = slates.map((slate, n) =>
        inTask(
          `s${n}`,
          slate.map((t) => `t${t}`),
        ),
      );
      const called = new Set<string>();
      const known = new Set<string>();
      const closed = new Set<number>();
      let expected = 0;
      for (const { at, tool, ends } of events) {
        const [n, name] = [at % steps.length, `t${tool}`];
        const observed = steps[n];
        if (ends) {
          story.tell(ended(observed));
          if (called.size === 0 || closed.has(n)) continue;
          closed.add(n);
          expected += observed.tools.filter((one) => !called.has(one)).length;
        } else if (observed.tools.includes(name) && !known.has(`${n}/${name}`)) {
          const reward = report(`r${n}/${name}`, name);
          story.rewards(observe(observed, [reward]));
          story.rewards(observe(observed, [reward]));
          known.add(`${n}/${name}`);
          called.add(name);
          expected++;
        }
        expect(updates(story)).toBe(expected);
      }
    };
    const slates = fc.array(tools, { minLength: 1, maxLength: 4 });
    fc.assert(fc.property(slates, fc.array(event, { maxLength: 20 }), run), { seed: 16, numRuns: 60 });
  });
});
