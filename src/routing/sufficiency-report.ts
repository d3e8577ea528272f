import type { ReliabilityBin } from '../../bandit/calibration/reliability.ts';
import { SUFFICIENCY_FEATURES } from '../../bandit/calibration/sufficiency-features.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { BreakerState } from './discovery-breaker.ts';

/** Whether slates suffice, and whether the catalog knows when they do not. */
export interface SufficiencyReport {
  readonly catalog: string;
  /** τ: below it a slate is not trusted to suffice. */
  readonly threshold: number;
  /** Decisions of which it is known how they ended, as they were learned from. */
  readonly outcomes: number;
  /** Of them those that a model had rated. */
  readonly rated: number;
  /** Mean of what was predicted, and share of slates that sufficed; of the decisions in `reliability`; null without any. */
  readonly predicted: number | null;
  readonly observed: number | null;
  /** ECE, 0…1: how far what was predicted was from what came, in the mean; null without outcomes. */
  readonly calibrationError: number | null;
  /** What was predicted against what came, by tenths; older outcomes count less. */
  readonly reliability: readonly ReliabilityBin[];
  /** What speaks for and against a slate. */
  readonly weights: Readonly<Record<string, number>>;
  /** In the last 24 hours, in all processes. */
  readonly discoveries: {
    /** Decisions that were asked for more, how often they were, and how many tools were added. */
    readonly decisions: number;
    readonly times: number;
    readonly tools: number;
  };
  /** Of this process alone. */
  readonly breaker: BreakerView;
}

/** Numbers of the last minute. */
export type BreakerView = Omit<BreakerState, 'closesAt'> & { readonly closesAt: string | null };

export function sufficiencyReport(
  { name, state }: Catalog,
  breaker: BreakerState,
  now: number,
): SufficiencyReport {
  const { reliability, outcomes, weights } = state.sufficiency;
  const { total } = reliability;
  const bins = reliability.bins();
  const mean = (of: (bin: ReliabilityBin) => number): number | null =>
    total === 0 ? null : bins.reduce((sum, bin) => sum + bin.count * of(bin), 0) / total;
  const discoveries = { decisions: 0, times: 0, tools: 0 };
  for (const hour of state.rewards.lastDay(now)) {
    discoveries.decisions += hour.discoveries.decisions;
    discoveries.times += hour.discoveries.times;
    discoveries.tools += hour.discoveries.tools;
  }
  return {
    catalog: name,
    threshold: state.settings.sufficiencyThreshold,
    outcomes: outcomes.all,
    rated: outcomes.rated,
    predicted: mean(({ predicted }) => predicted),
    observed: mean(({ observed }) => observed),
    calibrationError: total === 0 ? null : reliability.error,
    reliability: bins,
    weights: Object.fromEntries(SUFFICIENCY_FEATURES.map((feature, i) => [feature, weights[i]])),
    discoveries,
    breaker: {
      ...breaker,
      closesAt: breaker.closesAt === null ? null : new Date(breaker.closesAt).toISOString(),
    },
  };
}
