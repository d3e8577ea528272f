import { randomFor } from '../../bandit/random.ts';
import { shuffled } from '../../src/simulation/catalog-changes.ts';
import type { Arm, Experiment, Query } from './experiments.ts';

/** How much of a tool is shown: its number, its name, its description, or both texts (section 5.1 of the paper). */
export const CONDITIONS = [
  'index only',
  'names only',
  'descriptions only',
  'names and descriptions',
] as const;
export type Condition = (typeof CONDITIONS)[number];

/** A tool as it is shown under one condition. The label is unique and stays the same through all phases. */
export interface ShownTool {
  readonly label: string;
  /** Empty where the condition shows none. */
  readonly description: string;
}

/** What chooses one tool per turn: a policy, or a chat model. */
export interface Player {
  /** From now on these tools can be chosen, and no others. */
  offer(tools: readonly ShownTool[]): Promise<void>;
  /** Returns the label of a tool that is offered; null: the player makes no valid choice. */
  choose(turn: number, query: string): Promise<string | null>;
  /** The outcome of the last choice. */
  learn(reward: 0 | 1): void;
  free(): void;
}

/** One run of an experiment. */
export interface Played {
  /** Cumulative reward. */
  readonly reward: number;
  /** Σ (max p − p of the chosen tool) over the tools that were available: the paper's equation 1. */
  readonly regret: number;
  /** Id of the arm chosen in each turn; null where no valid choice was made, which earns nothing. */
  readonly choices: readonly (string | null)[];
  /** Whether the choice of each turn was the best that was available. */
  readonly best: readonly boolean[];
}

/**
 * Plays one run. Queries and rewards are drawn by experiment, seed and turn alone, so all players and conditions of a
 * seed meet the same queries, and the same tool in the same turn has the same outcome.
 */
export async function play(
  experiment: Experiment,
  condition: Condition,
  seed: number,
  player: Player,
): Promise<Played> {
  const key = `in-context/${experiment.kind}/${seed}`;
  const world = randomFor(key);
  const shown = shownTools(experiment.arms, condition, `${key}/numbers`);
  const choices: (string | null)[] = [];
  const best: boolean[] = [];
  let reward = 0;
  let regret = 0;
  for (const { turns, arms: ids, queries: drawn } of experiment.phases) {
    const arms = [...shown.keys()].filter(({ id }) => ids.includes(id));
    const queries = experiment.queries.filter(({ id }) => drawn.includes(id));
    await player.offer(arms.map((arm) => shown.get(arm)!));
    for (let left = turns; left > 0; left--) {
      const turn = choices.length;
      const query = queries[Math.floor(world.uniform(2 * turn) * queries.length)];
      const label = await player.choose(turn, query.text);
      const chosen = arms.find((arm) => shown.get(arm)!.label === label);
      const p = chosen === undefined ? 0 : success(chosen, query);
      const outcome = world.uniform(2 * turn + 1) < p ? 1 : 0;
      player.learn(outcome);
      reward += outcome;
      const lost = Math.max(...arms.map((arm) => success(arm, query))) - p;
      regret += lost;
      best.push(lost === 0);
      choices.push(chosen?.id ?? null);
    }
  }
  return { reward, regret, choices, best };
}

export function success(arm: Arm, query: Query): number {
  return query.optimal === arm.id ? arm.optimal : arm.suboptimal;
}

/**
 * The tools in the order in which they are offered. They are numbered, and offered, in an order drawn for each seed:
 * neither position nor a number that also occurs in a query (“2 PM”) says anything about which tool is right.
 */
function shownTools(arms: readonly Arm[], condition: Condition, key: string): Map<Arm, ShownTool> {
  const named = condition === 'names only' || condition === 'names and descriptions';
  const described = condition === 'descriptions only' || condition === 'names and descriptions';
  return new Map(
    shuffled(arms, key).map((arm, at) => [
      arm,
      { label: named ? arm.name : `Action ${at + 1}`, description: described ? arm.description : '' },
    ]),
  );
}
