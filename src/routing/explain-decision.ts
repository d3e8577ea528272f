import type { Policy } from '../../bandit/policy.ts';
import type { Catalog } from '../catalog/catalog.ts';
import {
  type Assembly,
  type Decision,
  type DecisionCarried,
  type DecisionInstructions,
  type DecisionRerank,
  type DecisionSplit,
  type Discovery,
  rewardDeadline,
  type SlateReason,
  withoutDiscoveries,
} from '../decisions/decision.ts';
import { tokenise, wordsOf } from '../retrieval/tokenise.ts';
import type { KeptReward } from '../state/fold-result.ts';
import {
  type AnswerTokens,
  budgetedAnswer,
  type CostTokens,
  costTokensOf,
  documentsOf,
  type LeftOut,
  leftOutOf,
  spentTokens,
} from './budgeted-answer.ts';
import type { TokenCosts } from './token-costs.ts';

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
  /** The shape of the definitions that were served, and how much of each there was. */
  readonly format: Decision['format'];
  readonly detail: Decision['detail'];
  readonly fallback: Decision['fallback'];
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
  /** Those that were served, in the order of the decision, then the others by gain; the safety overlay first. */
  readonly instructions?: readonly ExplainedInstruction[];
}

export interface ExplainedBudget {
  readonly tokenBudget: number | null;
  readonly assembly: Assembly;
  /** What counted the tokens. */
  readonly counter: string;
  /** Of the parts; a prompt has some more for what is between them. */
  readonly tokens: AnswerTokens;
  readonly leftOut: LeftOut;
  readonly costTokens: CostTokens;
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

export interface ExplainedCandidate {
  readonly name: string;
  /** Position in the slate, 1 for the first; null if it was not served. */
  readonly rank: number | null;
  /** Position by the retrieval score alone, 1 for the first. */
  readonly retrievalRank: number;
  readonly reason: SlateReason | null;
  readonly score: number;
  readonly mean: number;
  readonly base: number;
  readonly gain: number;
  readonly uncertainty: number;
  readonly bonus: number;
  readonly propensity: number;
  /** Of its definition, where tokens are counted. */
  readonly tokens?: number;
  /** Weighted number of remembered outcomes of this tool near the query. */
  readonly trials: number;
  readonly features: Readonly<Record<string, number>>;
  /** Words of the query, if its text is kept, that speak most for this tool by the outcomes of other queries. */
  readonly taughtWords: readonly string[];
  readonly sentence: string;
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

/** Returns why a decision came out as it did, and its rewards so far. */
export function explainDecision(
  decision: Decision,
  catalog: Catalog,
  costs: TokenCosts,
): DecisionExplanation {
  const record = catalog.state.decisions.get(decision.id);
  return {
    decisionId: decision.id,
    catalog: decision.catalog,
    at: new Date(decision.at).toISOString(),
    revision: decision.revision,
    policy: decision.policy,
    exploration: decision.exploration,
    temperature: decision.temperature,
    propensityMethod: decision.propensityMethod,
    k: decision.k,
    format: decision.format,
    detail: decision.detail,
    fallback: decision.fallback,
    ...(decision.text === undefined ? {} : { query: decision.text }),
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
    ...explainBudget(decision, catalog, costs),
  };
}

function explainBudget(
  decision: Decision,
  { state }: Catalog,
  costs: TokenCosts,
): Pick<DecisionExplanation, 'budget' | 'instructions'> {
  const { budget, carried, instructions } = decision;
  if (budget === undefined) return {};
  const { tokenBudget, assembly, counter } = budget;
  const budgeted = { ...decision, budget };
  const first = withoutDiscoveries(decision);
  const answered = budgetedAnswer(first, state, costs, documentsOf(first, state, costs));
  const tokens = spentTokens(budgeted, answered.tokens?.documents ?? 0);
  return {
    budget: {
      ...{ tokenBudget, assembly, counter, tokens },
      leftOut: leftOutOf(budgeted, state, costs),
      costTokens: costTokensOf(budgeted, tokens),
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

function explainCandidates(decision: Decision, { state }: Catalog): ExplainedCandidate[] {
  const { columns, candidates, extras } = decision;
  const features = decision.features[decision.policy.version];
  const byRetrieval = rankBy(columns.retrieval);
  const byBase = rankBy(columns.base);
  const byMean = rankBy(columns.mean);
  const isMoved = (index: number): boolean =>
    decision.fallback !== 'kill_switch' && byMean[index] !== byBase[index];
  const { policy } = state.learners.get(decision.policy.version) ?? state.learners.active;
  const rest = [...candidates.keys()].filter((index) => !decision.slate.includes(index));
  rest.sort((a, b) => columns.score[b] - columns.score[a]);
  return [...decision.slate, ...rest].map((index) => {
    const at = decision.slate.indexOf(index);
    const values: Record<string, number> = {
      similarity: columns.similarity[index],
      retrieval: columns.retrieval[index],
    };
    for (const [column, extra] of extras.entries()) values[extra] = features[index * extras.length + column];
    const slot = state.tools.find(candidates[index])?.slot;
    const candidate = {
      name: candidates[index],
      rank: at < 0 ? null : at + 1,
      retrievalRank: byRetrieval[index],
      reason: at < 0 ? null : decision.reasons[at],
      score: columns.score[index],
      mean: columns.mean[index],
      base: columns.base[index],
      gain: columns.gain[index],
      uncertainty: columns.uncertainty[index],
      bonus: columns.bonus[index],
      propensity: columns.propensity[index],
      ...(decision.budget !== undefined && { tokens: decision.budget.tokens[index] }),
      trials: columns.trials[index],
      features: values,
      taughtWords: slot === undefined ? [] : taughtWords(decision, policy, slot),
    };
    return { ...candidate, sentence: sentenceFor(candidate, isMoved(index)) };
  });
}

/** Words that are named in an explanation. */
const NAMED_WORDS = 3;
/** A word speaks for a tool when it has at least this part of what all words that do so have together. */
const SPEAKS_FROM = 0.2;

/** Returns the words of the query that the policy was taught to call this tool for, the strongest first. */
function taughtWords({ text, query }: Decision, policy: Policy, slot: number): string[] {
  if (text === undefined) return [];
  const shares = policy.taughtTerms(query, slot).filter(({ share }) => share > 0);
  const total = shares.reduce((sum, { share }) => sum + share, 0);
  const words = new Map(wordsOf(text).map((word) => [tokenise(word)[0], word]));
  return shares
    .filter(({ share }) => share >= SPEAKS_FROM * total)
    .sort((a, b) => b.share - a.share)
    .map(({ term }) => words.get(term))
    .filter((word) => word !== undefined)
    .slice(0, NAMED_WORDS);
}

/** 1 for the largest; of equals the first. */
function rankBy(values: Float32Array): number[] {
  const order = [...values.keys()].sort((a, b) => values[b] - values[a] || a - b);
  const ranks: number[] = [];
  for (const [rank, index] of order.entries()) ranks[index] = rank + 1;
  return ranks;
}

/**
 * Returns one sentence for a person: what outcomes say, what retrieval says, and whether it was shown by chance.
 *
 * @param isMoved whether the gains of the candidates give it another rank than their base scores do
 */
export function sentenceFor(candidate: Omit<ExplainedCandidate, 'sentence'>, isMoved: boolean): string {
  const halves = [outcomes(candidate), taught(candidate)].filter((half) => half !== null);
  const unlike = halves.length === 2 && halves[0].isGood !== halves[1].isGood;
  const known = halves.length > 0 ? halves : unnamed(candidate);
  const why = circumstances(candidate);
  const isUnsaid = known.length === 0 && why.length === 0;
  const { rank, retrievalRank } = candidate;
  if (isUnsaid && isMoved && rank !== retrievalRank) why.push('what was learned moved it');
  const said = known.map(({ words }) => words).join(unlike ? ', but ' : '; ');
  const sentence = [...(said === '' ? [] : [said]), retrieval(candidate), ...why].join('; ');
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}

/** What is known of a tool, in words, and whether it speaks for the tool. */
interface Known {
  readonly isGood: boolean;
  readonly words: string;
}

/** Outcomes near this query weigh at least this much before they are put into words. */
const WORTH_SAYING = 0.25;
/** Outcomes count by similarity; from here on their weighted number reads as a number of times. */
const COUNTABLE = 1.5;

function outcomes({ features, trials }: Omit<ExplainedCandidate, 'sentence'>): Known | null {
  const { vote } = features;
  if (vote === undefined || trials < WORTH_SAYING) return null;
  // vote = positives / (trials + 1)
  const positives = vote * (trials + 1);
  const isGood = positives >= trials / 2;
  if (trials < COUNTABLE) {
    return { isGood, words: isGood ? 'worked for a similar query' : 'did not help with a similar query' };
  }
  const times = `${Math.round(positives)} of ${Math.round(trials)} times`;
  return { isGood, words: `worked ${times} for similar queries` };
}

/** A taught score is worth a sentence from here on: about what one success adds for a word that it shares. */
const TAUGHT_WORTH_SAYING = 0.05;

function taught({ features, taughtWords }: Omit<ExplainedCandidate, 'sentence'>): Known | null {
  if ((features.taught ?? 0) < TAUGHT_WORTH_SAYING || taughtWords.length === 0) return null;
  const words = taughtWords.map((word) => `“${word}”`).join(', ');
  return { isGood: true, words: `it helped with other queries that say ${words}` };
}

/** What was taught, where neither cases near the query nor its words say it already. */
function unnamed({ features }: Omit<ExplainedCandidate, 'sentence'>): Known[] {
  const score = features.taught ?? 0;
  if (Math.abs(score) < TAUGHT_WORTH_SAYING) return [];
  const isGood = score > 0;
  return [
    { isGood, words: isGood ? 'it helped with queries like this' : 'queries like this did well without it' },
  ];
}

function retrieval({ retrievalRank, rank }: Omit<ExplainedCandidate, 'sentence'>): string {
  const rankByText = ordinal(retrievalRank);
  if (rank !== null && rank === retrievalRank) return `the description alone ranks it ${rankByText} as well`;
  return `the description alone would rank it ${rankByText}`;
}

function circumstances({ reason, rank, propensity }: Omit<ExplainedCandidate, 'sentence'>): string[] {
  if (reason === 'pinned') return ['pinned'];
  if (reason === 'carried') return ['served before in this session or task'];
  if (reason === 'explored') return [`shown to try it out (chance ${Math.round(propensity * 100)} %)`];
  if (rank === null) return ['not shown this time'];
  return [];
}

function ordinal(rank: number): string {
  const teen = rank % 100 >= 11 && rank % 100 <= 13;
  const ending = teen ? 'th' : (['th', 'st', 'nd', 'rd'][rank % 10] ?? 'th');
  return `${rank}${ending}`;
}
