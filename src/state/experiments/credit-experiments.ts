import type { MetricValue } from '../../../bandit/statistics/experiment-tally.ts';
import type { ObservedDecision, OutcomeReport } from '../../ledger/entry.ts';
import type { Metric } from '../../ledger/experiment-definition.ts';
import type { CatalogState } from '../catalog-state.ts';
import type { ObservedRecord } from '../observed/observed-record.ts';
import { countUnit } from './count-unit.ts';
import { creditShadows } from './credit-shadows.ts';
import { addReport, type Credit, creditTotals, EMPTY_CREDIT } from './decision-credit.ts';
import { watchGuardrails } from './watch-guardrails.ts';

/** Credits what was reported about a decision to the variants that made it. */
export function creditExperiments(
  state: CatalogState,
  record: ObservedRecord,
  decision: ObservedDecision,
  reports: readonly OutcomeReport[],
): void {
  creditShadows(state.experiments, decision.id, calledIn(reports));
  const { assignments = [] } = decision;
  if (assignments.length === 0) return;
  const before = record.credit ?? EMPTY_CREDIT;
  const after = reports.reduce(addReport, before);
  record.credit = after;
  for (const assignment of assignments) credit(state, decision, assignment, before, after);
}

/** Tools that were called with success, one for each time. */
function calledIn(reports: readonly OutcomeReport[]): string[] {
  return reports.flatMap(({ tool, outcome, value }) =>
    tool === null || value <= 0 || outcome === 'timeout' || outcome === 'refused' ? [] : [tool],
  );
}

function credit(
  state: CatalogState,
  decision: ObservedDecision,
  assignment: NonNullable<ObservedDecision['assignments']>[number],
  before: Credit,
  after: Credit,
): void {
  const { aggregation } = state.settings.rewards;
  const was = creditTotals(before, aggregation);
  const is = creditTotals(after, aggregation);
  const record = state.experiments.get(assignment.experiment);
  if (record?.tally == null) return;
  const values = record.tally.metrics.map((metric): MetricValue => {
    const now = metricOf(is, metric as Metric);
    const then = metricOf(was, metric as Metric);
    return { sum: now.sum - then.sum, of: now.of - then.of };
  });
  if (!countUnit(state, assignment, { decisions: 0, covariate: 0, values })) return;
  record.series.add(assignment.variant, decision.at, {
    decisions: 0,
    rewards: is.rewarded - was.rewarded,
    rewardSum: is.reward - was.reward,
    successes: is.success - was.success,
  });
  watchGuardrails(state, assignment.experiment);
}

function metricOf(totals: ReturnType<typeof creditTotals>, metric: Metric): MetricValue {
  switch (metric) {
    case 'reward':
      return { sum: totals.reward, of: totals.rewarded };
    case 'success':
      return { sum: totals.success, of: totals.rewarded };
    case 'latencyMs':
      return totals.latencyMs;
    case 'cost':
      return totals.cost;
    case 'rewardPerDecision':
      return { sum: totals.reward, of: 0 };
    // Known when it was shown; rewards say nothing about it.
    case 'tokens':
      return { sum: 0, of: 0 };
  }
}
