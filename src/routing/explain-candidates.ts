import type { Policy } from '../../bandit/policy.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Decision, SlateReason } from '../decisions/decision.ts';
import { tokenise, wordsOf } from '../retrieval/tokenise.ts';
import type { CatalogState } from '../state/catalog-state.ts';

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

/** Returns the candidates of a decision, the served ones first in slate order, then the others by score. */
export function explainCandidates(decision: Decision, { state }: Catalog): ExplainedCandidate[] {
  const { columns, candidates, extras } = decision;
  const features = decision.features[decision.policy.version];
  const byRetrieval = rankBy(columns.retrieval);
  const byBase = rankBy(columns.base);
  const byMean = rankBy(columns.mean);
  const mover = (index: number): string | null => {
    if (decision.slateBy !== undefined) return 'the retriever of ToolScope chose the slate';
    const isMoved = decision.fallback !== 'kill_switch' && byMean[index] !== byBase[index];
    return isMoved ? 'what was learned moved it' : null;
  };
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
      taughtWords: slot === undefined ? [] : taughtWords(decision, policy, slotsOf(slot, state)),
    };
    return { ...candidate, sentence: sentenceFor(candidate, mover(index)) };
  });
}

/** Words that are named in an explanation. */
const NAMED_WORDS = 3;
/** A word speaks for a tool when it has at least this part of what all words that do so have together. */
const SPEAKS_FROM = 0.2;

/** The slots whose outcomes count for this one. */
function slotsOf(slot: number, { merges }: CatalogState): readonly number[] {
  const members = merges.membersOf(slot);
  return members.length === 0 ? [slot] : members;
}

/** Returns the words of the query that the policy was taught to call this tool for, the strongest first. */
function taughtWords({ text, query }: Decision, policy: Policy, slots: readonly number[]): string[] {
  if (text === undefined) return [];
  const sums = new Map<number, number>();
  for (const { term, share } of slots.flatMap((slot) => policy.taughtTerms(query, slot))) {
    sums.set(term, (sums.get(term) ?? 0) + share);
  }
  const shares = [...sums].map(([term, share]) => ({ term, share })).filter(({ share }) => share > 0);
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
 * @param mover what gives it another rank than its retrieval score does; null: nothing
 */
export function sentenceFor(candidate: Omit<ExplainedCandidate, 'sentence'>, mover: string | null): string {
  const halves = [outcomes(candidate), taught(candidate)].filter((half) => half !== null);
  const unlike = halves.length === 2 && halves[0].isGood !== halves[1].isGood;
  const known = halves.length > 0 ? halves : unnamed(candidate);
  const why = circumstances(candidate);
  const isUnsaid = known.length === 0 && why.length === 0;
  const { rank, retrievalRank } = candidate;
  if (isUnsaid && mover !== null && rank !== retrievalRank) why.push(mover);
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

function retrieval({ retrievalRank, rank, reason }: Omit<ExplainedCandidate, 'sentence'>): string {
  if (reason === 'used') return "used with what was chosen of the user's context";
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
