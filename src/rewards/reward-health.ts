import type { Catalog } from '../catalog/catalog.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import { DELAY_CLASSES_S, type RewardHour } from '../state/reward-statistics.ts';
import { type RewardAlert, rewardAlerts } from './reward-alerts.ts';

/** Whether the rewards of the last 24 hours look as they should. */
export interface RewardHealth {
  readonly catalog: string;
  /** Accepted here and not yet folded, in jobs and entries; 0 when everything has taken effect. */
  readonly pending: number;
  readonly decisions: {
    /** Routed by this process in the last 24 hours. */
    readonly routed: number;
    /** Decisions that got a first report in that time. */
    readonly rewarded: number;
    /** rewarded / routed; null when nothing was routed. */
    readonly share: number | null;
  };
  readonly reports: RewardHour['statuses'] & { readonly unknownDecision: number };
  readonly outcomes: RewardHour['outcomes'];
  readonly value: { readonly mean: number | null; readonly standardDeviation: number | null };
  /** Seconds from decision to report: upper end of the class in which the quantile falls; null without reports. */
  readonly delaySeconds: { readonly p50: number | null; readonly p95: number | null };
  readonly ok: boolean;
  readonly alerts: readonly RewardAlert[];
}

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
    reports: { ...statuses, unknownDecision: traffic.unknownDecisions() },
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
