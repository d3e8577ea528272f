import type { Candidates, Example, QueryFeatures } from '../../../bandit/policy.ts';
import type { ObservedDecision } from '../../ledger/entry.ts';
import type { CatalogState } from '../catalog-state.ts';
import type { LearnerVersion } from '../learner-version.ts';
import type { ObservedRecord } from './observed-record.ts';

/**
 * x of one tool of a decision as one version of the policy sees it, as it was at decision time; null for a tool
 * that was no candidate then, or that is unknown now.
 */
export function exampleOf(
  state: CatalogState,
  record: ObservedRecord,
  decision: ObservedDecision,
  index: number,
  learner: LearnerVersion,
): Example | null {
  const slot = state.tools.find(decision.tools[index] ?? '')?.slot;
  const similarity = index < 0 ? Number.NaN : decision.columns.similarity[index];
  if (slot === undefined || Number.isNaN(similarity)) return null;
  const features = featuresOf(state, record, decision, learner);
  const width = learner.policy.extras.length;
  if (features.length < (index + 1) * width) return null;
  const extras = features.subarray(index * width, (index + 1) * width);
  return { query: queryOf(decision), slot, similarity, extras };
}

function queryOf({ embedding, terms }: ObservedDecision): QueryFeatures {
  return { embedding, terms };
}

/** Logged with the decision where this version took part in it, else worked out once and kept with the record. */
function featuresOf(
  state: CatalogState,
  record: ObservedRecord,
  decision: ObservedDecision,
  { version, policy }: LearnerVersion,
): Float32Array {
  const logged = decision.features[version] ?? record.features.get(version);
  if (logged !== undefined) return logged;
  const query = queryOf(decision);
  const features = policy.features(query, shownCandidates(state, decision), policy.recall(query));
  record.features.set(version, features);
  return features;
}

/** The shown tools as candidates; one that is gone keeps its place, and nothing is learned from its row. */
function shownCandidates(state: CatalogState, decision: ObservedDecision): Candidates {
  const { columns, shown } = decision;
  const names = decision.tools.slice(0, shown);
  return {
    slots: Int32Array.from(names, (name) => state.tools.find(name)?.slot ?? 0),
    lexical: new Float64Array(columns.lexical.subarray(0, shown)),
    dense: new Float64Array(columns.dense.subarray(0, shown)),
    base: new Float64Array(columns.retrieval.subarray(0, shown)),
    similarity: new Float64Array(columns.similarity.subarray(0, shown)),
  };
}
