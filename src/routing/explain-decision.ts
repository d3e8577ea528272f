import type { Catalog } from '../catalog/catalog.ts';
import { type Decision, rewardDeadline } from '../decisions/decision.ts';
import { sentenceFor } from './explain-sentence.ts';
import type { DecisionExplanation, ExplainedCandidate, NearestCase } from './explanation.ts';

export function explainDecision(decision: Decision, catalog: Catalog): DecisionExplanation {
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
    fallback: decision.fallback,
    ...(decision.text === undefined ? {} : { query: decision.text }),
    ...(decision.split === undefined ? {} : { split: decision.split }),
    ...(decision.rerank === undefined ? {} : { rerank: decision.rerank }),
    learn: decision.learn,
    activatedAt: decision.activatedAt === null ? null : new Date(decision.activatedAt).toISOString(),
    rewardDeadline: new Date(rewardDeadline(decision)).toISOString(),
    slateProbability: Math.exp(decision.logProbability),
    candidates: explainCandidates(decision),
    nearestCases: nearestCases(decision, catalog),
    rewards: record === undefined ? [] : [...record.rewards.values()],
  };
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

function explainCandidates(decision: Decision): ExplainedCandidate[] {
  const { columns, candidates, extras } = decision;
  const features = decision.features[decision.policy.version];
  const byRetrieval = rankBy(columns.retrieval);
  const rest = [...candidates.keys()].filter((index) => !decision.slate.includes(index));
  rest.sort((a, b) => columns.score[b] - columns.score[a]);
  return [...decision.slate, ...rest].map((index) => {
    const place = decision.slate.indexOf(index);
    const values: Record<string, number> = {
      similarity: columns.similarity[index],
      retrieval: columns.retrieval[index],
    };
    for (const [at, extra] of extras.entries()) values[extra] = features[index * extras.length + at];
    const candidate = {
      name: candidates[index],
      rank: place < 0 ? null : place + 1,
      retrievalRank: byRetrieval[index],
      reason: place < 0 ? null : decision.reasons[place],
      score: columns.score[index],
      mean: columns.mean[index],
      base: columns.base[index],
      gain: columns.gain[index],
      uncertainty: columns.uncertainty[index],
      bonus: columns.bonus[index],
      propensity: columns.propensity[index],
      trials: columns.trials[index],
      features: values,
    };
    return { ...candidate, sentence: sentenceFor(candidate) };
  });
}

/** 1 for the largest; of equals the first. */
function rankBy(values: Float32Array): number[] {
  const order = [...values.keys()].sort((a, b) => values[b] - values[a] || a - b);
  const ranks: number[] = [];
  for (const [rank, index] of order.entries()) ranks[index] = rank + 1;
  return ranks;
}
