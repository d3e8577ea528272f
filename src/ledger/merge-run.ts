import type { MergingSettings } from './catalog-settings.ts';
import type { MergeMember } from './merge-definition.ts';

/** What a run that looks for merges was asked to do. */
export interface MergeRunRequest extends Omit<MergingSettings, 'automatic'> {
  /** `changed`: only pairs with a tool that changed since the newest run that succeeded. */
  readonly touched: 'all' | 'changed';
}

/** How far a run is. */
export interface MergeRunProgress {
  /** 0…1. */
  readonly progress: number;
  /** Pairs that are to be compared, as far as it is known. */
  readonly pairs: number;
  /** Those that were. */
  readonly judged: number;
}

/** How a run ended. */
export interface MergeRunEnd {
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly error?: string;
  /** Merges that it found, those that were known before included. */
  readonly proposals?: number;
  /** Of one that succeeded: what its judge left open; absent: nothing. */
  readonly open?: MergeRunOpen;
  /** Of one that succeeded: pairs that look alike and are not the same, a bounded part of all. */
  readonly lookAlikes?: readonly LookAlike[];
}

/** What a run could not decide. */
export interface MergeRunOpen {
  /** Pairs, and groups of tools, about which the judge did not decide; the next run asks again. */
  readonly undecided: number;
  /** Why, as a sentence. */
  readonly reason: string;
  /** What it had asked by then; absent: the judge asks nobody. */
  readonly spent?: { readonly requests: number; readonly tokens: number };
}

/** Two tools that were compared, since they look alike, and are not the same. */
export interface LookAlike {
  /** Two, sorted by name. */
  readonly tools: readonly MergeMember[];
  readonly relation: 'overlapping' | 'different';
  /** That the relation is right, 0…1. */
  readonly confidence: number;
  readonly reason: string;
}

/**
 * What happens to the run of a catalog; there is one at a time. `attempt` is the position of the `begin` of the process that
 * speaks: when another process has begun since, it is not heard.
 */
export type MergeRunChange =
  | { readonly action: 'ask'; readonly request: MergeRunRequest }
  | { readonly action: 'begin'; readonly run: string }
  | (MergeRunProgress & { readonly action: 'progress'; readonly run: string; readonly attempt: number })
  /** The process ends before the run does: another one goes on. */
  | { readonly action: 'leave'; readonly run: string; readonly attempt: number }
  /** Without `attempt` from outside: it is cancelled. */
  | (MergeRunEnd & { readonly action: 'end'; readonly run: string; readonly attempt?: number });
