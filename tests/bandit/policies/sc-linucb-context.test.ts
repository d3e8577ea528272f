import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPolicy, loadPolicy } from '../../../bandit/policies/registry.ts';
import { KEPT_OF_ANOTHER_TOOL, SAME_TOOL_FROM } from '../../../bandit/policies/sc-linucb-memory.ts';
import type { Candidates, ChosenContext, Policy, QueryFeatures, SlotPools } from '../../../bandit/policy.ts';
import { type Random, randomFor } from '../../../bandit/random.ts';
import { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { createTypescriptKernels } from '../kernels/typescript-kernels.ts';

const kernels = createTypescriptKernels();
const DAY = 86_400_000;
const NO_TERMS = { terms: Uint32Array.of(1, 2), weights: Float32Array.of(0.6, 0.8) };
const HABIT = 8;
const ITEM_HABIT = 9;

const QUERY: QueryFeatures = { embedding: Float32Array.of(0.6, 0.8), terms: NO_TERMS };

const chosen = (over: Partial<ChosenContext> = {}): ChosenContext => ({
  unit: 7,
  at: 0,
  items: [{ number: 11 }, { number: 12 }],
  features: [1, 0, 0.5],
  ...over,
});

function policyOf(name: string, parameters: Record<string, number> = {}, tools = 4): Policy {
  const vectors = new ToolVectors(kernels, 2);
  const policy = createPolicy(name, { kernels, vectors, parameters, derived: true });
  for (let slot = 0; slot < tools; slot++) {
    vectors.put(slot, Float32Array.of(Math.cos(slot), Math.sin(slot)));
    policy.addTool(slot);
  }
  return policy;
}

const candidates = (slots: readonly number[], pools?: SlotPools): Candidates => {
  const similarity = Float64Array.from(slots, (slot) => 0.6 * Math.cos(slot) + 0.8 * Math.sin(slot));
  const dense = similarity.map((value) => (value + 1) / 2);
  const lexical = dense.map((_, at) => (at % 2) / 2);
  const base = dense.map((value, at) => 0.5 * lexical[at] + 0.5 * value);
  return { slots: Int32Array.from(slots), lexical, dense, base, similarity, ...(pools && { pools }) };
};

const rank = (
  policy: Policy,
  query: QueryFeatures,
  slots: readonly number[] = [0, 1, 2, 3],
  pools?: SlotPools,
) =>
  policy.rank({
    query,
    candidates: candidates(slots, pools),
    recall: policy.recall(query),
    random: randomFor('rank'),
  });

/** One decision that showed all tools, of which one was right. */
function learn(policy: Policy, query: QueryFeatures, right: number, at = 0, unit = 7): void {
  const slots = [0, 1, 2, 3];
  const { features } = rank(policy, query, slots);
  const width = policy.extras.length;
  const { similarity } = candidates(slots);
  for (const slot of slots) {
    const extras = features.slice(slot * width, (slot + 1) * width);
    policy.learn({ query, slot, similarity: similarity[slot], extras }, slot === right ? 1 : 0, 1);
  }
  policy.countCall(right, 1, 1);
  policy.remember(
    query,
    slots.map((slot) => ({ slot, reward: slot === right ? 1 : 0 })),
    at,
    unit,
  );
}

const column = (policy: Policy, query: QueryFeatures, feature: string): number[] => {
  const at = policy.extras.indexOf(feature);
  const { features } = rank(policy, query);
  return [0, 1, 2, 3].map((row) => features[row * policy.extras.length + at]);
};

/** An embedding of its own, so that neither memory nor taught vectors carry anything over. */
const unlike = (random: Random, at: number): QueryFeatures => {
  const angle = 2 * Math.PI * random.uniform(at);
  return { embedding: Float32Array.of(Math.cos(angle), Math.sin(angle)), terms: NO_TERMS };
};

describe('sc-linucb-context', () => {
  it('ranks and learns without a context as sc-linucb-memory does', () => {
    const [memory, context] = ['sc-linucb-memory', 'sc-linucb-context'].map((name) => policyOf(name));
    const random = randomFor('without');
    for (let at = 0; at < 120; at++) {
      const query = unlike(random, 2 * at);
      const right = Math.floor(4 * random.uniform(2 * at + 1));
      for (const policy of [memory, context]) learn(policy, query, right, at);
      const [a, b] = [memory, context].map((policy) => rank(policy, query));
      expect(b.base).toEqual(a.base);
      for (let i = 0; i < 4; i++) expect(b.score[i]).toBeCloseTo(a.score[i], 9);
    }
    const { arrays } = context.save();
    for (const name of ['habits.units', 'fits.slots']) expect(arrays[name]).toHaveLength(0);
    for (const [name, array] of Object.entries(memory.save().arrays)) {
      if (name.startsWith('memory.') || name === 'calls') expect(arrays[name]).toEqual(array);
    }
  });

  it('ranks a user of whom nothing is known as retrieval does, whatever was chosen', () => {
    const policy = policyOf('sc-linucb-context');
    const [known, unknown] = [{ ...QUERY, context: chosen() }, QUERY].map((query) => rank(policy, query));
    expect(known.base).toEqual(unknown.base);
    expect(known.mean).toEqual(unknown.mean);
  });

  it('a habit raises its tool after one outcome, for this user alone', () => {
    const policy = policyOf('sc-linucb-context', { taughtRate: 0, contextRate: 0 });
    const before = rank(policy, { ...QUERY, context: chosen() });
    learn(policy, { ...QUERY, context: chosen() }, 3);
    expect(column(policy, { ...QUERY, context: chosen() }, 'habit')).toEqual([0, 0, 0, 0.5]);
    const others = { ...QUERY, context: chosen({ unit: 8 }) };
    expect(column(policy, others, 'habit')).toEqual([0, 0, 0, 0]);
    expect(column(policy, others, 'itemHabit')).toEqual([0, 0, 0, 0]);
    const [own, other] = [chosen(), chosen({ unit: 8 })].map((context) =>
      rank(policy, { ...QUERY, context }),
    );
    expect(own.mean[3] - before.mean[3]).toBeGreaterThan(other.mean[3] - before.mean[3] + 0.2);
  });

  it('counts a tool with the items that were chosen, the best of them most', () => {
    const policy = policyOf('sc-linucb-context');
    learn(policy, { ...QUERY, context: chosen({ items: [{ number: 11 }, { number: 12 }] }) }, 2);
    const with_ = (...numbers: number[]) =>
      column(
        policy,
        { ...QUERY, context: chosen({ items: numbers.map((number) => ({ number })) }) },
        'itemHabit',
      )[2];
    expect(with_(11)).toBeCloseTo(1 / 2, 6);
    expect(with_(12)).toBeCloseTo(0.5 / 1.5, 6);
    expect(with_(12, 11)).toBeCloseTo(1 / 2, 6);
    expect(with_(13)).toBe(0);
  });

  it('what other choices taught says something of a new user, and what was alike taught more', () => {
    const policy = policyOf('sc-linucb-context');
    const random = randomFor('fit');
    for (let at = 0; at < 60; at++) {
      const isMail = at % 2 === 0;
      const context = chosen({ unit: 100 + at, items: [{ number: at }], features: isMail ? [1, 0] : [0, 1] });
      learn(policy, { ...unlike(random, at), context }, isMail ? 1 : 2, at, 100 + at);
    }
    const fitOf = (features: number[]) =>
      column(
        policy,
        { ...QUERY, context: chosen({ unit: 9, items: [{ number: 999 }], features }) },
        'contextFit',
      );
    expect(fitOf([1, 0])[1]).toBeGreaterThan(fitOf([1, 0])[2] + 0.1);
    expect(fitOf([0, 1])[2]).toBeGreaterThan(fitOf([0, 1])[1] + 0.1);
  });

  it('old habits fade, and a new one takes their place', () => {
    const policy = policyOf('sc-linucb-context');
    const query = (at: number) => ({ ...QUERY, context: chosen({ at }) });
    for (let at = 0; at < 10; at++) learn(policy, query(at), 0, at);
    expect(column(policy, query(10), 'habit')[0]).toBeCloseTo(5 / 6, 3);
    expect(column(policy, query(30 * DAY), 'habit')[0]).toBeCloseTo(2.5 / 3.5, 3);
    for (let at = 0; at < 4; at++) learn(policy, query(60 * DAY + at), 1, at);
    const [old, current] = column(policy, query(60 * DAY + 10), 'habit');
    expect(current).toBeGreaterThan(2 * old);
  });

  it('a time before the last outcome fades nothing', () => {
    const policy = policyOf('sc-linucb-context');
    learn(policy, { ...QUERY, context: chosen({ at: 100 * DAY }) }, 0);
    const query = { ...QUERY, context: chosen({ at: 0 }) };
    expect(column(policy, query, 'habit')[0]).toBe(0.5);
    learn(policy, query, 0);
    expect(column(policy, query, 'habit')[0]).toBeCloseTo(2 / 3, 6);
  });

  it('takes back a success that was none', () => {
    const policy = policyOf('sc-linucb-context');
    const query = { ...QUERY, context: chosen() };
    const example = { query, slot: 1, similarity: 0.5, extras: new Float32Array(policy.extras.length) };
    policy.learn(example, 1, 1);
    policy.correct(example, 1, 0, 1);
    expect(column(policy, query, 'habit')).toEqual([0, 0, 0, 0]);
    policy.correct(example, 0, 1, 1);
    expect(column(policy, query, 'habit')[1]).toBe(0.5);
  });

  it('forgets a user, and a tool', () => {
    const policy = policyOf('sc-linucb-context');
    const queries = [7, 8].map((unit) => ({ ...QUERY, context: chosen({ unit }) }));
    for (const [at, query] of queries.entries()) learn(policy, query, 2, at, query.context.unit);
    const cases = policy.sizeInBytes().cases;
    expect(policy.forgetUnit(7)).toBe(cases + 1);
    expect(column(policy, queries[0], 'habit')).toEqual([0, 0, 0, 0]);
    expect(column(policy, queries[0], 'itemHabit')).toEqual([0, 0, 0, 0]);
    expect(column(policy, queries[1], 'habit')[2]).toBe(0.5);
    expect(policy.forgetUnit(7)).toBe(0);
    policy.forgetTool(2);
    expect(column(policy, queries[1], 'habit')).toEqual([0, 0, 0, 0]);
  });

  it('keeps part of what is known of a tool that becomes another one, and nothing when its slot is given to a new one', () => {
    const policy = policyOf('sc-linucb-context');
    const query = { ...QUERY, context: chosen() };
    for (let at = 0; at < 3; at++) learn(policy, query, 2, at);
    const known = () => ['habit', 'itemHabit', 'contextFit'].map((name) => column(policy, query, name)[2]);
    const [habit, itemHabit, fit] = known();
    expect(habit).toBeCloseTo(3 / 4, 6);
    policy.changeTool(2, SAME_TOOL_FROM);
    expect(known()).toEqual([habit, itemHabit, fit]);
    policy.changeTool(2, SAME_TOOL_FROM - 0.01);
    const kept = 3 * KEPT_OF_ANOTHER_TOOL;
    const [less, lessWithItems, lessFit] = known();
    expect(less).toBeCloseTo(kept / (kept + 1), 6);
    expect(lessWithItems).toBeCloseTo((1.5 * kept) / (1.5 * kept + 1), 1);
    expect(lessWithItems).toBeLessThan(itemHabit);
    expect(lessFit).toBeCloseTo(KEPT_OF_ANOTHER_TOOL * fit, 6);
    policy.addTool(2);
    expect(known()).toEqual([0, 0, 0]);
  });

  it('says no more for a merged tool than for one of which everything speaks', () => {
    const policy = policyOf('sc-linucb-context', { contextRate: 0.5 });
    const slots = [0, 1, 2, 3];
    const query = { ...QUERY, context: chosen() };
    const fitOf = (pools?: SlotPools) => {
      const { features } = rank(policy, query, slots, pools);
      return features[policy.extras.indexOf('contextFit')];
    };
    const pools: SlotPools = { size: 1, representativeOf: () => 0, membersOf: () => slots };
    const teach = (reward: number) => {
      for (const slot of slots) {
        const example = { query, slot, similarity: 0.5, extras: new Float32Array(policy.extras.length) };
        for (let n = 0; n < 5; n++) policy.learn(example, reward, 1);
      }
    };
    teach(1);
    expect(fitOf()).toBeGreaterThan(0.26);
    expect(fitOf()).toBeLessThan(1);
    expect(fitOf(pools)).toBe(1);
  });

  it('keeps as many users as it may; the one who was quiet longest makes room', () => {
    const policy = policyOf('sc-linucb-context', { users: 3 });
    const of = (unit: number) => ({ ...QUERY, context: chosen({ unit }) });
    for (const unit of [1, 2, 3, 1, 4]) learn(policy, of(unit), 0, unit, unit);
    const known = [1, 2, 3, 4].filter((unit) => column(policy, of(unit), 'habit')[0] > 0);
    expect(known).toEqual([1, 3, 4]);
  });

  it('keeps at most 64 rows of a user, however many items there are', () => {
    const policy = policyOf('sc-linucb-context');
    for (let at = 0; at < 300; at++) {
      learn(
        policy,
        { ...QUERY, context: chosen({ at, items: [{ number: at }, { number: at + 1 }] }) },
        at % 4,
        at,
      );
    }
    expect(policy.save().arrays['habits.rows'].length).toBeLessThanOrEqual(64 * 4);
    expect(
      column(policy, { ...QUERY, context: chosen({ at: 300 }) }, 'habit').every((value) => value > 0.1),
    ).toBe(true);
  });

  it('a merged tool has the habits of its members', () => {
    const policy = policyOf('sc-linucb-context');
    const query = { ...QUERY, context: chosen() };
    learn(policy, query, 2);
    learn(policy, query, 3);
    const pools: SlotPools = {
      size: 2,
      representativeOf: (slot) => (slot === 3 ? 2 : slot),
      membersOf: (slot) => (slot === 2 ? [2, 3] : []),
    };
    const { features } = rank(policy, query, [0, 2], pools);
    const width = policy.extras.length;
    // Two successes, and one failure after the first of them: what failed before it ever did well is not counted.
    expect(features[width + HABIT]).toBeCloseTo(2 / 4, 6);
    expect(features[HABIT]).toBe(0);
    expect(features[ITEM_HABIT]).toBe(0);
  });

  it.each([
    { unit: 0 },
    { unit: 1.5 },
    { unit: 2 ** 32 },
    { at: Number.NaN },
    { items: [{ number: -1 }] },
    { items: [{ number: 0.5 }] },
    { features: [Number.NaN] },
    { features: [1.1] },
    { features: Array.from({ length: 17 }, () => 0.5) },
  ] satisfies Partial<ChosenContext>[])('refuses a choice with %o, and learns nothing from it', (bad) => {
    const policy = policyOf('sc-linucb-context');
    learn(policy, { ...QUERY, context: chosen() }, 1);
    const saved = policy.save();
    const extras = new Float32Array(policy.extras.length);
    const example = { query: { ...QUERY, context: chosen(bad) }, slot: 0, similarity: 0.5, extras };
    expect(() => policy.learn(example, 1, 1)).toThrow(RangeError);
    expect(() => policy.correct(example, 0, 1, 1)).toThrow(RangeError);
    expect(policy.save()).toEqual(saved);
  });

  /** What became of tools with one item: counted by hand, from the outcomes in their order. */
  it('counts as a naive model does, through a snapshot too', () => {
    const step = fc.record({
      unit: fc.integer({ min: 1, max: 3 }),
      slot: fc.nat(3),
      item: fc.nat(2),
      reward: fc.constantFrom(0, 0.25, 0.5, 1),
      later: fc.integer({ min: 0, max: 40 * DAY }),
      reload: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
        const vectors = new ToolVectors(kernels, 2);
        const parts = { kernels, vectors, parameters: {}, derived: true };
        let policy = createPolicy('sc-linucb-context', parts);
        for (let slot = 0; slot < 4; slot++) {
          vectors.put(slot, Float32Array.of(Math.cos(slot), Math.sin(slot)));
          policy.addTool(slot);
        }
        const naive = new Map<string, { p: number; n: number }>();
        let at = 0;
        const last = new Map<number, number>();
        const fade = (unit: number, to: number) => 2 ** (-(to - (last.get(unit) ?? to)) / (30 * DAY));
        for (const { unit, slot, item, reward, later, reload } of steps) {
          at += later;
          const query = {
            ...QUERY,
            context: chosen({ unit, at, items: [{ number: item }], features: [0.5] }),
          };
          const extras = new Float32Array(policy.extras.length);
          policy.learn({ query, slot, similarity: 0.5, extras }, reward, 1);
          const kept = fade(unit, at);
          for (const [key, counts] of naive) {
            if (!key.startsWith(`${unit}/`)) continue;
            counts.p *= kept;
            counts.n *= kept;
          }
          if (reward > 0 || last.has(unit)) last.set(unit, at);
          for (const key of [`${unit}/any/${slot}`, `${unit}/${item}/${slot}`]) {
            const counts = naive.get(key) ?? { p: 0, n: 0 };
            if (reward === 0 && counts.p === 0) continue;
            counts.p += reward;
            counts.n += 1 - reward;
            const scale = Math.min(1, 5 / (counts.p + counts.n));
            naive.set(key, { p: counts.p * scale, n: counts.n * scale });
          }
          if (reload) {
            const copy = loadPolicy('sc-linucb-context', parts, policy.save());
            policy.free();
            policy = copy;
          }
        }
        for (const unit of [1, 2, 3]) {
          for (const item of [0, 1, 2]) {
            const query = {
              ...QUERY,
              context: chosen({ unit, at, items: [{ number: item }], features: [0.5] }),
            };
            const kept = fade(unit, at);
            for (const [feature, of] of [
              ['habit', 'any'],
              ['itemHabit', item],
            ] as const) {
              const expected = [0, 1, 2, 3].map((slot) => {
                const { p, n } = naive.get(`${unit}/${of}/${slot}`) ?? { p: 0, n: 0 };
                return (p * kept) / ((p + n) * kept + 1);
              });
              for (const [slot, value] of column(policy, query, feature).entries()) {
                expect(value).toBeCloseTo(expected[slot], 5);
              }
            }
          }
        }
        policy.free();
        vectors.free();
      }),
      { numRuns: 100 },
    );
  });
});
