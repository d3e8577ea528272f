import type { Random } from '../random.ts';
import { exactKnapsack, greedyKnapsack, type KnapsackCorpus } from './knapsack.ts';
import { worthTokens } from './token-price.ts';

/** A corpus to select from, column by column. */
export interface BudgetedCandidates {
  /** Gain Δ, what the presence of each is expected to add; the sum over what is chosen becomes as large as possible. */
  readonly gain: Float64Array;
  /** What exploration draws by, in the units of the temperature. */
  readonly score: Float64Array;
  /** Whole numbers of at least 0. */
  readonly tokens: Float64Array;
  /** Indices that are chosen whatever they cost, in the order in which they are served. */
  readonly forced: readonly number[];
  /** Most that may be chosen beside those that are forced and those that come with others. */
  readonly limit: number;
  /** Probability that the step needs each, which has to be worth its tokens (`worthTokens`). Absent: whatever the knapsack chooses is. */
  readonly need?: Float64Array;
  /** Of each candidate, the others that come with it; their tokens are among its own. Absent: none do. */
  readonly includes?: readonly (readonly number[])[];
}

export interface BudgetedRequest {
  readonly tools: BudgetedCandidates;
  readonly instructions: BudgetedCandidates;
  /** Tokens for both corpora together. */
  readonly budget: number;
  /** `greedy` takes by gain per token. */
  readonly method: 'exact' | 'greedy';
  /** False: what the knapsack chose is served. */
  readonly explore: boolean;
  /** T > 0, in units of the score. */
  readonly temperature: number;
  /** Draws keyed by the decision id. */
  readonly random: Random;
}

export interface SelectedCandidates {
  /** Indices: the forced ones, then the others by falling score, then those that come with them. */
  readonly chosen: readonly number[];
  /** Probability of each candidate to be chosen: 1 if forced, 0 for what fits in no place. */
  readonly propensity: Float64Array;
  /** Indices that a budget without end would have chosen, and this one did not, by falling score. */
  readonly leftOut: readonly number[];
  /** Natural log of the probability of exactly these. The corpora are drawn from independently, so theirs may be added. */
  readonly logProbability: number;
}

export interface Selection {
  readonly tools: SelectedCandidates;
  readonly instructions: SelectedCandidates;
  /** Tools that would have been chosen without exploration: the forced ones, then the others, ascending. */
  readonly toolCore: readonly number[];
}

/** In place of no budget: more tokens than there are. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** What is forced does not fit. */
export interface BudgetTooSmall {
  /** Tokens of everything that is forced. */
  readonly needed: number;
}

/** Counters of the draws; the tools' first. */
const DRAWS_PER_CORPUS = 2;

/**
 * Selects what is worth most within a budget, and explores in one place of each corpus.
 *
 * The core is the knapsack's choice, less what is not worth its tokens: such a place stays empty, and its tokens are no room here. Of the m candidates of a corpus that it chose and that were not forced, one is given up, each with
 * probability 1/m; its tokens, and this corpus's share of the tokens that were left over, are the room. It is drawn anew among itself,
 * all candidates outside the core that fit into the room, and nothing (score 0), with probabilities in proportion to exp(score/T). A
 * core for which the knapsack chose nothing has one place, which is empty and is filled in the same way. Shares are fixed before anything is drawn, so the two draws are independent,
 * and the probability of a candidate is the mean over the places:
 *   outside the core  P_j = (1/m) Σ_i e^(s_j/T)·1[j fits in place i] / Z_i,
 *   in the core       P_i = 1 − (1/m)(1 − e^(s_i/T)/Z_i).
 * @throws RangeError on a temperature, cost or gain that is none.
 */
export function selectUnderBudget(request: BudgetedRequest): Selection | BudgetTooSmall {
  const { tools, instructions, budget, method, explore, temperature, random } = request;
  const needed = forcedTokens(tools) + forcedTokens(instructions);
  if (needed > budget) return { needed };
  const solve = method === 'greedy' ? greedyKnapsack : exactKnapsack;
  const free = [tools, instructions].map(freeOf);
  const found = solve(free[0], free[1], budget - needed);
  const wished = solve(free[0], free[1], NO_LIMIT);
  const left = budget - needed - costOf(found.tools, tools) - costOf(found.instructions, instructions);
  const draws = [tools, instructions].map(({ limit }) => explore && limit > 0);
  const share = draws[0] ? (draws[1] ? Math.floor(left / 2) : left) : 0;
  const core = {
    tools: worthTokens(found.tools, tools),
    instructions: worthTokens(found.instructions, instructions),
  };
  const select = (corpus: 'tools' | 'instructions', room: number, at: 0 | 1) => {
    const candidates = request[corpus];
    const uniform = (counter: number) => random.uniform(at * DRAWS_PER_CORPUS + counter);
    const spared = found[corpus].length - core[corpus].length;
    const explored = draws[at]
      ? exploreOne(candidates, { chosen: core[corpus], spared }, room, temperature, uniform)
      : asChosen(candidates, core[corpus]);
    return selected(candidates, explored, wished[corpus]);
  };
  return {
    tools: select('tools', share, 0),
    instructions: select('instructions', left - share, 1),
    toolCore: [...tools.forced, ...core.tools],
  };
}

interface Explored {
  readonly indices: readonly number[];
  readonly propensity: Float64Array;
  readonly logProbability: number;
}

/** Gives up one place of the core, and fills it by chance; `spared` places stay empty. */
function exploreOne(
  { score, tokens, forced, includes }: BudgetedCandidates,
  { chosen, spared }: { readonly chosen: readonly number[]; readonly spared: number },
  share: number,
  temperature: number,
  uniform: (counter: number) => number,
): Explored {
  const served = (index: number) => [index, ...(includes?.[index] ?? [])];
  // What comes with another one is there in any case: it is no place.
  const core = chosen.filter((index) => !chosen.some((other) => includes?.[other].includes(index)));
  /** How many of the forced and the chosen bring each candidate. */
  const brought = new Uint16Array(score.length);
  for (const index of [...forced, ...core]) for (const one of served(index)) brought[one]++;
  const propensity = Float64Array.from(brought, (count) => Math.min(1, count));
  const outside: number[] = [];
  for (let index = 0; index < score.length; index++) if (brought[index] === 0) outside.push(index);

  const places: readonly number[] = core.length === 0 && spared === 0 ? [NOTHING] : core;
  const count = places.length + spared;
  const given = Math.min(count - 1, Math.floor(uniform(0) * count));
  /** Probability of what the core itself has chosen; every place may bring it back. */
  let unchanged = spared / count;
  let drawn = NOTHING;
  let probability = 0;
  for (const [at, place] of places.entries()) {
    const room = share + (place === NOTHING ? 0 : tokens[place]);
    const options = [place, ...outside.filter((index) => tokens[index] <= room)];
    if (place !== NOTHING) options.push(NOTHING);
    const chances = softmax(
      options.map((index) => (index === NOTHING ? 0 : score[index])),
      temperature,
    );
    const lost = place === NOTHING ? [] : served(place).filter((one) => brought[one] === 1);
    for (let i = 1; i < options.length; i++) {
      const chance = chances[i] / count;
      const gained = options[i] === NOTHING ? [] : served(options[i]);
      for (const one of gained) if (brought[one] === 0) propensity[one] += chance;
      for (const one of lost) if (!gained.includes(one)) propensity[one] -= chance;
    }
    unchanged += chances[0] / count;
    if (at !== given) continue;
    const option = pick(chances, uniform(1));
    drawn = options[option];
    probability = chances[option] / count;
  }
  const kept = given >= places.length || drawn === places[given];
  const rest = kept ? core : core.filter((index) => index !== places[given]);
  return {
    indices: kept || drawn === NOTHING ? rest : [...rest, drawn],
    propensity,
    logProbability: Math.log(kept ? unchanged : probability),
  };
}

/** In place of an index: no candidate. */
const NOTHING = -1;

function softmax(scores: readonly number[], temperature: number): Float64Array {
  const most = Math.max(...scores);
  const chances = Float64Array.from(scores, (score) => Math.exp((score - most) / temperature));
  const total = chances.reduce((sum, value) => sum + value, 0);
  return chances.map((value) => value / total);
}

/** Returns the index in which a uniform number falls. */
function pick(chances: Float64Array, uniform: number): number {
  let sum = 0;
  for (let i = 0; i < chances.length; i++) {
    sum += chances[i];
    if (uniform < sum) return i;
  }
  return 0;
}

function asChosen({ score, forced, includes }: BudgetedCandidates, indices: readonly number[]): Explored {
  const propensity = new Float64Array(score.length);
  for (const index of [...forced, ...indices]) {
    propensity[index] = 1;
    for (const one of includes?.[index] ?? []) propensity[one] = 1;
  }
  return { indices, propensity, logProbability: 0 };
}

function selected(
  { score, forced, includes }: BudgetedCandidates,
  { indices, propensity, logProbability }: Explored,
  wished: readonly number[],
): SelectedCandidates {
  const byScore = (a: number, b: number) => score[b] - score[a] || a - b;
  const chosen = new Set([...forced, ...indices.toSorted(byScore)]);
  for (const index of [...chosen]) for (const one of includes?.[index] ?? []) chosen.add(one);
  return {
    chosen: [...chosen],
    propensity,
    leftOut: wished.filter((index) => !chosen.has(index)).sort(byScore),
    logProbability,
  };
}

/** The candidates as the knapsack sees them: forced ones, and what comes with them, are not for it to choose. */
function freeOf({ gain, tokens, forced, limit, includes }: BudgetedCandidates): KnapsackCorpus {
  if (forced.length === 0) return { gain, tokens, limit };
  const free = gain.slice();
  for (const index of forced) for (const one of [index, ...(includes?.[index] ?? [])]) free[one] = 0;
  return { gain: free, tokens, limit };
}

function forcedTokens({ forced, tokens }: BudgetedCandidates): number {
  return costOf(forced, { tokens });
}

function costOf(indices: readonly number[], { tokens }: Pick<BudgetedCandidates, 'tokens'>): number {
  return indices.reduce((sum, index) => sum + tokens[index], 0);
}
