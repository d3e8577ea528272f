import { discountNearDuplicates } from './near-duplicates.ts';
import type { BudgetedCandidates } from './select-under-budget.ts';

/**
 * How much a score has to lead to be taken for right, in units of the score; chosen on training queries of seal-tools, toollens and
 * mcp-zero, where .05 to .1 are alike and the scores themselves lose up to .25 of the tools.
 */
const SHARPNESS = 0.1;

/** The same for retrieval scores of instructions, which tell them apart less well; chosen on the tasks of bench/itr for choosing. */
const SHARPNESS_OF_INSTRUCTIONS = 0.2;

/**
 * Returns what each tool is expected to add to the success of a request that needs one of them: the probability that it is the one,
 * e^(u/.1) over the sum of all candidates. The scores themselves must not be added up: three cheap tools that do not fit would be worth
 * more than the one that does. In probabilities tools and effects of instructions have the same unit.
 */
export function toolGains(score: Float64Array): Float64Array {
  return chancesOf(score, SHARPNESS);
}

/**
 * Returns the probability that a step needs each instruction: e^(S/.2) over the sum of all candidates, and what was learned of its effect
 * beyond β·S, which is what retrieval promises. The gain cannot be taken for this: β·S of the fourth is two thirds of that of the best, and it is
 * needed an eighth as often (tasks of bench/itr for choosing).
 *
 * @param scores S, 0…1
 * @param slope β
 */
export function instructionNeeds(scores: Float64Array, gain: Float64Array, slope: number): Float64Array {
  return chancesOf(scores, SHARPNESS_OF_INSTRUCTIONS).map(
    (chance, index) => chance + gain[index] - slope * scores[index],
  );
}

/** Returns e^(score/sharpness) of each over the sum of all. */
function chancesOf(score: Float64Array, sharpness: number): Float64Array {
  let most = Number.NEGATIVE_INFINITY;
  for (const value of score) if (value > most) most = value;
  const chances = score.map((value) => Math.exp((value - most) / sharpness));
  let total = 0;
  for (const chance of chances) total += chance;
  return chances.map((chance) => chance / total);
}

/**
 * Returns tools with the gains by which they are selected within a budget, wherever they are: those of `toolGains`, less for near
 * duplicates.
 *
 * @param vectors of each tool
 * @param goesOn whether they are added to a prompt that goes on, where the gain of each has to be worth its tokens
 */
export function withToolGains(
  tools: Omit<BudgetedCandidates, 'gain' | 'need'>,
  vectors: readonly Float32Array[],
  budget: number,
  goesOn: boolean,
): BudgetedCandidates {
  const { score, tokens, forced } = tools;
  const gain = discountNearDuplicates(toolGains(score), tokens, vectors, forced, budget);
  return { ...tools, gain, ...(goesOn && { need: gain }) };
}
