import type { MetricValue } from '../../../bandit/statistics/experiment-tally.ts';
import type { Exposure, ExposuresEntry } from '../../ledger/entry.ts';
import type { Metric } from '../../ledger/experiment-definition.ts';
import type { CatalogState } from '../catalog-state.ts';
import type { FoldOutcome } from '../outcome.ts';
import { countUnit } from './count-unit.ts';
import { countShadow } from './credit-shadows.ts';
import { watchGuardrails } from './watch-guardrails.ts';

/** Decisions that were shown to units of experiments. A batch that was folded before changes nothing. */
export function foldExposures(state: CatalogState, entry: ExposuresEntry): FoldOutcome {
  if (!state.experiments.takeBatch(entry.key)) return { kind: 'ignored' };
  for (const exposure of entry.exposures) countExposure(state, exposure, entry.at);
  for (const comparison of entry.shadows) countShadow(state, comparison);
  for (const [experiment, variant, count] of entry.decided) {
    const decided = state.experiments.get(experiment)?.decided;
    decided?.set(variant, (decided.get(variant) ?? 0) + count);
  }
  for (const [name, count] of Object.entries(entry.withoutUnit)) {
    const record = state.experiments.get(name);
    if (record !== undefined) record.withoutUnit += count;
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

/** Of a decision's values, what is known when it is shown. */
function shownValue({ tokens }: Exposure, metric: Metric): MetricValue {
  if (metric === 'tokens' && tokens !== undefined) return { sum: tokens, of: 1 };
  return { sum: 0, of: metric === 'rewardPerDecision' ? 1 : 0 };
}
