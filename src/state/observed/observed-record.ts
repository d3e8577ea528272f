import type { Credit } from '../experiments/decision-credit.ts';
import type { KeptReward } from '../fold-result.ts';

/** What was reported about one tool of one decision so far. */
export interface ToolReports {
  count: number;
  sum: number;
  first: number;
  last: number;
  /** The tool was called and its outcome says something about relevance: it was learned with `taught`. */
  called: boolean;
  /** Reward that was learned, 0…1. */
  taught: number;
  /** Of the first report; later ones correct its value alone. */
  weight: number;
  /** Nothing was learned from it so far, not even that it was not called: a timeout, or its unit is over the limit. */
  silent: boolean;
}

/** Returns the reports about this tool; empty if it is new to the record. */
export function reportsOf(record: ObservedRecord, tool: string): ToolReports {
  const known = record.tools.get(tool);
  if (known !== undefined) return known;
  const fresh = { count: 0, sum: 0, first: 0, last: 0, called: false, taught: 0, weight: 1, silent: false };
  record.tools.set(tool, fresh);
  return fresh;
}

/** The fold's record of a decision about which anything was reported. */
export interface ObservedRecord {
  readonly id: string;
  readonly deadline: number;
  /** When its window is over by the clock of the fold, whatever the clock was that made the decision. */
  readonly until: number;
  closed: boolean;
  /** Reward with which shown tools were learned that had no call when the decision closed, 0…1; none that is `silent` was. */
  closedWith: number;
  readonly tools: Map<string, ToolReports>;
  /** Rewards that were applied: the exactly-once set, bounded by the window. */
  readonly rewards: Map<string, KeptReward>;
  /**
   * Extra features of the shown tools, row-major, for policy versions that did not take part in the decision, as they were at
   * the first report, so that a correction has the same x.
   */
  readonly features: Map<string, Float32Array>;
  /** Case that the decision went to, by policy version. */
  readonly cases: Map<string, number>;
  /** What experiments were credited with; absent for decisions in none. */
  credit?: Credit;
  /** What is known of the decision as a whole, and what was learned of it. */
  readonly outcome: DecisionOutcome;
}

/** All absent at first. */
export interface DecisionOutcome {
  /** The last report about the whole decision, 0…1. */
  whole?: number;
  /** What its model said before it went on: how far the slate suffices, 0…1. */
  rating?: number;
  /** What it came to, 0…1, as the effects of instructions have learned it. */
  reward?: number;
  /** How far its slate sufficed, 0…1, as was learned, and with which rating. */
  sufficed?: number;
  learnedRating?: number;
  /** Further tools were asked for. */
  discovered?: true;
}
