import type { Catalog } from '../catalog/catalog.ts';
import type { AnsweredItem } from '../context/answered-item.ts';
import type { ItemsAgain } from '../context/route-contexts.ts';
import {
  type Assembly,
  type Decision,
  type DecisionCarried,
  type DecisionContext,
  type DecisionInstructions,
  type DecisionRerank,
  type DecisionSplit,
  type Discovery,
  rewardDeadline,
} from '../decisions/decision.ts';
import type { KeptReward } from '../state/fold-result.ts';
import { type AnswerTokens, answeredBudget, type CostTokens, type LeftOut } from './budgeted-answer.ts';
import { type ExplainedCandidate, explainCandidates } from './explain-candidates.ts';
import type { TokenCosts } from './token-costs.ts';

/** Why a decision came out as it did, and what became of it. */
export interface DecisionExplanation {
  readonly decisionId: string;
  readonly catalog: string;
  readonly at: string;
  readonly revision: string;
  readonly policy: Decision['policy'];
  readonly slateBy?: Decision['slateBy'];
  readonly exploration: Decision['exploration'];
  readonly temperature: number;
  readonly propensityMethod: Decision['propensityMethod'];
  readonly k: number;
  /** The shape of the definitions that were served, and how much of each there was. */
  readonly format: Decision['format'];
  readonly detail: Decision['detail'];
  readonly fallback: Decision['fallback'];
  readonly domain?: Decision['domain'];
  readonly query?: string;
  /** How the query was taken apart; absent: it was not. */
  readonly split?: DecisionSplit;
  readonly rerank?: DecisionRerank;
  /** Probability that the slate suffices, as it was answered. */
  readonly sufficiency?: number;
  /** What was asked for after the slate; its tools are the last ones of the slate. Absent: nothing. */
  readonly discoveries?: readonly ExplainedDiscovery[];
  readonly learn: boolean;
  /** Null until the slate was activated. */
  readonly activatedAt: string | null;
  readonly rewardDeadline: string;
  readonly slateProbability: number;
  /** Served ones first in slate order, then the others by score. */
  readonly candidates: readonly ExplainedCandidate[];
  /**
   * The remembered cases that are nearest to this query now, best first: how often each tool worked in them.
   * Counts only, never the text of a query.
   */
  readonly nearestCases: readonly NearestCase[];
  /** As long as its record is kept: an hour after its window. */
  readonly rewards: readonly KeptReward[];
  /** Absent, like the instructions: the request named neither a token budget nor instructions. */
  readonly budget?: ExplainedBudget;
  /** What was chosen of what its user had, best first; absent: no user was named, or nothing was kept of the user. */
  readonly context?: readonly ExplainedItem[];
  /** Whether the query was expanded by a chat model to find that; absent: the catalog wanted none to be. */
  readonly contextExpanded?: boolean;
  /** Those that were served, in the order of the decision, then the others by gain; the safety overlay first. */
  readonly instructions?: readonly ExplainedInstruction[];
}

/** An item of a user, as it is now; `note` in its place: it is gone since. */
export type ExplainedItem = AnsweredItem | { readonly score: number; readonly note: string };

export interface ExplainedBudget {
  readonly tokenBudget: number | null;
  readonly assembly: Assembly;
  /** What counted the tokens. */
  readonly counter: string;
  /** As it was answered: without what was discovered later. */
  readonly tokens: AnswerTokens;
  readonly leftOut: LeftOut;
  readonly costTokens: CostTokens;
  /** Tokens of the definitions that were discovered later, beside `tokens`; absent: none were. */
  readonly discovered?: number;
  readonly carried?: DecisionCarried;
}

export interface ExplainedInstruction {
  readonly id: string;
  /** It is in every prompt. */
  readonly isSafety: boolean;
  readonly served: boolean;
  readonly tokens: number;
  readonly gain: number;
  readonly score: number;
  readonly propensity: number;
}

export interface NearestCase {
  /** Of the case's first query with this one, −1…1. */
  readonly similarity: number;
  readonly tools: readonly { readonly name: string; readonly worked: number; readonly tried: number }[];
}

export interface ExplainedDiscovery {
  readonly at: string;
  /** With the probability of each to be among them, given what was shown before. */
  readonly tools: readonly { readonly name: string; readonly propensity: number }[];
  readonly rating?: number;
}

function discoveriesOf(discoveries: readonly Discovery[]): ExplainedDiscovery[] {
  return discoveries.map(({ at, tools, propensity, rating }) => ({
    at: new Date(at).toISOString(),
    tools: tools.map((name, i) => ({ name, propensity: propensity[i] })),
    ...(rating !== undefined && { rating }),
  }));
}

/** Returns why a decision came out as it did, and its rewards so far. @param again what its user still has of what was chosen */
export function explainDecision(
  decision: Decision,
  catalog: Catalog,
  costs: TokenCosts,
  again?: ItemsAgain,
): DecisionExplanation {
  const record = catalog.state.decisions.get(decision.id);
  return {
    decisionId: decision.id,
    catalog: decision.catalog,
    at: new Date(decision.at).toISOString(),
    revision: decision.revision,
    policy: decision.policy,
    ...(decision.slateBy !== undefined && { slateBy: decision.slateBy }),
    exploration: decision.exploration,
    temperature: decision.temperature,
    propensityMethod: decision.propensityMethod,
    k: decision.k,
    format: decision.format,
    detail: decision.detail,
    fallback: decision.fallback,
    ...(decision.text === undefined ? {} : { query: decision.text }),
    ...(decision.domain === undefined ? {} : { domain: decision.domain }),
    ...(decision.split === undefined ? {} : { split: decision.split }),
    ...(decision.sufficiency === undefined ? {} : { sufficiency: decision.sufficiency }),
    ...(decision.discoveries === undefined ? {} : { discoveries: discoveriesOf(decision.discoveries) }),
    ...(decision.rerank === undefined ? {} : { rerank: decision.rerank }),
    learn: decision.learn,
    activatedAt: decision.activatedAt === null ? null : new Date(decision.activatedAt).toISOString(),
    rewardDeadline: new Date(rewardDeadline(decision)).toISOString(),
    slateProbability: Math.exp(decision.logProbability),
    candidates: explainCandidates(decision, catalog),
    nearestCases: nearestCases(decision, catalog),
    rewards: record === undefined ? [] : [...record.rewards.values()],
    ...(decision.context !== undefined &&
      again !== undefined && { context: explainContext(decision.context, again) }),
    ...(decision.context?.expanded !== undefined && { contextExpanded: decision.context.expanded }),
    ...explainBudget(decision, catalog, costs),
  };
}

function explainContext({ items }: DecisionContext, { items: known, note }: ItemsAgain): ExplainedItem[] {
  return items.map(({ score }, at) => known.get(at) ?? { score, note: note ?? 'it is gone since' });
}

function explainBudget(
  decision: Decision,
  { state }: Catalog,
  costs: TokenCosts,
): Pick<DecisionExplanation, 'budget' | 'instructions'> {
  const answered = answeredBudget(decision, state, costs);
  if (answered === null) return {};
  const { budget, carried, instructions } = decision;
  const { tokenBudget, counter } = budget!;
  const { assembly, tokens, leftOut, costTokens, discovered } = answered;
  return {
    budget: {
      ...{ tokenBudget, assembly, counter, tokens, leftOut, costTokens },
      ...(discovered > 0 && { discovered }),
      ...(carried !== undefined && { carried }),
    },
    ...(instructions !== undefined && { instructions: explainInstructions(instructions) }),
  };
}

function explainInstructions(all: DecisionInstructions): ExplainedInstruction[] {
  const rest = [...all.ids.keys()].filter((index) => !all.shown.includes(index));
  rest.sort((a, b) => all.gain[b] - all.gain[a]);
  return [
    ...all.overlay.map(({ id, tokens }) => ({
      ...{ id, isSafety: true, served: true, tokens, gain: 0, score: 0, propensity: 1 },
    })),
    ...[...all.shown, ...rest].map((index) => ({
      ...{ id: all.ids[index], isSafety: false, served: all.shown.includes(index) },
      ...{ tokens: all.tokens[index], gain: all.gain[index] },
      ...{ score: all.score[index], propensity: all.propensity[index] },
    })),
  ];
}

/** Cases that are shown: enough to see a pattern. */
const SHOWN_CASES = 5;

function nearestCases(decision: Decision, { state }: Catalog): NearestCase[] {
  const { policy } = state.learners.get(decision.policy.version) ?? state.learners.active;
  // Vectors of another embedder cannot be compared with what is remembered now.
  if (decision.fingerprint !== state.fingerprint) return [];
  const { cases } = policy.recall(decision.query);
  return cases.slice(0, SHOWN_CASES).map(({ caseId, similarity }) => ({
    similarity,
    tools: policy.caseCounts(caseId).flatMap(({ slot, positives, negatives }) => {
      const name = state.tools.atSlot(slot)?.tool.name;
      return name === undefined ? [] : [{ name, worked: positives, tried: positives + negatives }];
    }),
  }));
}
