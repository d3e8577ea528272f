import type { OutcomeReport } from '../ledger/entry.ts';
import type { RewardStatus } from './outcome.ts';

const HOUR_MS = 60 * 60 * 1000;
const KEPT_HOURS = 24;

/** Upper ends of the delay classes, seconds after the decision. */
export const DELAY_CLASSES_S = [1, 5, 15, 60, 300, 600, 1800, 3600, 21_600, 86_400, Number.POSITIVE_INFINITY];

/** One hour of rewards. */
export interface RewardHour {
  readonly hour: number;
  /** Decisions for which the first report came in this hour. */
  decisions: number;
  readonly statuses: Record<RewardStatus, number>;
  readonly outcomes: Record<OutcomeReport['outcome'], number>;
  sum: number;
  sumOfSquares: number;
  /** Reports by delay class. */
  readonly delays: number[];
  /** Outcomes that were not learned because their unit had taught their tool enough for the hour. */
  overUnitLimit: number;
}

/** What came in over the last day, hour by hour: the raw material of the reward health report. */
export class RewardStatistics {
  #hours: RewardHour[] = [];

  count(report: OutcomeReport, status: RewardStatus, decidedAt: number, firstOfDecision: boolean): void {
    const hour = this.#at(report.at);
    if (firstOfDecision) hour.decisions++;
    hour.statuses[status]++;
    if (status === 'duplicate') return;
    hour.outcomes[report.outcome]++;
    hour.sum += report.value;
    hour.sumOfSquares += report.value * report.value;
    const delay = (report.at - decidedAt) / 1000;
    hour.delays[DELAY_CLASSES_S.findIndex((end) => delay <= end)]++;
  }

  countOverLimit(at: number): void {
    this.#at(at).overUnitLimit++;
  }

  emptyStatuses(): RewardHour['statuses'] {
    return { applied: 0, duplicate: 0, late: 0, rejected: 0 };
  }

  emptyOutcomes(): RewardHour['outcomes'] {
    return { success: 0, failure: 0, partial: 0, timeout: 0, refused: 0, not_used: 0 };
  }

  hours(): readonly RewardHour[] {
    return this.#hours;
  }

  restore(hours: readonly RewardHour[]): void {
    this.#hours = [...hours];
  }

  #at(time: number): RewardHour {
    const hour = Math.floor(time / HOUR_MS);
    const known = this.#hours.find((other) => other.hour === hour);
    if (known !== undefined) return known;
    const fresh: RewardHour = {
      hour,
      decisions: 0,
      statuses: this.emptyStatuses(),
      outcomes: this.emptyOutcomes(),
      sum: 0,
      sumOfSquares: 0,
      delays: DELAY_CLASSES_S.map(() => 0),
      overUnitLimit: 0,
    };
    this.#hours.push(fresh);
    this.#hours = this.#hours.filter((other) => other.hour > hour - KEPT_HOURS);
    return fresh;
  }
}
