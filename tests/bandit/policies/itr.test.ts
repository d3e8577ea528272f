import { expect, it } from 'vitest';
import { createPolicy } from '../../../bandit/policies/registry.ts';
import type { Candidates } from '../../../bandit/policy.ts';
import { randomFor } from '../../../bandit/random.ts';
import { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { createTypescriptKernels } from '../kernels/typescript-kernels.ts';

const columns = (...values: number[]) => Float64Array.from(values);
const candidates: Candidates = {
  slots: Int32Array.of(0, 1, 2),
  lexical: columns(0.5, 1, 0),
  dense: columns(1, 0.5, 0),
  base: columns(0.75, 0.75, 0),
  similarity: columns(0.8, 0.4, -0.2),
};

function scores(parameters: Record<string, number>, given: Candidates): number[] {
  const kernels = createTypescriptKernels();
  const vectors = new ToolVectors(kernels, 2);
  const policy = createPolicy('itr', { kernels, vectors, parameters, derived: true });
  const query = { embedding: null, terms: { terms: new Uint32Array(0), weights: new Float32Array(0) } };
  const recall = policy.recall(query as never);
  return [...policy.rank({ query: query as never, candidates: given, recall, random: randomFor('x') }).score];
}

it('itr scores by equation 3: w1·cosine + w2·BM25 + w3·reranker', () => {
  const close = (values: number[]) => values.map((value) => expect.closeTo(value, 12));
  expect(scores({ w1: 1, w2: 0.5, w3: 2 }, candidates)).toEqual(close([1.05, 0.9, -0.2]));
  // The words before the reranker was mixed in.
  const reranked = { score: columns(0, 0.25, 1), lexical: columns(0.4, 0.6, 0) };
  expect(scores({ w1: 1, w2: 0.5, w3: 2 }, { ...candidates, reranked })).toEqual(close([1, 1.2, 1.8]));
  expect(scores({ w1: 0, w2: 0, w3: 1 }, { ...candidates, reranked })).toEqual([0, 0.25, 1]);
});
