import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPolicy } from '../../../bandit/policies/registry.ts';
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
      return { i, x: [...ranking.features.slice(6 * i, 6 * i + 6)].map((value) => Number(value.toFixed(6))) };
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
