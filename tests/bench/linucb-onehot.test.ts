import { inverse, Matrix } from 'ml-matrix';
import { expect, it } from 'vitest';
import { EMPTY_RECALL } from '../../bandit/policies/without-memory.ts';
import { randomFor } from '../../bandit/random.ts';
import { EMPTY_SPARSE_VECTOR } from '../../bandit/sparse-vector.ts';
import { LinUcbOneHot } from '../../bench/linucb-onehot.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';

const kernels = createTypescriptKernels();
const TOOLS = 4;
const D = 3;
const ALPHA = 0.7;
const LAMBDA = 2;
const random = randomFor('one-hot');

function embeddingOf(at: number): Float32Array {
  return Float32Array.from({ length: D }, (_, i) => random.uniform(10 * at + i) - 0.5);
}

function rank(learner: LinUcbOneHot, embedding: Float32Array) {
  const slots = Int32Array.from({ length: TOOLS }, (_, slot) => slot);
  const nothing = new Float64Array(TOOLS);
  const candidates = { slots, lexical: nothing, dense: nothing, base: nothing, similarity: nothing };
  return learner.rank({
    query: { embedding, terms: EMPTY_SPARSE_VECTOR },
    candidates,
    recall: EMPTY_RECALL,
    random,
  });
}

function learner(): LinUcbOneHot {
  const one = new LinUcbOneHot({ kernels, dimensions: D, alpha: ALPHA, lambda: LAMBDA });
  for (let slot = 0; slot < TOOLS; slot++) one.addTool(slot);
  return one;
}

function learn(one: LinUcbOneHot, at: number): { x: Matrix; reward: number } {
  const [embedding, slot, reward] = [embeddingOf(at), at % TOOLS, at % 3 === 0 ? 1 : 0];
  one.learn(
    { query: { embedding, terms: EMPTY_SPARSE_VECTOR }, slot, similarity: 0, extras: new Float32Array(0) },
    reward,
    1,
  );
  return { x: row(embedding, slot), reward };
}

function row(embedding: Float32Array, slot: number): Matrix {
  return Matrix.columnVector([
    ...embedding,
    ...Array.from({ length: TOOLS }, (_, i) => (i === slot ? 1 : 0)),
    1,
  ]);
}

it('the baseline is LinUCB over [q; e_slot; 1]', () => {
  const one = learner();
  const a = Matrix.eye(D + TOOLS + 1).mul(LAMBDA);
  const b = Matrix.zeros(D + TOOLS + 1, 1);
  for (let at = 0; at < 60; at++) {
    const { x, reward } = learn(one, at);
    a.add(x.mmul(x.transpose()));
    b.add(x.mul(reward));
  }
  const embedding = embeddingOf(500);
  const { mean, score } = rank(one, embedding);
  const theta = inverse(a).mmul(b);
  for (let slot = 0; slot < TOOLS; slot++) {
    const x = row(embedding, slot);
    const expected = theta.transpose().mmul(x).get(0, 0);
    const form = x.transpose().mmul(inverse(a)).mmul(x).get(0, 0);
    expect(mean[slot]).toBeCloseTo(expected, 10);
    expect(score[slot]).toBeCloseTo(expected + ALPHA * Math.sqrt(form), 10);
  }
  one.free();
});

it('the baseline starts anew when the set of tools changes', () => {
  const embedding = embeddingOf(1);
  const empty = rank(learner(), embedding);
  for (const change of ['addTool', 'forgetTool'] as const) {
    const one = learner();
    for (let at = 0; at < 60; at++) learn(one, at);
    expect(rank(one, embedding)).not.toEqual(empty);
    one[change](3);
    expect(rank(one, embedding)).toEqual(empty);
  }
});
