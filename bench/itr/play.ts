import { randomFor } from '../../bandit/random.ts';
import { type AgentParameters, act, asksForMore } from './agent.ts';
import type { StepTokens } from './cost.ts';
import type { Product } from './product.ts';
import type { Served, Strategy } from './strategies.ts';
import type { Hop, Task } from './tasks.ts';
import { type BenchTool, World } from './tool-box.ts';

/** When the agent asks for more tools: never; when it says so itself; when it says so or the product's own estimate is low. */
export interface Gate {
  readonly rating: boolean;
  /** Least estimate of the product that is enough, 0…1; 0: it is not looked at. */
  readonly least: number;
}

export const NO_DISCOVERY: Gate = { rating: false, least: 0 };

/** How the agent asks first: for what it needs, or in the words in which it was told. */
export type Words = 'need' | 'said';

export interface PlayOptions {
  readonly words?: Words;
  readonly tools: readonly BenchTool[];
  readonly agent: AgentParameters;
  readonly gate: Gate;
  readonly key: string;
  /** Where outcomes are reported; absent: nowhere. */
  readonly learns?: Product;
}

/** One request to the language model. */
export interface Step {
  readonly right: boolean;
  /** Whether a right tool was there. */
  readonly visible: boolean;
  readonly tokens: StepTokens;
  readonly tools: number;
  /** Share of the governing instructions that were there; NaN: none governs this step. */
  readonly guided: number;
  readonly milliseconds: number | undefined;
  /** Only what more tools are asked for. */
  readonly discovery: boolean;
}

export interface Episode {
  readonly task: Task;
  readonly steps: readonly Step[];
  readonly succeeded: boolean;
  /** It failed at a step for which a right tool was never there. */
  readonly missed: boolean;
}

/** Tries of one step; then the episode has failed. */
const TRIES = 3;

/** What the agent looks for: what it needs; when that did not help, with what was said of this step, then of the whole task. */
function queryOf(task: Task, { said, need }: Hop, attempt: number, words: Words): string {
  const [first, second] = words === 'need' ? [need, said] : [said, need];
  return [first, `${first}: ${second}`, `${first} (${task.text})`][attempt];
}

/** Plays one task to its end. Deterministic, if the strategy is. */
export async function play(task: Task, strategy: Strategy, options: PlayOptions): Promise<Episode> {
  const world = new World(options.tools);
  const session = `${options.key}/${task.id}`;
  const steps: Step[] = [];
  let missed = false;
  for (const [at, hop] of task.hops.entries()) {
    let done = false;
    let seen = false;
    for (let attempt = 0; attempt < TRIES && !done; attempt++) {
      const key = `${session}/${at}/${attempt}`;
      const served = await strategy.serve(queryOf(task, hop, attempt, options.words ?? 'need'), session, key);
      const tried = await tryHop(hop, served, strategy, { ...options, key }, world);
      steps.push(...tried.steps);
      done = tried.done;
      seen ||= tried.visible;
    }
    if (!done) {
      missed = !seen;
      break;
    }
  }
  return { task, steps, succeeded: task.missing(world).length === 0, missed };
}

async function tryHop(
  hop: Hop,
  first: Served,
  strategy: Strategy,
  { agent, gate, key, learns }: PlayOptions,
  world: World,
): Promise<{ steps: Step[]; done: boolean; visible: boolean }> {
  const random = randomFor(`itr/agent/${key}`);
  const stepOf = ({ view, tokens, milliseconds }: Served, right: boolean, discovery: boolean): Step => ({
    ...{ right, tokens, milliseconds, discovery },
    visible: view.tools.some((tool) => hop.gold.includes(tool)),
    tools: view.tools.length,
    guided: hop.instructions.filter((id) => view.instructions.has(id)).length / hop.instructions.length,
  });
  const steps: Step[] = [];
  let served = first;
  const sufficiency = first.answer?.sufficiency ?? 1;
  const doubted = gate.rating && asksForMore(hop.gold, served.view, agent, random);
  if (strategy.more !== undefined && (doubted || sufficiency < gate.least)) {
    steps.push(stepOf(served, false, true));
    served = { ...(await strategy.more(served)), milliseconds: undefined };
  }
  const { tool, garbled } = act(hop.gold, hop.instructions, served.view, agent, random);
  const right = tool !== null && hop.gold.includes(tool);
  const done = right && !garbled && world.call(tool, hop.given);
  // A wrong tool gets what the right one would have got; most refuse that, some do something else than what was wanted.
  if (tool !== null && !right) world.call(tool, hop.given);
  const step = stepOf(served, done, false);
  steps.push(step);
  if (learns !== undefined && served.answer !== undefined && tool !== null) {
    await learns.report(served.answer, tool, done ? 'success' : 'failure');
  }
  return { steps, done, visible: step.visible };
}
