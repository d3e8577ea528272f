import type { Catalog } from '../catalog/catalog.ts';
import type { DecisionLogs } from '../decisions/decision-log.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import { DELAY_CLASSES_S, type Delays, type RewardHour } from '../state/reward-statistics.ts';
import { type RewardHealth, rewardAlerts } from './health-report.ts';
import type { RefusedReports } from './refused-reports.ts';
import { REWARD_JOBS } from './reward-job.ts';

const HOUR_MS = 60 * 60 * 1000;

/** Where the counts of all processes come from. */
export interface RewardSources {
  readonly queue: JobQueue;
  readonly decisionLogs: DecisionLogs;
  readonly refused: RefusedReports;
  /** ms since the epoch. */
  now(): number;
}

/** Returns the health report of the last 24 hours. */
export async function rewardHealth(
  catalog: Catalog,
  { queue, decisionLogs, refused }: RewardSources,
): Promise<RewardHealth> {
  await refused.flush();
  const now = catalog.now();
  // The same 24 hours as those of the statistics.
  const since = (Math.floor(now / HOUR_MS) - 23) * HOUR_MS;
  const routed = (await (await decisionLogs.find(catalog.name))?.countSince(since)) ?? 0;
  const hours = catalog.state.rewards.lastDay(now);
  const total = (pick: (hour: RewardHour) => number): number =>
    hours.reduce((sum, hour) => sum + pick(hour), 0);
  const statuses = sumRecords(
    hours.map((hour) => hour.statuses),
    catalog.state.rewards.emptyStatuses(),
  );
  const outcomes = sumRecords(
    hours.map((hour) => hour.outcomes),
    catalog.state.rewards.emptyOutcomes(),
  );
  const count = Object.values(outcomes).reduce((sum, n) => sum + n, 0);
  const mean = count === 0 ? null : total((hour) => hour.sum) / count;
  const variance = mean === null ? null : total((hour) => hour.sumOfSquares) / count - mean * mean;
  const rewarded = total((hour) => hour.decisions);
  // A repeated report does not count as one that was not learned.
  const { duplicate: repeated = 0, ...refusals } = sums(hours.map((hour) => hour.refused));
  const figures = {
    catalog: catalog.name,
    pending: (await queue.pending(REWARD_JOBS)) + (await catalog.replica.lag()),
    decisions: { routed, rewarded, share: routed === 0 ? null : Math.min(1, rewarded / routed) },
    reports: {
      ...statuses,
      duplicate: statuses.duplicate + repeated,
      unknownDecision: refusals['decision-not-found'] ?? 0,
      overUnitLimit: total((hour) => hour.overUnitLimit),
    },
    outcomes,
    value: { mean, standardDeviation: variance === null ? null : Math.sqrt(Math.max(0, variance)) },
    unlearned: sums([...hours.map(({ reasons }) => reasons), refusals]),
    delaySeconds: quantiles(hours.map(({ delays }) => delays)),
    outcomeDelaySeconds: quantiles(hours.map(({ outcomeDelays }) => outcomeDelays)),
  };
  const alerts = rewardAlerts(figures, catalog.state.settings.rewards.windowSeconds);
  return { ...figures, ok: alerts.length === 0, alerts };
}

function sumRecords<Key extends string>(
  records: readonly Record<Key, number>[],
  zero: Record<Key, number>,
): Record<Key, number> {
  return { ...zero, ...sums(records) };
}

function sums(records: readonly object[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const record of records) {
    for (const [key, count] of Object.entries(record)) sum[key] = (sum[key] ?? 0) + count;
  }
  return sum;
}

/** Returns the upper ends of the classes of the quantiles, in seconds; for the last class, the longest delay. */
function quantiles(hours: readonly Delays[]): RewardHealth['delaySeconds'] {
  const counts = DELAY_CLASSES_S.map((_, at) => hours.reduce((sum, hour) => sum + hour.counts[at], 0));
  const longest = Math.max(0, ...hours.map((hour) => hour.longest));
  const total = counts.reduce((sum, n) => sum + n, 0);
  const quantile = (share: number): number | null => {
    let seen = 0;
    const at = counts.findIndex((n) => {
      seen += n;
      return seen >= share * total;
    });
    const end = DELAY_CLASSES_S[at];
    return total === 0 ? null : Number.isFinite(end) ? end : longest;
  };
  return { p50: quantile(0.5), p95: quantile(0.95) };
}
