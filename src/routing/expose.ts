import type { Catalog } from '../catalog/catalog.ts';
import type { Decision } from '../decisions/decision.ts';
import type { ExposureRecorder } from '../experiments/exposure-recorder.ts';

/** Retrieval scores that stand for how hard a query is: the mean of so many of the best. */
const BEST = 5;

/** A slate was shown: that counts in the experiment it belongs to. */
export function expose(decision: Decision, catalog: Catalog, recorder: ExposureRecorder): void {
  const { assignments = [], id: decisionId } = decision;
  for (const assignment of assignments) {
    const tokens = tokensOf(decision, catalog, recorder);
    recorder.expose(catalog, { ...assignment, decisionId, covariate: covariateOf(decision), tokens });
  }
}

/** Of the definitions in the slate. */
function tokensOf({ slate, candidates }: Decision, { state }: Catalog, { tokens }: ExposureRecorder): number {
  return slate.reduce((sum, index) => {
    const record = state.tools.find(candidates[index]);
    return sum + (record === undefined ? 0 : tokens.of(record.tool));
  }, 0);
}

/** Known before anybody was assigned: no variant has a say in what retrieval finds best. */
function covariateOf({ columns }: Decision): number {
  const best = columns.retrieval.slice().sort().subarray(-BEST);
  return best.length === 0 ? 0 : best.reduce((sum, score) => sum + score, 0) / best.length;
}
