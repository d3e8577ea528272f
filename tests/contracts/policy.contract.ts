import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { PolicyKind } from '../../bandit/policies/policy-kind.ts';
import { createPolicy, loadPolicy } from '../../bandit/policies/registry.ts';
import type { Candidates, LearnerState, Policy, QueryFeatures, Ranking } from '../../bandit/policy.ts';
import { randomFor } from '../../bandit/random.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';

const DIMENSIONS = 4;

/** Everything that a policy of the registry promises to the rest of the router. */
export function policyContract(kind: PolicyKind, kernels: Kernels): void {
  describe(`policy ${kind.name} on ${kernels.name} kernels`, () => {
    let before: number;
    let vectors: ToolVectors;
    let policy: Policy;

    beforeEach(() => {
      before = kernels.allocatedBytes;
      vectors = new ToolVectors(kernels, DIMENSIONS);
      policy = createPolicy(kind.name, context());
    });

    afterEach(() => {
      policy.free();
      vectors.free();
      expect(kernels.allocatedBytes).toBe(before);
    });

    const context = (derived = true) => ({ kernels, vectors, parameters: {}, derived });

    const addTool = (slot: number, learners: readonly Policy[] = [policy]): void => {
      vectors.put(slot, unit(slot));
      for (const learner of learners) learner.addTool(slot);
    };

    const candidates = (query: QueryFeatures, slots: readonly number[]): Candidates => {
      const similarity = Float64Array.from(slots, (slot) => {
        return vectors.get(slot).reduce((sum, value, i) => sum + value * (query.embedding?.[i] ?? 0), 0);
      });
      const dense = similarity.map((value) => (value + 1) / 2);
      const lexical = Float64Array.from(slots, (slot) => (slot % 3) / 2);
      return {
        slots: Int32Array.from(slots),
        lexical,
        dense,
        base: dense.map((value, i) => 0.5 * lexical[i] + 0.5 * value),
        similarity,
      };
    };

    const rank = (query: QueryFeatures, slots: readonly number[], seed = 'seed', by = policy): Ranking =>
      by.rank({
        query,
        candidates: candidates(query, slots),
        recall: by.recall(query),
        random: randomFor(seed),
      });

    /** One decision with these tools and rewards, taken through as the fold does it. */
    const learn = (
      query: QueryFeatures,
      rewards: Readonly<Record<number, number>>,
      at = 0,
      by = [policy],
    ) => {
      const slots = Object.keys(rewards).map(Number);
      const { features } = rank(query, slots, `learn${at}`, by[0]);
      const { similarity } = candidates(query, slots);
      for (const learner of by) {
        const width = learner.extras.length;
        for (const [i, slot] of slots.entries()) {
          const extras = features.slice(i * width, (i + 1) * width);
          const example = { query, slot, similarity: similarity[i], extras };
          learner.learn(example, rewards[slot], 1);
          learner.countCall(slot, rewards[slot], 1);
        }
        learner.remember(
          query,
          slots.map((slot) => ({ slot, reward: rewards[slot] })),
          at,
          7,
        );
      }
    };

    it('scores every candidate with finite numbers that add up', () => {
      for (const slot of [0, 1, 2, 5]) addTool(slot);
      for (let at = 0; at < 30; at++) learn(query(at), { 0: at % 2, 1: 0, 5: 0.5 }, at);
      const ranking = rank(query(3), [0, 1, 2, 5]);
      expectFinite(ranking, 4, policy.extras.length);
      for (let i = 0; i < 4; i++) {
        expect(ranking.mean[i]).toBeCloseTo(ranking.base[i] + ranking.gain[i], 12);
        expect(ranking.uncertainty[i]).toBeGreaterThanOrEqual(0);
        expect(ranking.score[i]).toBeCloseTo(ranking.mean[i] + ranking.bonus[i], 12);
      }
    });

    it('ranks tools that are the same, and tells them apart by their outcomes alone', () => {
      for (const slot of [0, 3, 6]) {
        vectors.put(slot, unit(1));
        policy.addTool(slot);
      }
      for (let at = 0; at < 30; at++) learn(query(0), { 0: 0, 3: 1, 6: 0 }, at);
      const { mean, ...rest } = rank(query(0), [0, 3, 6]);
      expectFinite({ mean, ...rest }, 3, policy.extras.length);
      // What is not told apart by name or by memory stays together.
      if (mean[1] !== mean[0]) expect(mean[1]).toBeGreaterThan(mean[0]);
      expect(mean[2]).toBeCloseTo(mean[0], 9);
    });

    it('survives nothing but zero rewards', () => {
      for (const slot of [0, 1, 2]) addTool(slot);
      for (let at = 0; at < 60; at++) learn(query(at), { 0: 0, 1: 0, 2: 0 }, at);
      expectFinite(rank(query(1), [0, 1, 2]), 3, policy.extras.length);
    });

    it('ranks a single tool, and none', () => {
      addTool(0);
      learn(query(0), { 0: 1 });
      expectFinite(rank(query(0), [0]), 1, policy.extras.length);
      expectFinite(rank(query(0), []), 0, policy.extras.length);
    });

    it('ranks queries without an embedding', () => {
      for (const slot of [0, 1]) addTool(slot);
      const wordsOnly = { ...query(0), embedding: null };
      learn(wordsOnly, { 0: 1, 1: 0 });
      expectFinite(rank(wordsOnly, [0, 1]), 2, policy.extras.length);
    });

    it('goes on through tools added, removed, brought back, changed and forgotten', () => {
      for (const slot of [0, 1]) addTool(slot);
      for (let at = 0; at < 10; at++) learn(query(at), { 0: 1, 1: 0 }, at);
      addTool(200);
      expectFinite(rank(query(0), [0, 1, 200]), 3, policy.extras.length);
      // Removed: it is no candidate any more. Back: it is one again.
      expectFinite(rank(query(0), [1, 200]), 2, policy.extras.length);
      expectFinite(rank(query(0), [0, 1, 200]), 3, policy.extras.length);
      for (const [slot, similarity] of [
        [1, 0.95],
        [1, 0.1],
      ] as const) {
        vectors.put(slot, unit(slot + 9));
        policy.changeTool(slot, similarity);
        expectFinite(rank(query(0), [0, 1, 200]), 3, policy.extras.length);
      }
      policy.forgetTool(0);
      vectors.clear(0);
      expectFinite(rank(query(0), [1, 200]), 2, policy.extras.length);
      addTool(0);
      learn(query(0), { 0: 0, 200: 1 });
      expectFinite(rank(query(0), [0, 1, 200]), 3, policy.extras.length);
    });

    it('ranks the same under the same seed, and choosing changes nothing that is saved', () => {
      for (const slot of [0, 1, 2]) addTool(slot);
      for (let at = 0; at < 10; at++) learn(query(at), { 0: 1, 1: 0 }, at);
      const saved = policy.save();
      const first = rank(query(1), [0, 1, 2], 'one');
      rank(query(2), [2, 1], 'two');
      expect(rank(query(1), [0, 1, 2], 'one')).toEqual(first);
      expect(policy.save()).toEqual(saved);
    });

    it('learns what does well', () => {
      if (!learns(policy.save())) return;
      for (const slot of [0, 1]) addTool(slot);
      const { base } = rank(query(2), [0, 1]);
      const worse = base[0] > base[1] ? 1 : 0;
      for (let at = 0; at < 50; at++) learn(query(2), { [worse]: 1, [1 - worse]: 0 }, at);
      const { mean } = rank(query(2), [0, 1]);
      expect(mean[worse]).toBeGreaterThan(mean[1 - worse] + 0.1);
    });

    it('comes back from a snapshot with the same state and the same scores', () => {
      for (const slot of [0, 1, 2]) addTool(slot);
      for (let at = 0; at < 40; at++) learn(query(at), { 0: at % 2, 1: 0, 2: 1 }, at);
      const copy = loadPolicy(kind.name, context(), policy.save());
      expect(copy.save()).toEqual(policy.save());
      // Derived values are computed anew, so scores agree to rounding; what follows must go the same way.
      const [a, b] = [policy, copy].map((by) => rank(query(5), [0, 1, 2], 'seed', by));
      for (let i = 0; i < 3; i++) expect(b.score[i]).toBeCloseTo(a.score[i], 9);
      const script = (by: Policy): void => {
        by.remember(query(1), [{ slot: 2, reward: 1 }], 99, 3);
        by.addTool(9);
        by.forgetUnit(3);
        by.forgetTool(1);
      };
      script(policy);
      script(copy);
      expect(copy.save()).toEqual(policy.save());
      copy.free();
    });

    it('folds to the same bits without anything derived, and says that it cannot rank then', () => {
      const folding = createPolicy(kind.name, context(false));
      for (const slot of [0, 1, 2]) addTool(slot, [policy, folding]);
      for (let at = 0; at < 20; at++) learn(query(at), { 0: at % 2, 1: 0 }, at, [policy, folding]);
      expect(folding.save()).toEqual(policy.save());
      if (learns(policy.save())) expect(() => rank(query(0), [0, 1], 'seed', folding)).toThrow(/fold/);
      folding.free();
    });

    it('ranks the same once it is frozen', () => {
      for (const slot of [0, 1, 2]) addTool(slot);
      for (let at = 0; at < 20; at++) learn(query(at), { 0: at % 2, 1: 0, 2: 1 }, at);
      const before = [1, 50].map((seed) => rank(query(seed), [0, 1, 2]));
      policy.freeze();
      const after = [1, 50].map((seed) => rank(query(seed), [0, 1, 2]));
      for (const [i, { score, mean }] of after.entries()) {
        for (let at = 0; at < 3; at++) {
          expect(score[at]).toBeCloseTo(before[i].score[at], 10);
          expect(mean[at]).toBeCloseTo(before[i].mean[at], 10);
        }
      }
      // The registry says which ones a replay has to teach.
      expect(kind.learns).toBe(learns(policy.save()));
    });

    it('takes a correction as if the other reward had been learned', () => {
      const other = createPolicy(kind.name, context());
      addTool(0, [policy, other]);
      const extras = new Float32Array(policy.extras.length).fill(0.5);
      // What a taught vector learns depends on what was expected, and then on what is corrected.
      extras[policy.extras.indexOf('mean')] = 0;
      const example = { query: query(0), slot: 0, similarity: 0.25, extras };
      policy.learn(example, 0, 2);
      policy.correct(example, 0, 1, 2);
      other.learn(example, 1, 2);
      expect(policy.save()).toEqual(other.save());
      expect(rank(query(0), [0]).mean[0]).toBeCloseTo(rank(query(0), [0], 'seed', other).mean[0], 12);
      other.free();
    });

    it('refuses what is not a number, and learns nothing from it', () => {
      addTool(0);
      const extras = new Float32Array(policy.extras.length);
      const example = { query: query(0), slot: 0, similarity: 0.5, extras };
      learn(query(0), { 0: 1 });
      const saved = policy.save();
      for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, 1e308, -1e308, -0.5, 1.5]) {
        expect(() => policy.learn(example, bad, 1)).toThrow(RangeError);
        expect(() => policy.correct(example, 0, bad, 1)).toThrow(RangeError);
      }
      for (const weight of [Number.NaN, 0, -1, 1e308, Number.POSITIVE_INFINITY])
        expect(() => policy.learn(example, 1, weight)).toThrow(RangeError);
      const noNumber = { ...example, similarity: Number.NaN };
      expect(() => policy.learn(noNumber, 1, 1)).toThrow(RangeError);
      expect(policy.save()).toEqual(saved);
    });

    it('refuses the state of another policy', () => {
      const state = { ...policy.save(), policy: 'another' };
      expect(() => loadPolicy(kind.name, context(), state)).toThrow(/another/);
    });

    it('says how large it is', () => {
      const { matrices, perTool, memory, cases } = policy.sizeInBytes();
      for (const bytes of [matrices, perTool, memory, cases]) expect(bytes).toBeGreaterThanOrEqual(0);
    });
  });
}

/** Policies that learn count their updates. */
function learns(state: LearnerState): boolean {
  return 'updates' in state.numbers;
}

function unit(seed: number): Float32Array {
  const random = randomFor(`vector${seed}`);
  const vector = Float32Array.from({ length: DIMENSIONS }, (_, i) => random.uniform(i) - 0.5);
  const norm = Math.hypot(...vector);
  return vector.map((value) => value / norm);
}

function query(seed: number): QueryFeatures {
  const terms = Uint32Array.from([seed % 7, 10 + (seed % 3)]);
  return { embedding: unit(1000 + seed), terms: { terms, weights: Float32Array.of(0.6, 0.8) } };
}

function expectFinite(ranking: Ranking, count: number, width: number): void {
  const { features, ...columns } = ranking;
  for (const column of Object.values(columns)) {
    expect(column.length).toBe(count);
    expect([...column].every(Number.isFinite)).toBe(true);
  }
  expect(features.length).toBe(count * width);
  expect([...features].every(Number.isFinite)).toBe(true);
}
