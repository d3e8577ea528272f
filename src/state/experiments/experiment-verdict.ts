import { type ExperimentReport, reportExperiment } from '../../../bandit/statistics/experiment-report.ts';
import type { ExperimentTally } from '../../../bandit/statistics/experiment-tally.ts';
import { isHarmful } from '../../ledger/experiment-definition.ts';
import type { ExperimentRecord } from './experiment-record.ts';

/** What the counts of an experiment say now. Pure: the fold decides by it, and the report shows it. */
export function reportOf({ definition }: ExperimentRecord, tally: ExperimentTally): ExperimentReport {
  const { against, metric, minimumLift, alpha, tightestAt, guardrails } = definition;
  return reportExperiment(tally, {
    against,
    metric,
    better: isHarmful(metric) ? 'lower' : 'higher',
    minimumLift,
    alpha,
    tightestAt,
    guardrails,
    withCovariate: true,
  });
}
