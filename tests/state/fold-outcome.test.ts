import { describe, expect, it } from 'vitest';
import { explorationScores } from '../../bandit/effects/instruction-effects.ts';
import { randomFor } from '../../bandit/random.ts';
import { selectUnderBudget } from '../../bandit/selection/select-under-budget.ts';
import type { DiscoveryEntry, ObservedDecision, OutcomeReport } from '../../src/ledger/entry.ts';
import { CatalogState } from '../../src/state/catalog-state.ts';
import { fold } from '../../src/state/fold.ts';
import { decodeSnapshot, encodeSnapshot, stateDigest } from '../../src/state/snapshot-codec.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { decision, instruction, MINUTE, observe, putInstructions, report, START, Story } from './entries.ts';

const FEATURES = [1, 0.5, 0.1, 0.1, 0.8, 0.5, 0.5, 1, 0, 0.5, 0];

function withInstructions(): Story {
  const story = Story.withTools(3);
  const approved = ['helps', 'near'].map((id) => instruction(id, { status: 'approved' }));
  story.tell(putInstructions(approved));
  return story;
}

/** A decision that could show both, with these chances, and showed some. */
function drawn(
  { state }: Story,
  id: string,
  shown: readonly number[],
  more: Partial<ObservedDecision> = {},
  propensity = [0.5, 0.5],
): ObservedDecision {
  const ids = ['helps', 'near'];
  const hashes = ids.map((one) => state.instructions.find(one)!.hash);
  return decision(id, ['t0', 't1'], {
    instructions: { ids, hashes, propensity, score: [0.5, 0.5], shown },
    sufficiency: { features: FEATURES, predicted: 0.6 },
    ...more,
  });
}

const gains = ({ state }: Story): number[] => {
  const slots = ['helps', 'near'].map((id) => state.instructions.find(id)!.slot);
  return [...state.effects.gains(slots, [0.5, 0.5])];
};

/** How the whole went: 0 … 1. */
const whole = (rewardId: string, value: number, more: Partial<OutcomeReport> = {}): OutcomeReport =>
  report(rewardId, null, { value, outcome: value > 0 ? 'success' : 'failure', ...more });

const discovery = (of: ObservedDecision, more: Partial<DiscoveryEntry> = {}): DiscoveryEntry => ({
  ...{ kind: 'discovery', key: `discovery/${of.id}`, at: START + 1000, added: 1 },
  decision: { ...of, tools: [...of.tools, 't2'], shown: 3, discovered: 1, columns: columnsWith(of) },
  ...more,
});

function columnsWith({ columns }: ObservedDecision): ObservedDecision['columns'] {
  const longer = (column: Float32Array) => Float32Array.of(...column, 0.5);
  const { similarity, lexical, dense, retrieval } = columns;
  return {
    similarity: longer(similarity),
    lexical: longer(lexical),
    dense: longer(dense),
    retrieval: longer(retrieval),
  };
}

describe('what a decision came to', () => {
  it('teaches the effects of its instructions and its sufficiency once, however often it is sent', () => {
    const story = withInstructions();
    const entry = observe(drawn(story, 'a', [0]), [whole('default.a/1', 1)]);
    story.tell(entry);
    const [helps, near] = gains(story);
    expect(helps).toBeGreaterThan(near);
    expect(story.state.sufficiency.outcomes.all).toBe(1);
    expect(story.state.sufficiency.reliability.total).toBe(1);
    story.tell(entry);
    expect(gains(story)).toEqual([helps, near]);
    expect(story.state.sufficiency.outcomes.all).toBe(1);
  });

  it('is what the called tools came to, and is corrected by later reports as if it had been that at once', () => {
    const [late, atOnce] = [withInstructions(), withInstructions()];
    const calls = (of: Story, value: number) =>
      observe(drawn(of, 'a', [0]), [report('default.a/1', 't0', { value })]);
    late.tell({ ...calls(late, 0.25), closes: false });
    expect(late.state.sufficiency.outcomes.all).toBe(0);
    late.tell(observe(drawn(late, 'a', [0]), [report('default.a/2', 't1', { value: 0.25 })]));
    late.tell(observe(drawn(late, 'a', [0]), [report('default.a/3', 't0', { value: 1 })]));
    late.tell(observe(drawn(late, 'a', [0]), [report('default.a/4', 't1', { value: 1 })]));
    atOnce.tell(
      observe(drawn(atOnce, 'a', [0]), [
        report('default.a/1', 't0', { value: 1 }),
        report('default.a/2', 't1', { value: 1 }),
      ]),
    );
    for (const [i, gain] of gains(late).entries()) expect(gain).toBeCloseTo(gains(atOnce)[i], 12);
    expect(late.state.sufficiency.outcomes.all).toBe(1);
    expect(late.state.sufficiency.reliability.bins()[6].observed).toBe(1);
  });

  it.each(['a', 'b', 'c'])(
    'tells what helps from what is near successes, as they are selected (%s)',
    (seed) => {
      const story = withInstructions();
      const { state } = story;
      const slots = ['helps', 'near'].map((id) => state.instructions.find(id)!.slot);
      const NONE = { gain: new Float64Array(0), score: new Float64Array(0), tokens: new Float64Array(0) };
      for (let i = 0; i < 3000; i++) {
        const random = randomFor(`${seed}/${i}`);
        // Near fits better where things go well anyway; helps adds ten points. Their scores are equal on the mean.
        const isEasy = random.uniform(8) < 0.5;
        const score = [0.5, isEasy ? 0.55 : 0.45];
        const gain = state.effects.gains(slots, score);
        const selection = selectUnderBudget({
          tools: { ...NONE, forced: [], limit: 0 },
          instructions: {
            gain,
            score: explorationScores(gain),
            tokens: Float64Array.of(10, 10),
            forced: [],
            limit: 1,
          },
          ...{ budget: 10, method: 'exact', explore: true, temperature: 0.03, random },
        });
        if ('needed' in selection) throw new Error('nothing is forced');
        const { chosen, propensity } = selection.instructions;
        const of = drawn(story, `d${i}`, chosen, {}, [...propensity]);
        const { ids, hashes } = of.instructions!;
        const instructions = { ids, hashes, propensity: [...propensity], score, shown: chosen };
        const chance = (isEasy ? 0.8 : 0.3) + (chosen.includes(0) ? 0.1 : 0);
        const value = random.uniform(9) < chance ? 1 : 0;
        story.tell(observe({ ...of, unit: i, instructions }, [whole(`default.d${i}/1`, value)]));
      }
      const [helps, near] = gains(story);
      expect(helps - near).toBeGreaterThan(0.01);
      expect(helps).toBeGreaterThan(0.05);
    },
  );

  it('teaches nothing when the outcome says nothing, when learning is off, or under another embedder', () => {
    const story = withInstructions();
    const before = stateOf(story);
    const silent = report('default.a/1', null, { outcome: 'timeout', value: 0 });
    story.tell(observe(drawn(story, 'a', [0]), [silent]));
    story.tell(observe(drawn(story, 'b', [0], { learn: false }), [whole('default.b/1', 1)]));
    const other = drawn(story, 'c', [0], { fingerprint: 'e2' });
    story.tell(observe(other, [whole('default.c/1', 1)]));
    expect(stateOf(story)).toEqual(before);
  });

  it('is the default reward where nothing was reported by the deadline', () => {
    const story = withInstructions();
    const of = drawn(story, 'a', [0]);
    const at = of.deadline + 1;
    const settlement = { kind: 'settlement', key: 's', at, decision: of, defaultReward: 0 } as const;
    story.tell(settlement);
    expect(gains(story)[0]).toBeLessThan(gains(story)[1]);
    expect(story.state.sufficiency.reliability.bins()[6].observed).toBe(0);
    story.tell({ ...settlement, key: 's2' });
    expect(story.state.sufficiency.outcomes.all).toBe(1);
  });

  it('closes at the end of a task and teaches what was called in it', () => {
    const story = withInstructions();
    const of = drawn(story, 'a', [0], { task: 'job/anna' });
    story.tell(observe(of, [report('default.a/1', 't0')]));
    expect(story.state.sufficiency.outcomes.all).toBe(0);
    const end = { kind: 'settlement', key: 'end', at: START + MINUTE, ended: true } as const;
    story.tell({ ...end, decision: of, defaultReward: null });
    expect(story.state.sufficiency.outcomes.all).toBe(1);
    expect(gains(story)[0]).toBeGreaterThan(gains(story)[1]);
  });

  it('learns nothing of an instruction whose text changed since, and a quarter of what is known stays', () => {
    const story = withInstructions();
    const of = drawn(story, 'a', [0]);
    story.tell(observe(drawn(story, 'b', [0]), [whole('default.b/1', 1)]));
    const { slot } = story.state.instructions.find('helps')!;
    const known = story.state.effects.evidence(slot);
    const changed = instruction('helps', { status: 'approved', text: 'quite another text' });
    const put = putInstructions([changed]);
    const vector = new Float32Array(4);
    vector[3 - story.state.instructions.vectors.get(slot).indexOf(1)] = 1;
    story.tell({ ...put, put: put.put.map((one) => ({ ...one, embedding: vector })) });
    expect(story.state.effects.evidence(slot)).toBe(known / 4);
    story.tell(observe(of, [whole('default.a/1', 1)]));
    expect(story.state.effects.evidence(slot)).toBe(known / 4);
    story.tell({ kind: 'forget', key: 'f', at: START + MINUTE, instruction: 'helps' });
    expect(story.state.effects.evidence(slot)).toBe(0);
  });

  it('is worth as much as one unit may teach in an hour', () => {
    const story = withInstructions();
    story.tell({ kind: 'settings', key: 'u', at: START, patch: { rewards: { unitHourlyWeight: 3 } } });
    for (const id of 'abcdefgh') {
      story.tell(observe(drawn(story, id, [0], { unit: 7 }), [whole(`default.${id}/1`, 1)]));
    }
    expect(story.state.sufficiency.outcomes.all).toBe(3);
  });
});

describe('a discovery', () => {
  it('teaches once that the slate did not suffice, before or after its rewards, and is counted', () => {
    const [before, after] = [withInstructions(), withInstructions()];
    const of = (story: Story) => drawn(story, 'a', [0]);
    const reward = (story: Story) => observe(discovery(of(story)).decision, [whole('default.a/1', 1)]);
    before.tell(discovery(of(before), { rating: 0.2 }));
    before.tell(reward(before));
    before.tell({ ...discovery(of(before)), key: 'again' });
    after.tell(observe(of(after), [whole('default.a/1', 1)]));
    after.tell(discovery(of(after), { rating: 0.2 }));
    for (const { state } of [before, after]) {
      expect(state.sufficiency.outcomes.all).toBe(1);
      expect(state.sufficiency.reliability.bins()[6].observed).toBe(0);
    }
    const [hour] = before.state.rewards.hours();
    expect(hour.discoveries).toEqual({ decisions: 1, times: 2, tools: 2 });
    expect(before.state.sufficiency.outcomes.rated).toBe(1);
    // What it came to in the end is what the instructions are judged by.
    expect(gains(before)[0]).toBeGreaterThan(gains(before)[1]);
    before.tell(discovery(of(before)));
    expect(before.state.rewards.hours()[0].discoveries.times).toBe(2);
  });

  it('of a decision whose record is gone changes nothing', () => {
    const story = withInstructions();
    const old = drawn(story, 'a', [0]);
    story.tell(observe(old, [whole('default.a/1', 1)]));
    const muchLater = drawn(story, 'z', [], { at: START + 3000 * MINUTE, deadline: START + 3010 * MINUTE });
    story.tell({ ...observe(muchLater, [whole('default.z/1', 1)]), at: START + 3000 * MINUTE });
    expect(story.tell(discovery(old))).toEqual({ kind: 'discovery', counted: false });
  });
});

describe('the learned state', () => {
  it('comes back from a snapshot bit for bit, and goes on alike', () => {
    const story = withInstructions();
    for (const [i, id] of [...'abcdefgh'].entries()) {
      story.tell(observe(drawn(story, id, [i % 2]), [whole(`default.${id}/1`, i % 3 ? 1 : 0)]));
    }
    const context = { kernels: createTypescriptKernels(), derived: true };
    const again = decodeSnapshot(encodeSnapshot(story.state), 'default', context);
    expect(stateDigest(again)).toEqual(stateDigest(story.state));
    const next = observe(drawn(story, 'i', [1]), [whole('default.i/1', 1)]);
    const position = story.entries.length + 1;
    story.tell(next);
    fold(again, { position, entry: next });
    expect(stateDigest(again)).toEqual(stateDigest(story.state));
    const anew = new CatalogState('default', context);
    for (const [at, entry] of story.entries.entries()) fold(anew, { position: at + 1, entry });
    expect(stateDigest(anew)).toEqual(stateDigest(story.state));
  });

  it('keeps effects when the embedder changes, and predicts sufficiency anew, as its features mean something else', () => {
    const story = withInstructions();
    story.tell(observe(drawn(story, 'a', [0]), [whole('default.a/1', 1)]));
    const { slot } = story.state.instructions.find('helps')!;
    const evidence = story.state.effects.evidence(slot);
    const vectors = [...story.state.tools.live()].map(({ tool, hash }) => ({
      ...{ name: tool.name, hash },
      embedding: Float32Array.of(1, 0),
    }));
    const instructions = [...story.state.instructions.live()].map((record) => ({
      ...{ id: record.instruction.id, hash: record.hash },
      embedding: Float32Array.of(1, 0),
    }));
    story.tell({
      ...{
        kind: 'embedder',
        key: 'e2',
        at: START + MINUTE,
        model: 'other',
        fingerprint: 'e2',
        dimensions: 2,
      },
      ...{ vectors, instructions },
    });
    expect(story.state.fingerprint).toBe('e2');
    expect(story.state.effects.evidence(slot)).toBe(evidence);
    expect(story.state.sufficiency.outcomes.all).toBe(0);
  });
});

describe('two instructions, one that helps by ten points and one that is always near successes', () => {
  it.each(['a', 'b', 'c', 'd', 'e'])('are told apart within 3,000 decisions (%s)', (seed) => {
    const story = withInstructions();
    const random = randomFor(seed);
    const naive = [0, 0].map(() => ({ sum: 0, count: 0 }));
    for (let i = 0; i < 3000; i++) {
      const u = (at: number): number => random.uniform(4 * i + at);
      const isEasy = u(0) < 0.5;
      const propensity = [0.5, isEasy ? 0.8 : 0.2];
      const shown = [0, 1].filter((at) => u(1 + at) < propensity[at]);
      const reward = u(3) < (isEasy ? 0.8 : 0.3) + (shown.includes(0) ? 0.1 : 0) ? 1 : 0;
      const at = START + i * MINUTE;
      const sufficiency = { features: FEATURES, predicted: isEasy ? 0.85 : 0.35 };
      const of = drawn(story, `n${i}`, shown, { at, deadline: at + 10 * MINUTE, sufficiency }, propensity);
      fold(story.state, {
        position: story.entries.length + 1 + i,
        entry: { ...observe(of, [whole(`default.n${i}/1`, reward)]), at },
      });
      for (const one of shown) {
        naive[one].sum += reward;
        naive[one].count++;
      }
    }
    const [helps, near] = gains(story);
    expect(helps - near).toBeGreaterThan(0.03);
    expect(helps).toBeGreaterThan(0.04);
    // Crediting what was there has it the other way round.
    expect(naive[1].sum / naive[1].count).toBeGreaterThan(naive[0].sum / naive[0].count);
  });
});

function stateOf({ state }: Story) {
  return { effects: state.effects.save(), sufficiency: state.sufficiency.save() };
}
