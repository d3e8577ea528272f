import type { DecisionPolicy, Fallback, SlateReason } from '../decisions/decision.ts';
import type { ContextValue } from '../ledger/experiment-definition.ts';

/** What an agent asks. Defaults are filled in by whoever receives the request. */
export interface RouteRequest {
  /** Either the query itself or the conversation it ends; exactly one of the two. */
  readonly query?: string;
  readonly messages?: readonly unknown[];
  readonly catalog: string;
  readonly sessionId?: string;
  readonly unitId?: string;
  readonly userId?: string;
  /** What is known about the request; experiments can be limited to some values. */
  readonly context?: Readonly<Record<string, ContextValue>>;
  /** 1…50. */
  readonly k: number;
  /** Tools that must be in the slate. */
  readonly pin?: readonly string[];
  /** Tools that must not be in it. */
  readonly exclude?: readonly string[];
  readonly format: SlateFormat;
  /** `later`: rewards count only after POST …/activate said that the slate was really shown. */
  readonly activate: 'now' | 'later';
  /** False: rank greedily; the decision still teaches. */
  readonly explore: boolean;
  /** False: outcomes are counted but nothing is learned from them. */
  readonly learn: boolean;
}

export type SlateFormat = 'mcp' | 'openai' | 'anthropic' | 'names';

export interface RoutedTool {
  readonly name: string;
  /** 1 for the first. */
  readonly rank: number;
  readonly score: number;
  readonly base: number;
  readonly gain: number;
  readonly uncertainty: number;
  /** Probability that this tool was in the slate, 0…1. */
  readonly propensity: number;
  readonly reason: SlateReason;
  readonly definitionHash: string;
  /** In the requested format; absent for `names`. */
  readonly definition?: unknown;
}

export interface RouteAnswer {
  readonly decisionId: string;
  readonly catalog: string;
  readonly revision: string;
  readonly policy: DecisionPolicy;
  readonly tools: readonly RoutedTool[];
  readonly fallback: Fallback | null;
  /** What was asked for and could not be had, in words; absent: nothing. */
  readonly notes?: readonly string[];
  /** ISO time until which rewards are learned. */
  readonly rewardDeadline: string;
}
