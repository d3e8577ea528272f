import { READ_PRICE, WRITE_PRICE } from '../../src/routing/budgeted-answer.ts';

/** New tokens in the history of a conversation with each step: the paper's Table 1. */
export const HISTORY_PER_STEP = 2000;

/** What one request to the language model holds, in tokens. */
export interface StepTokens {
  /** What every request of the episode begins with, byte for byte. */
  readonly prefix: number;
  /** What is made anew in each step and stands before the history. */
  readonly changing: number;
  /** What is appended to the conversation with this step, and stays there. */
  readonly appended: number;
  /** What was appended before is replaced: everything is written anew, the history behind it as well. */
  readonly restarted?: boolean;
}

/** Full-price tokens of all requests of an episode, by the history that grows with each step, without a prompt cache. */
export function uncachedCost(steps: readonly StepTokens[], historyPerStep = HISTORY_PER_STEP): number {
  let kept = 0;
  let cost = 0;
  for (const [at, { prefix, changing, appended, restarted }] of steps.entries()) {
    if (restarted) kept = at * historyPerStep;
    kept += appended;
    cost += prefix + changing + kept;
    kept += historyPerStep;
  }
  return cost;
}

/**
 * The same with a prompt cache. What stays where it is, is written once and then read; nothing behind a text that changes can
 * be read, so it is neither read nor written, but paid for.
 */
export function cachedCost(steps: readonly StepTokens[], historyPerStep = HISTORY_PER_STEP): number {
  let inCache = 0;
  let kept = 0;
  let cost = 0;
  for (const [at, { prefix, changing, appended, restarted }] of steps.entries()) {
    if (restarted) {
      inCache = 0;
      kept = at * historyPerStep;
    }
    const all = prefix + kept + appended;
    const stable = changing === 0 ? all : prefix;
    const read = Math.min(inCache, stable);
    cost += READ_PRICE * read + WRITE_PRICE * (stable - read) + changing + (all - stable);
    inCache = stable;
    kept += appended + historyPerStep;
  }
  return cost;
}
