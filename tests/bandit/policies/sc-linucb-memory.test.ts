import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPolicy, loadPolicy } from '../../../bandit/policies/registry.ts';
import type { Candidates, Policy, QueryFeatures } from '../../../bandit/policy.ts';
import { randomFor } from '../../../bandit/random.ts';
import { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { createTypescriptKernels } from '../kernels/typescript-kernels.ts';

const kernels = createTypescriptKernels();
const random = randomFor('memory policy');
const QUERY: QueryFeatures = {
  embedding: Float32Array.of(0.6, 0.8),
  terms: { terms: Uint32Array.of(4, 9), weights: Float32Array.of(0.6, 0.8) },
};

function policyWith(tools: number, parameters: Record<string, number> = {}): Policy {
  const vectors = new ToolVectors(kernels, 2);
  const policy = createPolicy('sc-linucb-memory', { kernels, vectors, parameters, derived: true });
  for (let slot = 0; slot < tools; slot++) {
    vectors.put(slot, Float32Array.of(Math.cos(slot), Math.sin(slot)));
    policy.addTool(slot);
  }
  return policy;
}

/** Candidates in the order in which retrieval puts them. */
function retrieved(scores: readonly { h: number; c: number }[], embedder = true): Candidates {
  const base = ({ h, c }: { h: number; c: number }) => (embedder ? 0.5 * h + 0.5 * c : h);
  const sorted = scores
    .map((score, slot) => ({ ...score, slot }))
    .sort((a, b) => base(b) - base(a) || a.slot - b.slot);
  return {
    slots: Int32Array.from(sorted, ({ slot }) => slot),
    lexical: Float64Array.from(sorted, ({ h }) => h),
    dense: Float64Array.from(sorted, ({ c }) => (embedder ? c : 0)),
    base: Float64Array.from(sorted, base),
    similarity: new Float64Array(sorted.length).fill(0.5),
  };
}

/** 0…1, without denormal numbers: their roundings are as large as they are, and no score is that small. */
const close = fc.double({ min: 0, max: 1, noNaN: true }).filter((value) => value === 0 || value > 1e-300);
/** Scores that differ in the last bits alone are where rounding would show. */
const nearTies = fc
  .tuple(
    fc.array(close, { minLength: 2, maxLength: 4 }),
    fc.array(fc.nat(3), { minLength: 4, maxLength: 30 }),
  )
  .map(([values, picks]) =>
    picks.map((pick, i) => ({ h: values[pick % values.length], c: values[(pick + i) % values.length] })),
  );

describe('sc-linucb-memory', () => {
  it('ranks on day 0 exactly as retrieval does, near-ties included', () => {
    const policy = policyWith(30);
    fc.assert(
      fc.property(
        fc.oneof(nearTies, fc.array(fc.record({ h: close, c: close }), { minLength: 1, maxLength: 30 })),
        fc.boolean(),
        (scores, embedder) => {
          const candidates = retrieved(scores, embedder);
          const { mean, gain } = policy.rank({
            query: QUERY,
            candidates,
            recall: policy.recall(QUERY),
            random,
          });
          expect([...gain].every((value) => value === 0)).toBe(true);
          const order = [...mean.keys()].sort((a, b) => mean[b] - mean[a] || a - b);
          expect(order).toEqual([...mean.keys()]);
          const factor = embedder ? 0.75 : 0.45;
          for (const [i, g] of candidates.base.entries()) expect(mean[i]).toBeCloseTo(factor * g, 12);
        },
      ),
      { numRuns: 500 },
    );
  });

  /** Ranks all tools for a query as the router does; bits of scores and the order. */
  const asked = (policy: Policy, candidates: Candidates) =>
    policy.rank({ query: QUERY, candidates, recall: policy.recall(QUERY), random });
  const teach = (policy: Policy, candidates: Candidates, slot: number, reward: number): void => {
    const { features } = asked(policy, candidates);
    const width = policy.extras.length;
    const i = candidates.slots.indexOf(slot);
    const extras = features.slice(i * width, (i + 1) * width);
    policy.learn({ query: QUERY, slot, similarity: candidates.similarity[i], extras }, reward, 1);
    policy.remember(QUERY, [{ slot, reward }], 0, 0);
  };

  it('is version 1 while nothing was taught: the same order, scores and bits with and without taught vectors', () => {
    const candidates = retrieved(
      Array.from({ length: 12 }, (_, i) => ({ h: i / 12, c: ((i * 5) % 12) / 12 })),
    );
    const [first, second] = [policyWith(12, { taughtRate: 0 }), policyWith(12)];
    expect(asked(second, candidates)).toEqual(asked(first, candidates));
    // Memory alone changes nothing about that.
    for (const policy of [first, second]) policy.remember(QUERY, [{ slot: 3, reward: 1 }], 0, 0);
    expect(asked(second, candidates)).toEqual(asked(first, candidates));
  });

  it('is version 1 for good at rate 0', () => {
    const candidates = retrieved(
      Array.from({ length: 12 }, (_, i) => ({ h: i / 12, c: ((i * 5) % 12) / 12 })),
    );
    const policy = policyWith(12, { taughtRate: 0 });
    for (let at = 0; at < 20; at++) teach(policy, candidates, at % 5, at % 2);
    expect(policy.recall(QUERY).taught.slots.length).toBe(0);
    const { features } = asked(policy, candidates);
    const at = policy.extras.indexOf('taught');
    for (let i = 0; i < 12; i++) expect(features[i * policy.extras.length + at]).toBe(0);
  });

  it('moves the taught vector by the outcome that the logged mean did not expect, before the ridge moves', () => {
    const candidates = retrieved([
      { h: 0.2, c: 0.4 },
      { h: 1, c: 0.5 },
    ]);
    const policy = policyWith(2);
    const { mean } = asked(policy, candidates);
    const i = candidates.slots.indexOf(0);
    teach(policy, candidates, 0, 1);
    const { taught } = policy.recall(QUERY);
    expect([...taught.slots]).toEqual([0]);
    // |ψ|² = 1 of the embedding + 1 of the words.
    expect(taught.values[0]).toBeCloseTo(0.2 * (1 - Math.fround(mean[i])) * 2, 6);
    const after = asked(policy, candidates);
    expect(after.features[i * policy.extras.length + policy.extras.indexOf('taught')]).toBeCloseTo(
      taught.values[0],
      6,
    );
    expect(after.bonus[i]).toBeCloseTo(
      0.1 * after.uncertainty[i] + (0.5 * (0.3 + taught.values[0])) / (1 + after.trials[i]),
      6,
    );
  });

  it('never promises more than 1.5 for a tool that was taught much, nor less than 0', () => {
    const candidates = retrieved([
      { h: 1, c: 1 },
      { h: 0.1, c: 0.1 },
    ]);
    const policy = policyWith(2, { alpha: 0 });
    const width = policy.extras.length;
    const extras = (mean: number) => new Float32Array(width).fill(mean, width - 1);
    const learn = (slot: number, reward: number, mean: number) =>
      policy.learn({ query: QUERY, slot, similarity: 0.5, extras: extras(mean) }, reward, 1);
    for (let at = 0; at < 60; at++) {
      learn(0, 1, -9);
      learn(1, 0, 9);
    }
    const { bonus } = asked(policy, candidates);
    expect([...bonus]).toEqual([0.75, 0]);
  });

  it('gives decisions that it did not rank the mean that it would have given them now', () => {
    const candidates = retrieved([
      { h: 0.2, c: 0.4 },
      { h: 1, c: 0.5 },
    ]);
    const policy = policyWith(2);
    for (let at = 0; at < 10; at++) teach(policy, candidates, at % 2, at % 2);
    const ranked = asked(policy, candidates).features;
    const features = policy.features(QUERY, candidates, policy.recall(QUERY));
    for (const [i, value] of features.entries()) expect(value).toBeCloseTo(ranked[i], 5);
  });

  it('refuses what was saved with another projection, or none, by name', () => {
    const policy = policyWith(2, { projection: 0 });
    const vectors = new ToolVectors(kernels, 2);
    const context = { kernels, vectors, parameters: {}, derived: true };
    expect(() => loadPolicy('sc-linucb-memory', context, policy.save())).toThrow('saved with projection 0');
    const { projection: _, projectionSeed: __, ...numbers } = policy.save().numbers;
    const old = { ...policy.save(), numbers };
    expect(() => loadPolicy('sc-linucb-memory', context, old)).toThrow('none (version 1)');
  });

  it('computes features, base and bonus as learning.md says', () => {
    const policy = policyWith(3);
    policy.remember(
      QUERY,
      [
        { slot: 0, reward: 1 },
        { slot: 1, reward: 0 },
      ],
      0,
      0,
    );
    policy.countCall(0, 1, 1);
    const candidates = retrieved([
      { h: 0.2, c: 0.4 },
      { h: 1, c: 0.5 },
      { h: 0, c: 0 },
    ]);
    const ranking = policy.rank({ query: QUERY, candidates, recall: policy.recall(QUERY), random });
    // The case is the query itself: s = 1 is its own reference, so its weight is 1.
    const row = (slot: number) => {
      const i = candidates.slots.indexOf(slot);
      return { i, x: [...ranking.features.slice(8 * i, 8 * i + 6)].map((value) => Number(value.toFixed(6))) };
    };
    expect(row(0).x).toEqual([
      0.2,
      0.4,
      1,
      0.5,
      Number(((1 + 0.25 * 0.3) / 1.5).toFixed(6)),
      Number((2 / 3).toFixed(6)),
    ]);
    expect(row(1).x).toEqual([1, 0.5, 0, 0, Number(((0.25 * 0.75) / 1.5).toFixed(6)), 0.5]);
    expect(row(2).x).toEqual([0, 0, 0, 0, 0, 0.5]);
    const { i } = row(0);
    const rho = (1 + 0.25 * 0.3) / 1.5;
    expect(ranking.base[i]).toBeCloseTo(0.3 * 0.2 + 0.3 * 0.4 + 0.3 * 1 + 0.5 * 0.5 + 0.3 * rho, 6);
    expect(ranking.trials[i]).toBeCloseTo(1, 6);
    expect(ranking.bonus[i]).toBeCloseTo(0.1 * ranking.uncertainty[i] + (0.5 * 0.3) / 2, 6);
  });

  it('halves what it knows about a tool whose description became another one', () => {
    const policy = policyWith(2);
    policy.remember(QUERY, [{ slot: 0, reward: 1 }], 0, 0);
    policy.countCall(0, 1, 1);
    policy.changeTool(0, 0.9);
    expect(policy.recall(QUERY).positives[0]).toBeCloseTo(1, 6);
    policy.changeTool(0, 0.5);
    expect(policy.recall(QUERY).positives[0]).toBeCloseTo(0.5, 6);
    expect([...(policy.save().arrays.calls as Float64Array)].slice(0, 1)).toEqual([0.5]);
  });

  it('tells a tool in memory from one that came to the same slot later', () => {
    const policy = policyWith(2);
    policy.remember(QUERY, [{ slot: 0, reward: 1 }], 0, 0);
    policy.forgetTool(0);
    policy.addTool(0);
    expect([...policy.recall(QUERY).slots]).toEqual([]);
  });
});
