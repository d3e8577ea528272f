import type { Decision, DecisionRerank, DecisionSplit, SlateReason } from '../decisions/decision.ts';
import type { RewardOutcome } from '../state/outcome.ts';

/** Why a decision came out as it did, and what became of it. */
export interface DecisionExplanation {
  readonly decisionId: string;
  readonly catalog: string;
  readonly at: string;
  readonly revision: string;
  readonly policy: Decision['policy'];
  readonly exploration: Decision['exploration'];
  readonly temperature: number;
  readonly propensityMethod: Decision['propensityMethod'];
  readonly k: number;
  readonly fallback: Decision['fallback'];
  readonly query?: string;
  /** How the query was taken apart; absent: it was not. */
  readonly split?: DecisionSplit;
  readonly rerank?: DecisionRerank;
  readonly learn: boolean;
  /** Null until the slate was activated. */
  readonly activatedAt: string | null;
  readonly rewardDeadline: string;
  readonly slateProbability: number;
  /** Served ones first in slate order, then the others by score. */
  readonly candidates: readonly ExplainedCandidate[];
  /**
   * The remembered cases that are nearest to this query now, best first: how often each tool worked in them.
   * Counts only; nobody's words.
   */
  readonly nearestCases: readonly NearestCase[];
  readonly rewards: readonly RewardOutcome[];
}

export interface NearestCase {
  /** Of the case's first query with this one, −1…1. */
  readonly similarity: number;
  readonly tools: readonly { readonly name: string; readonly worked: number; readonly tried: number }[];
}

export interface ExplainedCandidate {
  readonly name: string;
  /** Place in the slate, null if it was not served. */
  readonly rank: number | null;
  /** Place that the retrieval score alone would give it. */
  readonly retrievalRank: number;
  readonly reason: SlateReason | null;
  readonly score: number;
  readonly mean: number;
  readonly base: number;
  readonly gain: number;
  readonly uncertainty: number;
  readonly bonus: number;
  readonly propensity: number;
  /** Weighted number of remembered outcomes of this tool near the query. */
  readonly trials: number;
  readonly features: Readonly<Record<string, number>>;
  readonly sentence: string;
}
