import { describe, expect, it } from 'vitest';
import { POLICY_KINDS } from '../../bandit/policies/registry.ts';
import { randomFor } from '../../bandit/random.ts';
import type { PolicySettings } from '../../src/ledger/catalog-settings.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { CAREFUL_AGENT } from '../../src/simulation/agent.ts';
import { castingOf, NO_CHANGES } from '../../src/simulation/catalog-changes.ts';
import type { LabelledQuery } from '../../src/simulation/evaluate.ts';
import { Exposures } from '../../src/simulation/evaluate.ts';
import { meanOf, type SimulationOptions, simulate } from '../../src/simulation/simulate.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';

const TOPICS = 12;
const TOOLS_PER_TOPIC = 4;
const DIMENSIONS = 8;

/**
 * A small world in which retrieval finds the topic, but not which of its tools fits: descriptions are alike
 * within a topic, and users of a kind (a word of the query) always need the same one.
 */
const tools = Array.from({ length: TOPICS * TOOLS_PER_TOPIC }, (_, i) => ({
  tool: { name: nameOf(i), description: `works on topic${Math.floor(i / TOOLS_PER_TOPIC)}`, inputSchema: {} },
  embedding: direction(Math.floor(i / TOOLS_PER_TOPIC)),
}));

function nameOf(index: number): string {
  return `tool${index}`;
}

function direction(seed: number): Float32Array {
  const random = randomFor(`topic ${seed}`);
  const vector = Float32Array.from({ length: DIMENSIONS }, (_, i) => random.uniform(i) - 0.5);
  return vector.map((value) => value / Math.hypot(...vector));
}

function queriesOf(count: number, from = 0): LabelledQuery[] {
  return Array.from({ length: count }, (_, i) => {
    const topic = (from + i) % TOPICS;
    const kind = Math.floor((from + i) / TOPICS) % TOOLS_PER_TOPIC;
    const text = `need topic${topic} as kind${kind} number${from + i}`;
    return {
      text,
      tokens: tokenise(text),
      embedding: direction(topic),
      relevant: [nameOf(topic * TOOLS_PER_TOPIC + kind)],
    };
  });
}

const policyOf = (name: string): PolicySettings => ({
  name,
  parameters: {},
  exploration: 'plackett-luce',
  temperature: 0.03,
});

const base = (more: Partial<SimulationOptions> = {}): SimulationOptions => ({
  kernels: createTypescriptKernels(),
  tools,
  queries: queriesOf(480),
  heldOut: queriesOf(96, 480),
  policy: policyOf('sc-linucb-memory'),
  k: 1,
  seed: 1,
  ...more,
});

describe('simulate', () => {
  it('shows that outcome memory learns what retrieval cannot tell', async () => {
    const { evaluations, online } = await simulate(base({ evaluateAfter: [0] }));
    expect(evaluations.map(({ after, queries }) => [after, queries])).toEqual([
      [0, 96],
      [480, 96],
    ]);
    expect(evaluations[0].recall[3]).toBeLessThan(0.8);
    expect(evaluations[1].recall[3]).toBeGreaterThan(0.95);
    expect(meanOf(online.slice(380))).toBeGreaterThan(meanOf(online.slice(0, 100)) + 0.2);
  });

  it('starts where the retrieval order does', async () => {
    const [learner, hybrid] = await Promise.all(
      ['sc-linucb-memory', 'hybrid'].map((name) =>
        simulate(base({ policy: policyOf(name), evaluateAfter: [0] })),
      ),
    );
    expect(learner.evaluations[0]).toEqual(hybrid.evaluations[0]);
    expect(hybrid.evaluations[1]).toEqual({ ...hybrid.evaluations[0], after: 480 });
  });

  it('gives the same result for the same options, and another for another seed', async () => {
    const options = () =>
      base({ queries: queriesOf(100), agent: { ...CAREFUL_AGENT, noise: 0.2, loss: 0.2, delay: 9 } });
    const [one, two, other] = await Promise.all(
      [options(), options(), { ...options(), seed: 2 }].map(simulate),
    );
    expect(two).toEqual(one);
    expect(other.online).not.toEqual(one.online);
  });

  it('runs every policy of the registry', async () => {
    for (const { name } of POLICY_KINDS) {
      const { evaluations, steps } = await simulate(
        base({ policy: policyOf(name), queries: queriesOf(40), k: 3 }),
      );
      expect(steps).toBe(40);
      expect(evaluations[0].recall[10]).toBeGreaterThan(0);
    }
  });

  it('learns nothing from outcomes that are lost', async () => {
    const { evaluations } = await simulate(
      base({ agent: { ...CAREFUL_AGENT, loss: 1 }, evaluateAfter: [0] }),
    );
    expect(evaluations[1]).toEqual({ ...evaluations[0], after: 480 });
  });

  it('learns on passes over the same queries', async () => {
    expect((await simulate(base({ queries: queriesOf(50), passes: 3 }))).steps).toBe(150);
  });

  it('takes tools away in the middle third, and skips queries that nothing fits then', async () => {
    const changes = { ...NO_CHANGES, removedShare: 1 };
    const { online, evaluations } = await simulate(base({ queries: queriesOf(90), changes }));
    expect([...online.keys()].filter((step) => Number.isNaN(online[step]))).toEqual(
      Array.from({ length: 30 }, (_, i) => 30 + i),
    );
    expect(evaluations[0].queries).toBe(96);
  });

  it('follows newcomers from their first impression on', async () => {
    const changes = { ...NO_CHANGES, newcomers: 12 };
    const { newcomers } = await simulate(base({ changes, k: 4 }));
    expect(newcomers.map(({ impressions }) => impressions)).toEqual([1, 20, 100, null]);
    expect(newcomers.reduce((sum, { fitted }) => sum + fitted, 0)).toBeGreaterThan(30);
  });

  it('counts by impressions of its own whether a tool that fits is shown', () => {
    const exposures = new Exposures(new Set(['new']));
    for (let i = 0; i < 3; i++) exposures.count(['old', 'new'], new Set(['new', 'old']));
    exposures.count(['old'], new Set(['new']));
    exposures.count(['old'], new Set(['old']));
    expect(exposures.shares().slice(0, 2)).toEqual([
      { impressions: 1, fitted: 1, share: 1 },
      { impressions: 20, fitted: 3, share: 2 / 3 },
    ]);
    expect(new Exposures(new Set()).shares()).toEqual([]);
  });

  it('lets tools swap their meaning in pairs', () => {
    const { successors } = castingOf(['a', 'b', 'c', 'd', 'e'], { ...NO_CHANGES, driftShare: 0.9 }, 'drift');
    expect(successors.size).toBe(4);
    for (const [tool, successor] of successors) {
      expect(successor).not.toBe(tool);
      expect(successors.get(successor)).toBe(tool);
    }
  });

  it('refuses changes that need more tools than there are', async () => {
    const changes = { ...NO_CHANGES, removedShare: 0.5, newcomers: 40 };
    await expect(simulate(base({ changes }))).rejects.toThrow(
      /48 tools are too few for 24 removed and 40 new ones/,
    );
  });

  it('can be watched and stopped, and gives its memory back either way', async () => {
    const kernels = createTypescriptKernels();
    const stop = new AbortController();
    const seen: number[] = [];
    const onProgress = ({ step }: { step: number }) => {
      seen.push(step);
      if (step >= 128) stop.abort(new Error('enough'));
    };
    await expect(simulate(base({ kernels, onProgress, signal: stop.signal }))).rejects.toThrow('enough');
    expect(seen).toEqual([0, 64, 128]);
    await simulate(base({ kernels, queries: queriesOf(10) }));
    expect(kernels.allocatedBytes).toBe(0);
  });
});
