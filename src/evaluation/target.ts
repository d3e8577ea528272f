import { drawSlate } from '../../bandit/exploration/draw-slate.ts';
import { inclusionPropensities } from '../../bandit/exploration/propensities.ts';
import { randomFor } from '../../bandit/random.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import type { Decision } from '../routing/decision.ts';
import type { LearnerVersion } from '../state/learners.ts';
import type { EvaluatedSlate } from './evaluated-slate.ts';

/** π of each candidate of a decision: the probability that a policy would have it in the slate. */
export type Target = (slate: EvaluatedSlate) => Float64Array;

/** A candidate policy with the learner that it would have had then. */
export function candidateTarget({ policy }: LearnerVersion, settings: PolicySettings): Target {
  return ({ decision, candidates, free, k }) => {
    const query = decision.query;
    const ranking = policy.rank({
      query,
      candidates,
      recall: policy.recall(query),
      random: randomFor(`${decision.id}/rank`),
    });
    const { exploration, temperature } = settings;
    const score = exploration === 'greedy' ? ranking.mean : ranking.score;
    const freeScore = Float64Array.from(free, (index) => score[index]);
    if (exploration === 'plackett-luce') {
      return spread(decision, free, inclusionPropensities(freeScore, k, temperature));
    }
    return spread(decision, free, best(freeScore, k));
  };
}

/** What every evaluation shows beside its candidates. */
export const BASELINES: Readonly<Record<string, Target>> = {
  logging: ({ decision }) => Float64Array.from(decision.columns.propensity),
  retrieval: ({ decision, free, k }) =>
    spread(
      decision,
      free,
      best(
        Float64Array.from(free, (index) => decision.columns.retrieval[index]),
        k,
      ),
    ),
  uniform: ({ decision, free, k }) =>
    spread(decision, free, new Float64Array(free.length).fill(Math.min(1, k / free.length))),
};

function best(score: Float64Array, k: number): Float64Array {
  const chosen = new Float64Array(score.length);
  const slate = drawSlate({ score, k, temperature: 1, mode: 'greedy', random: randomFor('unused') });
  for (const index of slate) chosen[index] = 1;
  return chosen;
}

/** Pins are in every slate. */
function spread({ candidates }: Decision, free: readonly number[], ofFree: Float64Array): Float64Array {
  const all = new Float64Array(candidates.length).fill(1);
  for (const [at, index] of free.entries()) all[index] = ofFree[at];
  return all;
}
