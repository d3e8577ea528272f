import type { OutcomeReport } from '../ledger/entry.ts';
import type { RewardOutcome, RewardReason, RewardStatus } from './fold-result.ts';

const HOUR_MS = 60 * 60 * 1000;
const KEPT_HOURS = 24;

/** Upper ends of the delay classes, seconds after the decision. */
export const DELAY_CLASSES_S = [
  1,
  5,
  15,
  60,
  300,
  600,
  1800,
  3600,
  21_600,
  86_400,
  172_800,
  345_600,
  604_800,
  Number.POSITIVE_INFINITY,
];

/** Delays, counted by class. */
export interface Delays {
  readonly counts: number[];
  /** Seconds: the end of the last class. */
  longest: number;
}

/** One hour of rewards. */
export interface RewardHour {
  readonly hour: number;
  /** Decisions for which the first report came in this hour. */
  decisions: number;
  readonly statuses: Record<RewardStatus, number>;
  readonly outcomes: Record<OutcomeReport['outcome'], number>;
  sum: number;
  sumOfSquares: number;
  /** From the decision to the report. */
  readonly delays: Delays;
  /** From the decision to the outcome, of reports that say when that was. */
  readonly outcomeDelays: Delays;
  /** Outcomes that were not learned because their unit had reached its limit for the tool in this hour. */
  overUnitLimit: number;
  /** Decisions whose slate did not suffice, how often more was asked for, and how many tools were added. */
  readonly discoveries: { decisions: number; times: number; tools: number };
  /** Reports that were not learned, or only in part, by why. */
  readonly reasons: Partial<Record<RewardReason, number>>;
  /** Reports that were not accepted, by the code of the problem. */
  readonly refused: Record<string, number>;
}

/** What is known about the decision of a report. */
export interface ReportedDecision {
  readonly decidedAt: number;
  /** Whether it is the first report about the decision. */
  readonly isFirst: boolean;
}

/**
 * Counts the rewards of the last day by hour, for the reward health report. Hours are those of the fold's clock, which never
 * goes back, so that a report with a wrong time cannot remove the others.
 */
export class RewardStatistics {
  #hours: RewardHour[] = [];

  /** @param clock of the fold */
  count(clock: number, report: OutcomeReport, outcome: RewardOutcome, decision?: ReportedDecision): void {
    const hour = this.#at(clock);
    if (decision?.isFirst) hour.decisions++;
    hour.statuses[outcome.status]++;
    if (outcome.status === 'duplicate') return;
    if (outcome.reason !== undefined) {
      hour.reasons[outcome.reason] = (hour.reasons[outcome.reason] ?? 0) + 1;
    }
    hour.outcomes[report.outcome]++;
    hour.sum += report.value;
    hour.sumOfSquares += report.value * report.value;
    if (decision === undefined) return;
    countDelay(hour.delays, report.at - decision.decidedAt);
    if (report.occurredAt !== undefined) {
      countDelay(hour.outcomeDelays, report.occurredAt - decision.decidedAt);
    }
  }

  /** Counts that more tools were asked for. @param isFirst for the first time for its decision @param added number of tools */
  countDiscovery(clock: number, isFirst: boolean, added: number): void {
    const { discoveries } = this.#at(clock);
    if (isFirst) discoveries.decisions++;
    discoveries.times++;
    discoveries.tools += added;
  }

  countOverLimit(clock: number): void {
    this.#at(clock).overUnitLimit++;
  }

  /** Counts reports that were refused. */
  countRefused(clock: number, code: string, count: number): void {
    const { refused } = this.#at(clock);
    refused[code] = (refused[code] ?? 0) + count;
  }

  emptyStatuses(): RewardHour['statuses'] {
    return { applied: 0, duplicate: 0, late: 0, rejected: 0 };
  }

  emptyOutcomes(): RewardHour['outcomes'] {
    return { success: 0, failure: 0, partial: 0, timeout: 0, refused: 0, not_used: 0, unknown: 0 };
  }

  /** Returns the hours of the day before `now`. */
  lastDay(now: number): readonly RewardHour[] {
    const oldest = Math.floor(now / HOUR_MS) - KEPT_HOURS;
    return this.#hours.filter(({ hour }) => hour > oldest);
  }

  hours(): readonly RewardHour[] {
    return this.#hours;
  }

  restore(hours: readonly RewardHour[]): void {
    this.#hours = [...hours];
  }

  #at(clock: number): RewardHour {
    const hour = Math.floor(clock / HOUR_MS);
    const known = this.#hours.at(-1);
    if (known?.hour === hour) return known;
    const fresh: RewardHour = {
      hour,
      decisions: 0,
      statuses: this.emptyStatuses(),
      outcomes: this.emptyOutcomes(),
      sum: 0,
      sumOfSquares: 0,
      delays: noDelays(),
      outcomeDelays: noDelays(),
      overUnitLimit: 0,
      discoveries: { decisions: 0, times: 0, tools: 0 },
      reasons: {},
      refused: {},
    };
    this.#hours.push(fresh);
    this.#hours = this.#hours.filter((other) => other.hour > hour - KEPT_HOURS);
    return fresh;
  }
}

function noDelays(): Delays {
  return { counts: DELAY_CLASSES_S.map(() => 0), longest: 0 };
}

function countDelay(delays: Delays, ms: number): void {
  const seconds = Math.max(0, ms / 1000);
  delays.counts[DELAY_CLASSES_S.findIndex((end) => seconds <= end)]++;
  delays.longest = Math.max(delays.longest, seconds);
}
