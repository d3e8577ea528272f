import type { Catalog } from '../catalog/catalog.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import { DELAY_CLASSES_S, type Delays, type RewardHour } from '../state/reward-statistics.ts';
import type { RewardHealth } from './health-report.ts';
import { rewardAlerts } from './reward-alerts.ts';

/** Counts that only the process knows which took the requests. */
export interface TrafficCounts {
  routed(catalog: string): number;
  unknownDecisions(): number;
}

export async function rewardHealth(
  catalog: Catalog,
  queue: JobQueue,
  traffic: TrafficCounts,
): Promise<RewardHealth> {
  const hours = catalog.state.rewards.lastDay(catalog.now());
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
  const routed = traffic.routed(catalog.name);
  const rewarded = total((hour) => hour.decisions);
  const figures = {
    catalog: catalog.name,
    pending: (await queue.pending()) + (await catalog.replica.lag()),
    decisions: { routed, rewarded, share: routed === 0 ? null : Math.min(1, rewarded / routed) },
    reports: {
      ...statuses,
      unknownDecision: traffic.unknownDecisions(),
      overUnitLimit: total((hour) => hour.overUnitLimit),
    },
    outcomes,
    value: { mean, standardDeviation: variance === null ? null : Math.sqrt(Math.max(0, variance)) },
    delaySeconds: quantiles(hours.map(({ delays }) => delays)),
  };
  const alerts = rewardAlerts(figures, catalog.state.settings.rewards.windowSeconds);
  return { ...figures, ok: alerts.length === 0, alerts };
}

function sumRecords<Key extends string>(
  records: readonly Record<Key, number>[],
  zero: Record<Key, number>,
): Record<Key, number> {
  const sum = { ...zero };
  for (const record of records) for (const key of Object.keys(zero) as Key[]) sum[key] += record[key];
  return sum;
}

/** The upper end of the class in which they fall, in seconds; in the last class, the longest delay there was. */
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
