import { inverse, Matrix } from 'ml-matrix';
import { describe, expect, it } from 'vitest';
import { createPolicy } from '../../../bandit/policies/registry.ts';
import type { Policy } from '../../../bandit/policy.ts';
import { type Random, randomFor } from '../../../bandit/random.ts';
import { EMPTY_SPARSE_VECTOR } from '../../../bandit/sparse-vector.ts';
import { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { createTypescriptKernels } from '../kernels/typescript-kernels.ts';

const kernels = createTypescriptKernels();
const TOOLS = 4;
const DIMENSIONS = 3;

/** A small world: vectors of four tools, and a policy that knows them. */
function world(name: string, parameters: Record<string, number>) {
  const numbers = randomFor('linear policies');
  const vectors = new ToolVectors(kernels, DIMENSIONS);
  const policy = createPolicy(name, { kernels, vectors, parameters, derived: true });
  for (let slot = 0; slot < TOOLS; slot++) {
    vectors.put(
      slot,
      Float32Array.from({ length: DIMENSIONS }, (_, i) => numbers.uniform(10 * slot + i) - 0.5),
    );
    policy.addTool(slot);
  }
  return { vectors, policy, numbers };
}

function queryOf(numbers: Random, at: number): Float32Array {
  return Float32Array.from({ length: DIMENSIONS }, (_, i) => numbers.uniform(1000 + 10 * at + i) - 0.5);
}

function similarityOf(vectors: ToolVectors, embedding: Float32Array, slot: number): number {
  return vectors.get(slot).reduce((sum, value, i) => sum + value * embedding[i], 0);
}

function rank(policy: Policy, vectors: ToolVectors, embedding: Float32Array, random: Random) {
  const slots = Int32Array.from({ length: TOOLS }, (_, slot) => slot);
  const nothing = new Float64Array(TOOLS);
  const similarity = Float64Array.from(slots, (slot) => similarityOf(vectors, embedding, slot));
  const query = { embedding, terms: EMPTY_SPARSE_VECTOR };
  const candidates = { slots, similarity, lexical: nothing, dense: nothing, base: nothing };
  return policy.rank({ query, candidates, recall: policy.recall(query), random });
}

/** Lets the policy and a textbook ridge see the same 60 rewards; answers A⁻¹ and θ of the latter. */
function learn(
  { policy, vectors, numbers }: ReturnType<typeof world>,
  row: (embedding: Float32Array, slot: number, similarity: number) => number[],
  prior: readonly number[],
  lambda: number,
): { inverse: Matrix; theta: Matrix } {
  const a = Matrix.eye(prior.length).mul(lambda);
  const b = Matrix.columnVector(prior.map((value) => lambda * value));
  for (let at = 0; at < 60; at++) {
    const embedding = queryOf(numbers, at);
    const slot = at % TOOLS;
    const similarity = similarityOf(vectors, embedding, slot);
    const reward = numbers.uniform(9000 + at) < 0.5 ? 0 : 1;
    policy.learn(
      { query: { embedding, terms: EMPTY_SPARSE_VECTOR }, slot, similarity, extras: new Float32Array(0) },
      reward,
      1,
    );
    const x = Matrix.columnVector(row(embedding, slot, similarity));
    a.add(x.mmul(x.transpose()));
    b.add(x.clone().mul(reward));
  }
  return { inverse: inverse(a), theta: inverse(a).mmul(b) };
}

const semanticRow = (vectors: ToolVectors) => (embedding: Float32Array, slot: number, similarity: number) => [
  ...embedding,
  ...vectors.get(slot),
  similarity,
  1,
];

const form = (x: Matrix, matrix: Matrix): number => x.transpose().mmul(matrix).mmul(x).get(0, 0);

describe('sc-linucb', () => {
  it('is Algorithm 3 of the paper', () => {
    const here = world('sc-linucb', { alpha: 0.7, lambda: 2, prior: 0.4 });
    const row = semanticRow(here.vectors);
    const { inverse: a, theta } = learn(here, row, [...new Array(6).fill(0), 0.4, 0], 2);
    const embedding = queryOf(here.numbers, 500);
    const { score, mean, uncertainty } = rank(here.policy, here.vectors, embedding, randomFor('-'));
    for (let slot = 0; slot < TOOLS; slot++) {
      const x = Matrix.columnVector(row(embedding, slot, similarityOf(here.vectors, embedding, slot)));
      expect(mean[slot]).toBeCloseTo(theta.transpose().mmul(x).get(0, 0), 10);
      expect(uncertainty[slot]).toBeCloseTo(Math.sqrt(form(x, a)), 10);
      expect(score[slot]).toBeCloseTo(mean[slot] + 0.7 * Math.sqrt(form(x, a)), 10);
    }
  });
});

describe('lin-ts', () => {
  it('draws weights with the mean θ and the covariance α²A⁻¹', () => {
    const here = world('lin-ts', { alpha: 0.5, lambda: 1, prior: 0.4 });
    const row = semanticRow(here.vectors);
    const { inverse: a } = learn(here, row, [...new Array(6).fill(0), 0.4, 0], 1);
    const embedding = queryOf(here.numbers, 500);
    const draws = Array.from(
      { length: 4000 },
      (_, i) => rank(here.policy, here.vectors, embedding, randomFor(`ts${i}`)).bonus,
    );
    const xs = Array.from({ length: TOOLS }, (_, slot) =>
      Matrix.columnVector(row(embedding, slot, similarityOf(here.vectors, embedding, slot))),
    );
    const average = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    for (let i = 0; i < TOOLS; i++) {
      const deviation = 0.5 * Math.sqrt(form(xs[i], a));
      expect(Math.abs(average(draws.map((bonus) => bonus[i])))).toBeLessThan(
        (4 * deviation) / Math.sqrt(draws.length),
      );
      for (let j = 0; j <= i; j++) {
        const expected = 0.25 * xs[i].transpose().mmul(a).mmul(xs[j]).get(0, 0);
        const covariance = average(draws.map((bonus) => bonus[i] * bonus[j]));
        expect(Math.abs(covariance - expected)).toBeLessThan(
          0.1 * deviation * 0.5 * Math.sqrt(form(xs[j], a)),
        );
      }
    }
  });
});

describe('policies that never learn', () => {
  it('rank by what their names say', () => {
    const slots = Int32Array.of(0, 1);
    const candidates = {
      slots,
      lexical: Float64Array.of(1, 0),
      dense: Float64Array.of(0, 0.5),
      base: Float64Array.of(0.5, 0.25),
      similarity: Float64Array.of(0.1, 0.3),
    };
    const query = { embedding: null, terms: EMPTY_SPARSE_VECTOR };
    const scores = ['cosine', 'hybrid', 'uniform'].map((name) => {
      const { policy } = world(name, {});
      return [
        ...policy.rank({ query, candidates, recall: policy.recall(query), random: randomFor('-') }).score,
      ];
    });
    expect(scores).toEqual([
      [0.1, 0.3],
      [0.5, 0.25],
      [0, 0],
    ]);
  });
});
