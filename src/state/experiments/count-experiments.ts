import type { MetricValue, UnitEvent } from '../../../bandit/statistics/experiment-tally.ts';
import {
  type Assignment,
  type Exposure,
  type ExposuresEntry,
  type ObservedDecision,
  type OutcomeReport,
  type ShadowComparison,
  SILENT_OUTCOMES,
} from '../../ledger/entry.ts';
import type { ExperimentUnit, Metric } from '../../ledger/experiment-definition.ts';
import type { CatalogState } from '../catalog-state.ts';
import type { FoldResult } from '../fold-result.ts';
import type { ObservedRecord } from '../observed/observed-record.ts';
import { addReport, type Credit, creditTotals, EMPTY_CREDIT } from './decision-credit.ts';
import type { ExperimentTable } from './experiment-table.ts';
import { watchGuardrails } from './run-experiment.ts';

/** Folds decisions that were shown to units of experiments. A batch that was folded before changes nothing. */
export function foldExposures(state: CatalogState, entry: ExposuresEntry): FoldResult {
  if (!state.experiments.takeBatch(entry.key)) return { kind: 'ignored' };
  for (const exposure of entry.exposures) countExposure(state, exposure, entry.at);
  for (const comparison of entry.shadows) countShadow(state, comparison);
  for (const [experiment, variant, count] of entry.decided) {
    const decided = state.experiments.get(experiment)?.decided;
    decided?.set(variant, (decided.get(variant) ?? 0) + count);
  }
  for (const leftOut of ['withoutUnit', 'ownDetail'] as const) {
    for (const [name, count] of Object.entries(entry[leftOut])) {
      const record = state.experiments.get(name);
      if (record !== undefined) record[leftOut] += count;
    }
  }
  for (const name of new Set(entry.exposures.map(({ experiment }) => experiment))) {
    watchGuardrails(state, name);
  }
  return { kind: 'exposures' };
}

function countExposure(state: CatalogState, exposure: Exposure, at: number): void {
  const record = state.experiments.get(exposure.experiment);
  if (record?.tally == null) return;
  const values = record.tally.metrics.map((metric) => shownValue(exposure, metric as Metric));
  if (!countUnit(state, exposure, { decisions: 1, covariate: exposure.covariate, values })) return;
  const { variant } = exposure;
  record.exposures.set(variant, (record.exposures.get(variant) ?? 0) + 1);
  record.series.add(variant, at, { decisions: 1, rewards: 0, rewardSum: 0, successes: 0 });
}

/** Returns the values of a decision that are known when it is shown. */
function shownValue({ tokens }: Exposure, metric: Metric): MetricValue {
  if (metric === 'tokens') return { sum: tokens, of: 1 };
  return { sum: 0, of: metric === 'rewardPerDecision' ? 1 : 0 };
}

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

/** Returns the tools that were called with success, once for each time. */
function calledIn(reports: readonly OutcomeReport[]): string[] {
  return reports.flatMap(({ tool, outcome, value }) =>
    tool === null || value <= 0 || SILENT_OUTCOMES.has(outcome) ? [] : [tool],
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

/**
 * Compares a shadow with what was served: of the tools that were called with success, how many were in the slate that the
 * shadow would have shown, and how many in the served one.
 */
export function creditShadows(table: ExperimentTable, decisionId: string, called: readonly string[]): void {
  if (called.length === 0) return;
  for (const comparison of table.shadowsOf(decisionId)) creditShadow(table, comparison, called);
}

/** Folds the slate of a shadow, which may be ranked after the rewards of the decision were folded. */
export function countShadow(state: CatalogState, comparison: ShadowComparison): void {
  const { decisionId, experiment, variant, slate, served } = comparison;
  const totals = state.experiments.get(experiment)?.shadows.get(variant);
  if (totals === undefined) return;
  totals.decisions++;
  if (served.length > 0)
    totals.overlap += served.filter((tool) => slate.includes(tool)).length / served.length;
  const known = state.decisions.get(decisionId);
  if (known !== undefined) {
    const called = [...known.tools]
      .filter(([, { called, last }]) => called && last > 0)
      .map(([tool]) => tool);
    creditShadow(state.experiments, comparison, called);
  }
  state.experiments.keepShadow(comparison);
}

function creditShadow(
  table: ExperimentTable,
  { experiment, variant, slate, served }: ShadowComparison,
  called: readonly string[],
): void {
  const totals = table.get(experiment)?.shadows.get(variant);
  if (totals === undefined) return;
  totals.successes += called.length;
  totals.hits += called.filter((tool) => slate.includes(tool)).length;
  totals.servedHits += called.filter((tool) => served.includes(tool)).length;
}

const HOUR_MS = 60 * 60 * 1000;

/** A unit that was not seen for so long has ended; if it appears again, it counts as another one. */
const ENDS_AFTER_MS: Record<Exclude<ExperimentUnit, 'decision'>, number> = {
  sessionId: 24 * HOUR_MS,
  userId: 30 * 24 * HOUR_MS,
  unitId: 30 * 24 * HOUR_MS,
};

/**
 * Adds to the totals of the unit of a decision. Returns false, and counts nothing, if the shares have changed since it was
 * assigned, because its unit may be in another variant now.
 */
export function countUnit(state: CatalogState, assignment: Assignment, event: UnitEvent): boolean {
  const { experiment, variant, allocation, unit } = assignment;
  const record = state.experiments.get(experiment);
  if (record?.tally == null || record.allocation?.version !== allocation) return false;
  const { tally, definition, units } = record;
  const lasts =
    definition.unit === 'decision'
      ? state.settings.rewards.windowSeconds * 1000 + HOUR_MS / 60
      : ENDS_AFTER_MS[definition.unit];
  units.touch(unit, variant, state.clock + lasts, (oldest, of) => tally.release(of, oldest));
  tally.add(variant, unit, event);
  return true;
}
