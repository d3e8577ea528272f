import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kernels } from '../../../bandit/kernels/kernels.ts';
import { EXPERIMENTS, type Experiment } from '../../../bench/in-context/experiments.ts';
import {
  CONDITIONS,
  type Condition,
  type Player,
  play,
  type ShownTool,
} from '../../../bench/in-context/play.ts';
import { EmbeddedTexts, OneHotPlayer, PolicyPlayer } from '../../../bench/in-context/policy-players.ts';
import type { Embedder } from '../../../src/models/embedder.ts';
import { openModelFolder } from '../../../src/models/open-embedder.ts';
import { loadKernels } from '../../../src/stores/load-kernels.ts';

const [fQfA, , fQmA, mQmA] = EXPERIMENTS;

/** Follows a rule, and keeps what it saw. */
class Rule implements Player {
  readonly offers: (readonly ShownTool[])[] = [];
  readonly queries: string[] = [];
  readonly rewards: number[] = [];
  readonly #rule: (offered: readonly ShownTool[]) => string | null;

  constructor(rule: (offered: readonly ShownTool[]) => string | null) {
    this.#rule = rule;
  }

  async offer(tools: readonly ShownTool[]): Promise<void> {
    this.offers.push(tools);
  }

  async choose(_turn: number, query: string): Promise<string | null> {
    this.queries.push(query);
    return this.#rule(this.offers.at(-1)!);
  }

  learn(reward: number): void {
    this.rewards.push(reward);
  }

  free(): void {}
}

const first = (offered: readonly ShownTool[]): string => offered[0].label;

describe('a run of an experiment', () => {
  it.each<[Condition, ShownTool]>([
    ['index only', { label: 'Action 1', description: '' }],
    ['names only', { label: 'Data Analyzer', description: '' }],
    [
      'descriptions only',
      { label: 'Action 1', description: 'Processes numerical data arrays to find trends.' },
    ],
    [
      'names and descriptions',
      { label: 'Data Analyzer', description: 'Processes numerical data arrays to find trends.' },
    ],
  ])('shows under “%s” no more than that', async (condition, expected) => {
    const player = new Rule(first);
    await play({ ...fQfA, arms: fQfA.arms.slice(0, 1) }, condition, 0, player);
    expect(player.offers).toEqual([[expected]]);
  });

  it('counts regret against the best tool that is available, and rewards as they were drawn', async () => {
    const player = new Rule(
      (offered) => offered.find(({ label }) => label === 'Scientific Calculator')?.label ?? null,
    );
    const { reward, regret, choices, best } = await play(fQmA, 'names only', 3, player);
    // 7 turns without a choice (best .1), 10 with the best there is, 10 with .15 beside .95, 8 without (best .95).
    expect(regret).toBeCloseTo(7 * 0.1 + 10 * 0 + 10 * 0.8 + 8 * 0.95, 10);
    expect(choices.map((choice) => choice === null)).toEqual(
      Array.from({ length: 35 }, (_, turn) => turn < 7 || turn >= 27),
    );
    expect(best).toEqual(Array.from({ length: 35 }, (_, turn) => turn >= 7 && turn < 17));
    expect(reward).toBe(player.rewards.reduce((sum, value) => sum + value, 0));
    expect(player.rewards.filter((_, turn) => choices[turn] === null)).toEqual(Array(15).fill(0));
  });

  it('draws a phase’s queries from that phase alone', async () => {
    const player = new Rule(first);
    await play(mQmA, 'names only', 1, player);
    const textsOf = (ids: readonly string[]) =>
      mQmA.queries.filter(({ id }) => ids.includes(id)).map(({ text }) => text);
    const [lang, weather, coding] = mQmA.phases.map(({ queries }) => textsOf(queries));
    expect(lang).toEqual(expect.arrayContaining(player.queries.slice(0, 8)));
    expect(weather).toEqual(expect.arrayContaining(player.queries.slice(8, 18)));
    expect(coding).toEqual(expect.arrayContaining(player.queries.slice(18)));
    expect(new Set(player.queries).size).toBeGreaterThan(6);
  });

  it('offers the tools in an order of each seed, with numbers that last through the phases', async () => {
    const orders = new Set<string>();
    for (let seed = 0; seed < 20; seed++) {
      const named = new Rule(first);
      const numbered = new Rule(first);
      await play(fQmA, 'names and descriptions', seed, named);
      await play(fQmA, 'descriptions only', seed, numbered);
      orders.add(named.offers.map((offer) => offer[0].label).join());
      const numberOf = new Map<string, string>();
      for (const [phase, offer] of numbered.offers.entries()) {
        expect(offer.map(({ description }) => description)).toEqual(
          named.offers[phase].map(({ description }) => description),
        );
        for (const { label, description } of offer) {
          expect(numberOf.get(description) ?? label).toBe(label);
          numberOf.set(description, label);
        }
      }
    }
    expect(orders.size).toBeGreaterThan(5);
  });

  it('gives every player of a seed the same queries, and the same choices the same rewards', async () => {
    const [one, other] = [new Rule(first), new Rule(first)];
    await play(mQmA, 'names only', 7, one);
    await play(mQmA, 'index only', 7, other);
    expect(other.queries).toEqual(one.queries);
    expect(other.rewards).toEqual(one.rewards);
    const another = new Rule(first);
    await play(mQmA, 'names only', 8, another);
    expect(another.queries).not.toEqual(one.queries);
  });
});

describe('policies in the experiments', () => {
  let kernels: Kernels;
  let embedder: Embedder;
  let texts: EmbeddedTexts;
  beforeAll(async () => {
    kernels = await loadKernels();
    embedder = await openModelFolder(new URL('../../../models/tool-static-256', import.meta.url).pathname);
    texts = new EmbeddedTexts(embedder);
  });
  afterAll(() => embedder.close());

  async function run(experiment: Experiment, condition: Condition, policy: string, seed: number) {
    const key = `test/${policy}/${seed}`;
    const player =
      policy === 'linucb-onehot'
        ? new OneHotPlayer(kernels, texts, key)
        : new PolicyPlayer(policy, kernels, texts, key);
    try {
      return await play(experiment, condition, seed, player);
    } finally {
      player.free();
    }
  }

  it.each(['sc-linucb-memory', 'sc-linucb', 'lin-ts', 'cosine', 'uniform', 'linucb-onehot'])(
    '%s plays the same seed alike, and only tools that are offered',
    async (policy) => {
      for (const condition of CONDITIONS) {
        const played = await run(mQmA, condition, policy, 5);
        expect(await run(mQmA, condition, policy, 5)).toEqual(played);
        expect(played.choices).toHaveLength(28);
        for (const [turn, choice] of played.choices.entries()) {
          const phase = mQmA.phases[turn < 8 ? 0 : turn < 18 ? 1 : 2];
          expect(phase.arms).toContain(choice);
        }
      }
    },
  );

  it('learn from names what indices do not tell', async () => {
    const regret = async (condition: Condition): Promise<number> => {
      let sum = 0;
      for (let seed = 0; seed < 10; seed++) {
        sum += (await run(mQmA, condition, 'sc-linucb-memory', seed)).regret;
      }
      return sum / 10;
    };
    expect(await regret('names only')).toBeLessThan((await regret('index only')) / 2);
  });

  it('the one-hot baseline finds the only tool that works', async () => {
    const rigged = {
      ...fQfA,
      arms: fQfA.arms.map((arm) => ({ ...arm, optimal: 1, suboptimal: 0 })),
      phases: [{ ...fQfA.phases[0], turns: 40 }],
    };
    const { choices } = await run(rigged, 'index only', 'linucb-onehot', 0);
    expect(new Set(choices.slice(20))).toEqual(new Set(['tool_A']));
  });
});
