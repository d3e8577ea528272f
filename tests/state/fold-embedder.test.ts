import { describe, expect, it } from 'vitest';
import type { EmbedderEntry } from '../../src/ledger/entry.ts';

import { fold } from '../../src/state/fold.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { wasmKernels } from '../bandit/kernels/both-kernels.ts';
import { axis, decision, emptyState, observe, putTools, report, START, Story, tool } from './entries.ts';

/** The model `e<n>`, whose vectors have n dimensions. */
function move(story: Story, n: number, more: Partial<EmbedderEntry> = {}) {
  const dimensions = n + 3;
  const vectors = [...story.state.tools.live()].map(({ tool: { name }, hash }) => {
    const embedding = new Float32Array(dimensions);
    embedding.set(axis(name));
    return { name, hash, embedding };
  });
  return story.tell({
    kind: 'embedder',
    key: `move/${story.entries.length}`,
    at: START,
    model: `model-${n}`,
    fingerprint: `e${n}`,
    dimensions,
    vectors,
    ...more,
  });
}

function teach(story: Story, id: string, tools = ['t0', 't1'], more: object = {}): void {
  story.tell(observe(decision(id, tools, more), [report(`r-${id}`, tools[0])]));
}

const learned = (story: Story, version: string) => {
  const { updates, cases } = story.state.learners.get(version)!.policy.sizeInBytes();
  return { updates, cases };
};
const numbers = (story: Story) => story.state.learners.active.policy.save().arrays;

describe('another embedder', () => {
  it('is never the doing of a start: only a catalog without any takes the first', () => {
    const story = new Story();
    expect(move(story, 1, { first: true })).toMatchObject({ kind: 'embedder', kept: null });
    expect(move(story, 2, { first: true })).toEqual({ kind: 'embedder-refused', reason: 'bound' });
    expect(story.state.embedder).toEqual({ model: 'model-1', fingerprint: 'e1', dimensions: 4 });
    const byWords = new Story();
    move(byWords, 1, { first: true, model: 'none', fingerprint: null, dimensions: 0 });
    expect(move(byWords, 2, { first: true })).toMatchObject({ reason: 'bound' });
    expect(byWords.state.learners.active.version).toBe('sc-linucb-memory@1');
  });

  it('keeps what was learned before, and has it again when it comes back', () => {
    const story = Story.withTools(2);
    const { version } = story.state.learners.active;
    for (let i = 0; i < 5; i++) teach(story, `a${i}`);
    const before = numbers(story);

    expect(move(story, 2)).toMatchObject({ kind: 'embedder', kept: version });
    expect(learned(story, story.state.learners.active.version)).toEqual({ updates: 0, cases: 0 });
    expect(story.state.learners.current()).toHaveLength(1);
    teach(story, 'b', ['t0', 't1'], { fingerprint: 'e2', embedding: new Float32Array(5).fill(0.4) });
    expect(learned(story, version)).toMatchObject({ updates: 10 });

    const other = story.state.learners.active.version;
    expect(move(story, 1)).toMatchObject({ policyVersion: version, kept: other });
    expect(numbers(story)).toEqual(before);
    teach(story, 'a9');
    expect(learned(story, version)).toMatchObject({ updates: 12 });
    expect(learned(story, other)).toMatchObject({ updates: 2 });
  });

  it('comes back to tools that came meanwhile, and not to what was to be forgotten meanwhile', () => {
    const story = Story.withTools(2);
    const { version } = story.state.learners.active;
    teach(story, 'a', ['t0', 't1'], { unit: 7 });
    teach(story, 'b', ['t1', 't0']);
    move(story, 2);
    const more = new Float32Array(5).fill(0.4);
    const put = [{ tool: tool('t2'), hash: 'new', embedding: more }];
    story.tell(putTools([], { put, fingerprint: 'e2' }));
    story.tell({ kind: 'forget', key: 'f1', at: START, unit: 7 });
    story.tell({ kind: 'forget', key: 'f2', at: START, tool: 't1' });
    move(story, 1);
    expect(learned(story, version)).toEqual({ updates: 4, cases: 1 });
    const { policy } = story.state.learners.active;
    const slotOf = (name: string) => story.state.tools.get(name)!.slot;
    const recall = policy.recall({ embedding: axis('b'), terms: decision('b', []).terms });
    expect([...recall.slots]).toEqual([slotOf('t0')]);
    teach(story, 'c', ['t2', 't0']);
    expect(learned(story, version)).toEqual({ updates: 6, cases: 2 });
  });

  it('teaches nothing to the other one, and no reward counts twice, whenever it comes', () => {
    const story = Story.withTools(2);
    const { version } = story.state.learners.active;
    const whole = observe(decision('a', ['t0', 't1']), [report('r1', 't0')]);
    const half = observe(decision('b', ['t0', 't1']), [report('r2', 't1')], { closes: false });
    story.tell(whole);
    story.tell(half);
    expect(learned(story, version).updates).toBe(3);

    move(story, 2);
    const { active } = story.state.learners;
    expect(story.rewards({ ...whole, key: 'again' })).toMatchObject([{ status: 'duplicate' }]);
    const late = observe(half.decision, [report('r3', 't0')]);
    expect(story.rewards(late)).toMatchObject([{ status: 'rejected', reason: 'embedder-changed' }]);
    story.tell({
      kind: 'settlement',
      key: 's',
      at: half.decision.deadline,
      decision: half.decision,
      defaultReward: 0.5,
    });
    expect(learned(story, active.version)).toEqual({ updates: 0, cases: 0 });

    move(story, 1);
    expect(story.rewards({ ...whole, key: 'once more' })).toMatchObject([{ status: 'duplicate' }]);
    expect(learned(story, version).updates).toBe(3);
  });

  it('is refused while a tool is without a vector, and then nothing has changed', () => {
    const story = Story.withTools(2);
    teach(story, 'a');
    const before = Buffer.from(encodeSnapshot(story.state)).toString('base64');
    const { position } = story.state;
    expect(move(story, 2, { vectors: [] })).toEqual({ kind: 'embedder-refused', reason: 'stale' });
    story.state.position = position;
    story.state.taught = position;
    expect(Buffer.from(encodeSnapshot(story.state)).toString('base64')).toBe(before);
  });

  it('comes with a version of the policy where one is named, and with its settings', () => {
    const story = Story.withTools(2);
    const { version } = story.state.learners.active;
    teach(story, 'a');
    move(story, 2);
    const policy = { ...story.state.settings.policy, name: 'sc-linucb' };
    story.tell({ kind: 'settings', key: 's', at: START, patch: { policy } });
    // An entry that only activates it has no vectors.
    expect(story.tell({ kind: 'version', key: 'v', at: START, version })).toEqual({
      kind: 'version-unknown',
    });
    expect(move(story, 1, { version: 'sc-linucb@99' })).toMatchObject({ reason: 'version' });
    expect(move(story, 3, { version })).toMatchObject({ reason: 'version' });
    expect(move(story, 1, { version })).toMatchObject({ policyVersion: version });
    expect(story.state.settings.policy.name).toBe('sc-linucb-memory');
    expect(learned(story, version)).toMatchObject({ updates: 2 });
  });

  it('leaves three earlier ones to go back to, those that were used last', () => {
    const story = Story.withTools(2);
    const versions: string[] = [];
    for (const n of [1, 2, 3, 4, 1, 5]) {
      move(story, n);
      versions.push(story.state.learners.active.version);
      const embedding = new Float32Array(n + 3).fill(0.4);
      teach(story, `d${story.entries.length}`, ['t0'], { fingerprint: `e${n}`, embedding });
    }
    const kept = [...story.state.learners.all()].map(({ version }) => version);
    expect(kept).toEqual([versions[2], versions[3], versions[0], versions[5]]);
  });

  it('is restored from a snapshot with all waiting versions, and frees all memory', () => {
    const kernels = wasmKernels();
    const story = Story.withTools(2);
    teach(story, 'a');
    move(story, 2);
    const bytes = encodeSnapshot(story.state);
    const state = decodeSnapshot(bytes, 'default', { kernels, derived: true });
    expect(encodeSnapshot(state)).toEqual(bytes);
    move(story, 1);
    teach(story, 'b');
    for (const [at, entry] of story.entries.entries()) fold(state, { position: at + 1, entry });
    expect(encodeSnapshot(state)).toEqual(encodeSnapshot(story.state));
    state.free();
    expect(kernels.allocatedBytes).toBe(0);
    const empty = emptyState();
    empty.free();
    expect(empty.learners.kernels.allocatedBytes).toBe(0);
  });
});
