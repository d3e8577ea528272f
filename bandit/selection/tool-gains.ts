import { discountNearDuplicates } from './near-duplicates.ts';
import type { BudgetedCandidates } from './select-under-budget.ts';

/**
 * How much a score has to lead to be taken for right, in units of the score; chosen on training queries of seal-tools, toollens and
 * mcp-zero, where .05 to .1 are alike and the scores themselves lose up to .25 of the tools.
 */
const SHARPNESS = 0.1;

/**
 * Returns what each tool is expected to add to the success of a request that needs one of them: the probability that it is the one,
 * e^(u/.1) over the sum of all candidates. The scores themselves must not be added up: three cheap tools that do not fit would be worth
 * more than the one that does. In probabilities tools and effects of instructions have the same unit.
 */
export function toolGains(score: Float64Array): Float64Array {
  let most = Number.NEGATIVE_INFINITY;
  for (const value of score) if (value > most) most = value;
  const gains = score.map((value) => Math.exp((value - most) / SHARPNESS));
  let total = 0;
  for (const gain of gains) total += gain;
  return gains.map((gain) => gain / total);
}

/**
 * Returns tools with the gains by which they are selected within a budget, wherever they are: those of `toolGains`, less for near
 * duplicates.
 *
 * @param vectors of each tool
 */
export function withToolGains(
  tools: Omit<BudgetedCandidates, 'gain'>,
  vectors: readonly Float32Array[],
  budget: number,
): BudgetedCandidates {
  const { score, tokens, forced } = tools;
  return { ...tools, gain: discountNearDuplicates(toolGains(score), tokens, vectors, forced, budget) };
}
