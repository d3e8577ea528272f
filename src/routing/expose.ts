import type { Catalog } from '../catalog/catalog.ts';
import type { ExposureRecorder } from '../experiments/exposure-recorder.ts';
import type { Decision } from './decision.ts';

/** Retrieval scores that stand for how hard a query is: the mean of so many of the best. */
const BEST = 5;

/** A slate was shown: that counts in the experiment it belongs to. */
export function expose(decision: Decision, catalog: Catalog, recorder: ExposureRecorder): void {
  for (const assignment of decision.assignments ?? []) {
    recorder.expose(catalog, { ...assignment, decisionId: decision.id, covariate: covariateOf(decision) });
  }
}

/** Known before anybody was assigned: no variant has a say in what retrieval finds best. */
function covariateOf({ columns }: Decision): number {
  const best = columns.retrieval.slice().sort().subarray(-BEST);
  return best.length === 0 ? 0 : best.reduce((sum, score) => sum + score, 0) / best.length;
}
