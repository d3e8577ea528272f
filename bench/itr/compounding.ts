import { cachedCost, HISTORY_PER_STEP, type StepTokens, uncachedCost } from './cost.ts';
import type { Strategy } from './strategies.ts';
import type { Task } from './tasks.ts';

export interface Course {
  readonly name: string;
  /** Of each step. */
  readonly tokens: readonly StepTokens[];
  /** Share of the steps in which a right tool was there. */
  readonly visible: number;
}

/** Serves the steps of tasks one after another in one session, without mistakes, so that all ways get the same steps. */
export async function follow(
  strategy: Strategy,
  tasks: readonly Task[],
  steps: number,
  key: string,
): Promise<Course> {
  const hops = tasks.flatMap((task) => task.hops).slice(0, steps);
  const tokens: StepTokens[] = [];
  let visible = 0;
  for (const [at, hop] of hops.entries()) {
    const served = await strategy.serve(hop.need, key, `${key}/${at}`);
    tokens.push(served.tokens);
    if (served.view.tools.some((tool) => hop.gold.includes(tool))) visible++;
  }
  return { name: strategy.name, tokens, visible: visible / hops.length };
}

/** Full-price tokens after so many steps. */
export function costsAfter(course: Course, steps: number) {
  const tokens = course.tokens.slice(0, steps);
  return {
    uncached: uncachedCost(tokens),
    cached: cachedCost(tokens),
    /** System prompt and tools alone. */
    cachedWithoutHistory: cachedCost(tokens, 0),
  };
}

const WINDOW = 1_000_000;

/** Steps that fit into a context window of a million tokens: the paper's Table 1. */
export function mostLoops(staticTokens: number): number {
  return Math.max(0, Math.floor((WINDOW - staticTokens) / HISTORY_PER_STEP));
}
