import { drawSlate } from '../../bandit/exploration/draw-slate.ts';
import { inclusionPropensities } from '../../bandit/exploration/propensities.ts';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { selectionMethod } from '../../bandit/policies/itr.ts';
import type { Candidates } from '../../bandit/policy.ts';
import { type Random, randomFor } from '../../bandit/random.ts';
import { type BudgetedRequest, selectUnderBudget } from '../../bandit/selection/select-under-budget.ts';
import { withToolGains } from '../../bandit/selection/tool-gains.ts';
import { queryWithContext } from '../decisions/observed-decision.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import type { LearnerVersion } from '../state/learner-version.ts';
import type { EvaluatedBudget, EvaluatedSlate } from './evaluated-slate.ts';

/** π of each candidate of a decision: the probability that a policy would have it in the slate. */
export type Target = (slate: EvaluatedSlate, candidates: Candidates) => Float64Array;

/** Returns the target of a candidate policy with the learner that it would have had at that time. */
export function candidateTarget(
  { policy, settings }: LearnerVersion,
  { exploration, temperature }: PolicySettings,
  kernels: Kernels,
): Target {
  const way = { method: selectionMethod(settings) };
  return (slate, candidates) => {
    const { id } = slate.decision;
    const query = queryWithContext(slate.decision);
    const ranking = policy.rank({
      query,
      candidates,
      recall: policy.recall(query),
      random: randomFor(`${id}/rank`),
    });
    const ordered = exploration === 'greedy' ? ranking.mean : ranking.score;
    const explore = exploration === 'plackett-luce';
    if (slate.budget !== null)
      return withinBudget(slate, slate.budget, ordered, { ...way, explore, temperature });
    const score = ofFree(ordered, slate);
    return explore
      ? spread(slate, inclusionPropensities(score, slate.k, temperature, kernels))
      : spread(slate, best(score, slate.k));
  };
}

/** Policies that every evaluation shows beside its candidates. */
export const BASELINES: Readonly<Record<string, Target>> = {
  logging: ({ decision }) => new Float64Array(decision.columns.propensity),
  retrieval: (slate, { base }) =>
    slate.budget !== null
      ? withinBudget(slate, slate.budget, base, { method: 'exact', explore: false, temperature: 1 })
      : spread(slate, best(ofFree(base, slate), slate.k)),
  uniform: (slate, { base }) => {
    if (slate.budget !== null) {
      const equal = new Float64Array(base.length);
      // By chance, nothing is worth more than anything else.
      const budget = { ...slate.budget, goesOn: false };
      return withinBudget(slate, budget, equal, { method: 'exact', explore: true, temperature: 1 });
    }
    const count = slate.free?.length ?? base.length;
    return spread(slate, new Float64Array(count).fill(Math.min(1, slate.k / count)));
  },
};

/** Returns the probabilities under the budget of the decision, beside the instructions that compete for it. */
function withinBudget(
  { k, slots }: EvaluatedSlate,
  { room, tokens, forced, goesOn, instructions, vectors }: EvaluatedBudget,
  score: Float64Array,
  way: Pick<BudgetedRequest, 'method' | 'explore' | 'temperature'>,
): Float64Array {
  const rows = Array.from(slots, (slot) => vectors.get(slot));
  const selection = selectUnderBudget({
    tools: withToolGains({ score, tokens, forced, limit: k }, rows, room, goesOn),
    ...{ instructions, budget: room, ...way },
    // Probabilities do not depend on what is drawn.
    random: { uniform: () => 0.5 },
  });
  // What was served fitted.
  if ('needed' in selection)
    throw new RangeError(`forced candidates take ${selection.needed} of ${room} tokens`);
  return selection.tools.propensity;
}

/** The random numbers of a greedy slate: none. */
const NO_DRAW: Random = {
  uniform: () => {
    throw new Error('a greedy slate asked for a draw');
  },
};

function best(score: Float64Array, k: number): Float64Array {
  const chosen = new Float64Array(score.length);
  for (const index of drawSlate({ score, k, temperature: 1, mode: 'greedy', random: NO_DRAW })) {
    chosen[index] = 1;
  }
  return chosen;
}

function ofFree(score: Float64Array, { free }: EvaluatedSlate): Float64Array {
  return free === null ? score : Float64Array.from(free, (index) => score[index]);
}

/** Returns the values of the free candidates in an array over all candidates; pins, which are in every slate, have 1. */
function spread({ free, slots }: EvaluatedSlate, values: Float64Array): Float64Array {
  if (free === null) return values;
  const all = new Float64Array(slots.length).fill(1);
  for (const [at, index] of free.entries()) all[index] = values[at];
  return all;
}
