import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import type { Kernels } from '../../../bandit/kernels/kernels.ts';
import { createWasmKernels } from '../../../bandit/kernels/wasm-kernels.ts';
import { encodeLearner } from '../../../bandit/learner-codec.ts';
import { createPolicy } from '../../../bandit/policies/registry.ts';
import type { ChosenContext, LearnerState } from '../../../bandit/policy.ts';
import { randomFor } from '../../../bandit/random.ts';
import { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { createTypescriptKernels } from '../kernels/typescript-kernels.ts';

const DIMENSIONS = 19;
const TOOLS = 12;
const CASES = 40;

/** A life of a policy, full memory included, in which similarities decide again and again. */
function lived(kernels: Kernels, name = 'sc-linucb-memory'): LearnerState {
  const vectors = new ToolVectors(kernels, DIMENSIONS);
  const isMemory = name.startsWith('sc-linucb-');
  const parameters: Record<string, number> = isMemory ? { cases: CASES } : {};
  const policy = createPolicy(name, { kernels, vectors, parameters, derived: true });
  const random = randomFor('same bits');
  let draws = 0;
  const draw = (): number => random.uniform(draws++);
  const unit = (): Float32Array => {
    const vector = Float32Array.from({ length: DIMENSIONS }, () => draw() - 0.5);
    return vector.map((value) => value / Math.hypot(...vector));
  };
  for (let slot = 0; slot < TOOLS; slot++) {
    vectors.put(slot, unit());
    policy.addTool(slot);
  }
  const topics = Array.from({ length: 25 }, unit);
  const slots = Int32Array.from({ length: TOOLS }, (_, slot) => slot);
  for (let at = 0; at < 400; at++) {
    const topic = topics[Math.floor(draw() * topics.length)];
    const noisy = topic.map((value) => value + 0.3 * (draw() - 0.5));
    const embedding = noisy.map((value) => value / Math.hypot(...noisy));
    const terms = Uint32Array.of(at % 5, 10 + (at % 3));
    const context = name === 'sc-linucb-context' && at % 5 !== 0 ? contextAt(at) : undefined;
    const query = {
      ...{ embedding, terms: { terms, weights: Float32Array.of(0.6, 0.8) } },
      ...(context && { context }),
    };
    const similarity = Float64Array.from(slots, (slot) => {
      return vectors.get(slot).reduce((sum, value, i) => sum + value * embedding[i], 0);
    });
    const dense = similarity.map((value) => (value + 1) / 2);
    const candidates = { slots, similarity, dense, lexical: dense, base: dense };
    const ranking = policy.rank({ query, candidates, recall: policy.recall(query), random });
    // The three best are shown, and the score decides what is learned: a single other bit would spread.
    const shown = [...slots].sort((a, b) => ranking.score[b] - ranking.score[a]).slice(0, 3);
    const rewards = shown.map(() => (draw() < 0.4 ? 1 : 0));
    const width = policy.extras.length;
    for (const [i, slot] of shown.entries()) {
      const extras = ranking.features.slice(slot * width, (slot + 1) * width);
      policy.learn({ query, slot, similarity: similarity[slot], extras }, rewards[i], 1);
    }
    policy.remember(
      query,
      shown.map((slot, i) => ({ slot, reward: rewards[i] })),
      at,
      at % 7,
    );
  }
  if (isMemory) expect(policy.sizeInBytes().cases).toBe(CASES);
  const saved = policy.save();
  policy.free();
  vectors.free();
  return saved;
}

/** What one of eleven users has that the query needs, some day within a year. */
function contextAt(at: number): ChosenContext {
  const random = randomFor(`context ${at}`);
  return {
    unit: 1 + (at % 11),
    at: Math.floor(random.uniform(0) * 365) * 86_400_000,
    items: Array.from({ length: at % 4 }, (_, i) => ({ number: Math.floor(9 * random.uniform(1 + i)) })),
    features: Float32Array.from({ length: 16 }, (_, i) => random.uniform(9 + i)),
  };
}

/** Learners that were saved go on from their bits: a change of these numbers needs another version of the policy. */
const LIVES = JSON.parse(
  readFileSync(new URL('../../golden/learned-lives.json', import.meta.url), 'utf8'),
) as Record<string, number>;

it.each(Object.entries(LIVES))(
  'a whole life of %s ends in the bits that it always ended in',
  (name, digest) => {
    expect(crc32(encodeLearner(lived(createTypescriptKernels(), name), crc32))).toBe(digest);
  },
);

it.each(['sc-linucb-memory', 'sc-linucb-context'])(
  'a whole life of %s ends in the same bits on either kernel',
  (name) => {
    const wasm = readFileSync(new URL('../../../bandit/kernels/kernels.wasm', import.meta.url));
    expect(lived(createWasmKernels(wasm), name)).toEqual(lived(createTypescriptKernels(), name));
  },
);
