import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createPolicy } from '../../bandit/policies/registry.ts';
import type { Candidates, Policy, QueryFeatures, SlotPools } from '../../bandit/policy.ts';
import { pooledRecall } from '../../bandit/pooled-recall.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { createTypescriptKernels } from './kernels/typescript-kernels.ts';

const SLOTS = 6;
const kernels = createTypescriptKernels();

/** Slots whose number is in one group are ranked as the first of them. */
function poolsOf(groups: readonly (readonly number[])[]): SlotPools {
  const of = (slot: number) => groups.find((group) => group.includes(slot));
  return {
    size: groups.flat().length,
    representativeOf: (slot) => of(slot)?.[0] ?? slot,
    membersOf: (slot) => (of(slot)?.[0] === slot ? of(slot)! : []),
  };
}

const GROUPS = [
  [1, 3, 4],
  [2, 5],
];

function query(angle: number): QueryFeatures {
  return {
    embedding: Float32Array.of(Math.cos(angle), Math.sin(angle)),
    terms: { terms: Uint32Array.of(Math.round(angle * 3)), weights: Float32Array.of(1) },
  };
}

function candidates(slots: readonly number[], more: Partial<Candidates> = {}): Candidates {
  const column = () => Float64Array.from(slots, (slot) => (slot + 1) / 10);
  const columns = { lexical: column(), dense: column(), base: column(), similarity: column() };
  return { slots: Int32Array.from(slots), ...columns, ...more };
}

type Lesson = { slot: number; angle: number; reward: number; called: boolean };
const lessons = fc.array(
  fc.record({
    slot: fc.nat(SLOTS - 1),
    angle: fc.double({ min: 0, max: 1.5, noNaN: true }),
    reward: fc.constantFrom(0, 0.5, 1),
    called: fc.boolean(),
  }),
  { maxLength: 25, size: 'max' },
);

/** A policy that learned these, and of each slot how often it was called, and how well. */
function taught(all: readonly Lesson[]): { policy: Policy; calls: number[]; successes: number[] } {
  const vectors = new ToolVectors(kernels, 2);
  const policy = createPolicy('sc-linucb-memory', { kernels, vectors, parameters: {}, derived: true });
  const calls = new Array<number>(SLOTS).fill(0);
  const successes = new Array<number>(SLOTS).fill(0);
  for (let slot = 0; slot < SLOTS; slot++) {
    vectors.put(slot, Float32Array.of(Math.cos(slot), Math.sin(slot)));
    policy.addTool(slot);
  }
  for (const [at, { slot, angle, reward, called }] of all.entries()) {
    const extras = new Float32Array(policy.extras.length).fill(0.2);
    policy.learn({ query: query(angle), slot, similarity: 0.5, extras }, reward, 1);
    policy.remember(query(angle), [{ slot, reward }], at, 0);
    if (!called) continue;
    policy.countCall(slot, reward, 1);
    calls[slot]++;
    successes[slot] += reward;
  }
  return { policy, calls, successes };
}

it('what is read of a pool is the sum of what its slots have, and what they have stays as it is', () => {
  fc.assert(
    fc.property(lessons, fc.double({ min: 0, max: 1.5, noNaN: true }), (all, angle) => {
      const { policy, calls, successes } = taught(all);
      const before = JSON.stringify(policy.save());
      const recall = policy.recall(query(angle));
      const own = (slot: number) => {
        const row = recall.slots.indexOf(slot);
        const of = (column: Float64Array) => (row < 0 ? 0 : column[row]);
        const taughtRow = recall.taught.slots.indexOf(slot);
        return {
          positives: of(recall.positives),
          trials: of(recall.trials),
          nearest: of(recall.nearest),
          taught: taughtRow < 0 ? 0 : recall.taught.values[taughtRow],
        };
      };
      const served = [0, 1, 2];
      const pools = poolsOf(GROUPS);
      const ranked = candidates(served, { pools });
      const features = policy.features(query(angle), ranked, recall);
      const width = policy.extras.length;
      for (const [i, slot] of served.entries()) {
        const members = GROUPS.find(([first]) => first === slot) ?? [slot];
        const sum = (of: (slot: number) => number) => members.reduce((total, one) => total + of(one), 0);
        const positives = sum((one) => own(one).positives);
        const trials = sum((one) => own(one).trials);
        const byName = Object.fromEntries(policy.extras.map((name, at) => [name, features[i * width + at]]));
        expect(byName.vote).toBeCloseTo(positives / (trials + 1), 5);
        expect(byName.mx).toBeCloseTo(Math.max(...members.map((one) => own(one).nearest)), 5);
        expect(byName.rho).toBeCloseTo((positives + 0.25 * ranked.base[i]) / (trials + 0.5), 5);
        const called = sum((one) => calls[one]);
        expect(byName.rate).toBeCloseTo((sum((one) => successes[one]) + 1) / (called + 2), 5);
        const whole = sum((one) => own(one).taught);
        const bounded = members.length === 1 ? whole : Math.min(1, Math.max(-1, whole));
        expect(byName.taught).toBeCloseTo(bounded, 5);
      }
      expect(JSON.stringify(policy.save())).toBe(before);
    }),
    { seed: 4, numRuns: 100 },
  );
});

it('a recall without pools is the same object, and pools of pools change nothing more', () => {
  const { policy } = taught([{ slot: 3, angle: 0.4, reward: 1, called: true }]);
  const recall = policy.recall(query(0.4));
  expect(pooledRecall(recall, poolsOf([]))).toBe(recall);
  const once = pooledRecall(recall, poolsOf(GROUPS));
  expect([...once.slots]).toEqual([1]);
  expect([...once.taught.slots]).toEqual([1]);
  expect(pooledRecall(once, poolsOf(GROUPS))).toEqual(once);
});

it('candidates of which none is in a pool rank as without pools, bit for bit', () => {
  fc.assert(
    fc.property(lessons, (all) => {
      const { policy } = taught(all.map((one) => ({ ...one, slot: one.slot % 2 === 0 ? 0 : 1 })));
      const recall = policy.recall(query(0.7));
      const plain = policy.features(query(0.7), candidates([0, 1]), recall);
      const pooled = policy.features(query(0.7), candidates([0, 1], { pools: poolsOf([[2, 5]]) }), recall);
      expect([...pooled]).toEqual([...plain]);
    }),
    { seed: 5, numRuns: 50 },
  );
});
