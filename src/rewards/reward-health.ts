import type { Catalog } from '../catalog/catalog.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import { DELAY_CLASSES_S, type RewardHour } from '../state/reward-statistics.ts';
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
  const hours = catalog.state.rewards.hours();
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
  const delays = DELAY_CLASSES_S.map((_, index) => total((hour) => hour.delays[index]));
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
    delaySeconds: { p50: quantile(delays, 0.5), p95: quantile(delays, 0.95) },
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

function quantile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, n) => sum + n, 0);
  if (total === 0) return null;
  let seen = 0;
  for (const [index, n] of counts.entries()) {
    seen += n;
    if (seen >= share * total) return DELAY_CLASSES_S[index];
  }
  return null;
}
