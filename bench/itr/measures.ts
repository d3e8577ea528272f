import { cachedCost, uncachedCost } from './cost.ts';
import type { Episode, Step } from './play.ts';

export interface Measures {
  readonly episodes: number;
  /** Of the requests in which a tool is called. */
  readonly tokensPerStep: number;
  readonly toolsShown: number;
  /** Shares, 0…1. */
  readonly toolsCorrect: number;
  readonly goldVisible: number;
  readonly guided: number;
  readonly success: number;
  readonly missRate: number;
  readonly stepsPerEpisode: number;
  /** Full-price tokens per episode, history included. */
  readonly uncached: number;
  readonly cached: number;
  /** Of one call of the router, ms; NaN: it was not asked. */
  readonly p50: number;
  readonly p95: number;
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length;
const shareOf = <T>(items: readonly T[], holds: (item: T) => boolean): number =>
  mean(items.map((item) => Number(holds(item))));

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Tokens of system prompt and tools in each request of an episode. */
function contexts(steps: readonly Step[]): number[] {
  let kept = 0;
  return steps.map(({ tokens: { prefix, changing, appended } }) => {
    kept += appended;
    return prefix + changing + kept;
  });
}

export function measure(episodes: readonly Episode[]): Measures {
  const steps = episodes.flatMap((episode) => episode.steps);
  const calls = steps.filter(({ discovery }) => !discovery);
  const asked = steps.flatMap(({ milliseconds }) => (milliseconds === undefined ? [] : [milliseconds]));
  const tokens = (episode: Episode) => episode.steps.map((step) => step.tokens);
  return {
    episodes: episodes.length,
    tokensPerStep: mean(episodes.flatMap((episode) => contexts(episode.steps))),
    toolsShown: mean(calls.map(({ tools }) => tools)),
    toolsCorrect: shareOf(calls, ({ right }) => right),
    goldVisible: shareOf(calls, ({ visible }) => visible),
    guided: mean(calls.map(({ guided }) => guided).filter((share) => !Number.isNaN(share))),
    success: shareOf(episodes, ({ succeeded }) => succeeded),
    missRate: shareOf(episodes, ({ missed }) => missed),
    stepsPerEpisode: mean(episodes.map((episode) => episode.steps.length)),
    uncached: mean(episodes.map((episode) => uncachedCost(tokens(episode)))),
    cached: mean(episodes.map((episode) => cachedCost(tokens(episode)))),
    p50: quantile(asked, 0.5),
    p95: quantile(asked, 0.95),
  };
}
