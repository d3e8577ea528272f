import type {
  DifferenceReport,
  ExperimentReport,
  VariantReport,
} from '../../bandit/statistics/experiment-report.ts';
import type { ExperimentTally } from '../../bandit/statistics/experiment-tally.ts';
import type { ExperimentUnit, Metric } from '../ledger/experiment-definition.ts';
import {
  type ExperimentRecord,
  type ExperimentStatus,
  reportOf,
} from '../state/experiments/experiment-record.ts';
import { isoTime } from './experiment-view.ts';

/** The report of an experiment. The first five members of a variant and of a difference are fixed. */
export interface ExperimentReportView {
  readonly experiment: string;
  readonly catalog: string;
  readonly status: ExperimentStatus;
  readonly unit: ExperimentUnit;
  readonly metric: Metric;
  readonly against: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly variants: readonly VariantNumbers[];
  readonly shadows: readonly ShadowNumbers[];
  readonly srm: ExperimentReport['srm'];
  readonly differences: readonly DifferenceReport[];
  readonly guardrails: ExperimentReport['guardrails'];
  readonly decision: boolean | null;
  readonly reason: string;
  readonly winner: string | null;
  /** Requests that fitted the experiment, but named no unit, and were left out. */
  readonly withoutUnit: number;
  /** Requests that fitted, but said themselves how much of each definition they want, which is what is compared. */
  readonly ownDetail: number;
  readonly series: readonly SeriesView[];
}

export interface VariantNumbers {
  readonly name: string;
  /** Units that were shown a decision. */
  readonly units: number;
  readonly decisions: number;
  /** Decisions that were shown (activated). */
  readonly exposures: number;
  /** Decisions for which anything was reported. */
  readonly rewards: number;
  readonly meanReward: number | null;
  readonly successRate: number | null;
  readonly rewardPerDecision: number | null;
  readonly latencyMs: number | null;
  readonly cost: number | null;
  /** Of the definitions as they were sent, estimated; per decision that was shown. */
  readonly tokens: number | null;
  readonly version: string | null;
  readonly outBecause: string | null;
}

export interface ShadowNumbers {
  readonly name: string;
  readonly decisions: number;
  /** Share of the served slates that it would have shown too. */
  readonly overlap: number | null;
  /** Tools that were called with success; share of them that its slate, and that the served one, contained. */
  readonly successes: number;
  readonly hitRate: number | null;
  readonly servedHitRate: number | null;
}

export interface SeriesView {
  /** Beginning of the hour. */
  readonly at: string;
  readonly variants: Readonly<
    Record<
      string,
      {
        readonly decisions: number;
        readonly rewards: number;
        readonly meanReward: number | null;
        readonly successRate: number | null;
      }
    >
  >;
}

const HOUR_MS = 60 * 60 * 1000;
const NOT_STARTED: Pick<
  ExperimentReport,
  'srm' | 'differences' | 'guardrails' | 'decision' | 'reason' | 'winner'
> = {
  srm: { pValue: 1, ok: true, anytimePValue: 1, anytimeOk: true },
  differences: [],
  guardrails: [],
  decision: null,
  reason: 'The experiment has not been started.',
  winner: null,
};

export function reportView(record: ExperimentRecord, catalog: string): ExperimentReportView {
  const { definition, tally, status } = record;
  const report = tally === null ? null : reportOf(record, tally);
  const { srm, differences, guardrails, decision, reason, winner } = report ?? NOT_STARTED;
  return {
    experiment: definition.name,
    catalog,
    status,
    unit: definition.unit,
    metric: definition.metric,
    against: definition.against,
    startedAt: isoTime(record.startedAt),
    endedAt: isoTime(record.endedAt),
    variants: [...record.shares.keys()].map((name) => numbersOf(record, tally, report, name)),
    shadows: shadowsOf(record),
    srm,
    differences,
    // Bounds that are not there yet are infinite, which JSON has no word for.
    guardrails: guardrails.map((rail) => ({
      ...rail,
      atLeast: finite(rail.atLeast),
      atMost: finite(rail.atMost),
    })),
    decision,
    reason,
    winner,
    withoutUnit: record.withoutUnit,
    ownDetail: record.ownDetail,
    series: seriesOf(record),
  };
}

function numbersOf(
  record: ExperimentRecord,
  tally: ExperimentTally | null,
  report: ExperimentReport | null,
  name: string,
): VariantNumbers {
  const means: Partial<VariantReport['means']> =
    report?.variants.find((other) => other.name === name)?.means ?? {};
  const { version, outBecause } = record.variants.get(name)!;
  return {
    name,
    units: tally?.units(name) ?? 0,
    decisions: record.decided.get(name) ?? 0,
    exposures: record.exposures.get(name) ?? 0,
    rewards: tally?.total(name, 'reward').of ?? 0,
    meanReward: means.reward ?? null,
    successRate: means.success ?? null,
    rewardPerDecision: means.rewardPerDecision ?? null,
    latencyMs: means.latencyMs ?? null,
    cost: means.cost ?? null,
    tokens: means.tokens ?? null,
    version,
    outBecause,
  };
}

function shadowsOf({ shadows }: ExperimentRecord): ShadowNumbers[] {
  return [...shadows].map(([name, { decisions, overlap, successes, hits, servedHits }]) => ({
    name,
    decisions,
    overlap: ratio(overlap, decisions),
    successes,
    hitRate: ratio(hits, successes),
    servedHitRate: ratio(servedHits, successes),
  }));
}

function seriesOf({ series }: ExperimentRecord): SeriesView[] {
  return series.hours().map(({ hour, variants }) => ({
    at: new Date(hour * HOUR_MS).toISOString(),
    variants: Object.fromEntries(
      Object.entries(variants).map(([name, { decisions, rewards, rewardSum, successes }]) => [
        name,
        { decisions, rewards, meanReward: ratio(rewardSum, rewards), successRate: ratio(successes, rewards) },
      ]),
    ),
  }));
}

function ratio(part: number, whole: number): number | null {
  return whole > 0 ? part / whole : null;
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : Math.sign(value) * Number.MAX_VALUE;
}
