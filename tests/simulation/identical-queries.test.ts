import { describe, expect, it } from 'vitest';
import { createPolicy } from '../../bandit/policies/registry.ts';
import type { QueryFeatures } from '../../bandit/policy.ts';
import { randomFor } from '../../bandit/random.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../../src/ledger/catalog-settings.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { SimulatedCatalog } from '../../src/simulation/simulated-catalog.ts';
import { wasmKernels } from '../bandit/kernels/both-kernels.ts';

const POLICY = DEFAULT_CATALOG_SETTINGS.policy;

const TOOLS = ['refund a payment', 'refund an order', 'refund a ticket', 'track a parcel'];
const QUERY = 'refund please';
const MANY = 100_000;
/** So many callers ask at the same moment and get the same slate. */
const TOGETHER = 10;
/** So far apart that records of decisions run out while the test goes on. */
const SECONDS_APART = 60;

describe('the same query a hundred thousand times', () => {
  it('fills one case and no more, and the ranking stays sane', { timeout: 300_000 }, () => {
    const catalog = new SimulatedCatalog(wasmKernels(), 0, POLICY);
    catalog.put(
      TOOLS.map((description, i) => ({
        tool: { name: `t${i}`, description, inputSchema: { type: 'object' } },
        embedding: null,
      })),
    );
    const query = { text: QUERY, tokens: tokenise(QUERY), embedding: null };
    const { policy } = catalog.state.learners.active;
    const greedy = (): string[] => {
      const { slate, candidates, columns } = catalog.decide('greedy', query, 2, false);
      for (const column of Object.values(columns)) expect([...column].every(Number.isFinite)).toBe(true);
      return slate.map((index) => candidates[index]);
    };

    let bytes = 0;
    for (let step = 0; step < MANY; step += TOGETHER) {
      catalog.advance(step * SECONDS_APART);
      const decision = catalog.decide(`same.${step}`, query, 2, true);
      const shown = decision.slate.map((index) => decision.candidates[index]);
      // t2 is right in the first half, t1 in the second: what is known must not have set in stone.
      const right = step < MANY / 2 ? 't2' : 't1';
      const success = shown.includes(right);
      for (let i = 0; i < TOGETHER; i++) {
        const again = { ...decision, id: `same.${step + i}` };
        catalog.report(again, [{ tool: success ? right : shown[0], success }]);
      }
      if (step === 1000) bytes = policy.sizeInBytes().memory;
      if (step + TOGETHER === MANY / 2) expect(greedy()[0]).toBe('t2');
    }
    expect(greedy()[0]).toBe('t1');
    const size = policy.sizeInBytes();
    expect(size.cases).toBe(1);
    expect(size.memory).toBe(bytes);
    expect(size.updates).toBeGreaterThan(MANY);
    // P + N of a tool stays within its limit.
    const [{ caseId }] = policy.recall({
      embedding: null,
      terms: catalog.index.queryTerms(query),
    }).cases;
    for (const { positives, negatives } of policy.caseCounts(caseId)) {
      expect(positives + negatives).toBeLessThanOrEqual(5 + 1e-4);
    }
    // What is remembered of decisions is bounded by the reward window.
    expect(catalog.state.decisions.size).toBeLessThan(12_000);
    catalog.free();
  });
});

describe('the same query a million times', () => {
  const MILLION = 1_000_000;
  const SHOWN = [0, 1, 2];

  it('is one case of constant size, and finite numbers that still follow what happens', {
    timeout: 300_000,
  }, () => {
    const kernels = wasmKernels();
    const vectors = new ToolVectors(kernels, 4);
    const policy = createPolicy('sc-linucb-memory', { kernels, vectors, parameters: {}, derived: true });
    for (const slot of SHOWN) {
      vectors.put(slot, Float32Array.of(1, 0, 0, 0));
      policy.addTool(slot);
    }
    const query: QueryFeatures = {
      embedding: Float32Array.of(0.6, 0.8, 0, 0),
      terms: { terms: Uint32Array.of(5), weights: Float32Array.of(1) },
    };
    const half = new Float64Array(SHOWN.length).fill(0.5);
    const candidates = {
      slots: Int32Array.from(SHOWN),
      lexical: half,
      dense: half,
      base: half,
      similarity: half,
    };
    const ranked = () =>
      policy.rank({ query, candidates, recall: policy.recall(query), random: randomFor('any') });
    let bytes = 0;
    let features = ranked().features;
    for (let at = 0; at < MILLION; at++) {
      if (at % 1000 === 0) features = ranked().features;
      const right = at < MILLION / 2 ? 1 : 2;
      const slot = at % SHOWN.length;
      const reward = slot === right ? 1 : 0;
      const width = policy.extras.length;
      const extras = features.subarray(slot * width, (slot + 1) * width);
      policy.learn({ query, slot, similarity: 0.6, extras }, reward, 1);
      policy.countCall(slot, reward, 1);
      policy.remember(query, [{ slot, reward }], at, at % 5000);
      if (at === 1000) bytes = policy.sizeInBytes().memory;
      if (at === MILLION / 2 - 1) expect(best(ranked().mean)).toBe(1);
    }
    const ranking = ranked();
    for (const column of Object.values(ranking)) expect([...column].every(Number.isFinite)).toBe(true);
    expect(best(ranking.mean)).toBe(2);
    expect(ranking.mean.every((value) => value > -1 && value < 2)).toBe(true);
    expect(policy.sizeInBytes()).toMatchObject({ cases: 1, memory: bytes, updates: MILLION });
    policy.free();
    vectors.free();
    expect(kernels.allocatedBytes).toBe(0);
  });
});

function best(mean: Float64Array): number {
  return mean.indexOf(Math.max(...mean));
}
