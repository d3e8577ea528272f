import type { RewardHour } from '../state/reward-statistics.ts';

/** Whether the rewards of the last 24 hours look as they should. */
export interface RewardHealth {
  readonly catalog: string;
  /** Accepted here and not yet folded, in jobs and entries; 0 when everything has taken effect. */
  readonly pending: number;
  readonly decisions: {
    /** Routed in the last 24 hours, by whatever process. */
    readonly routed: number;
    /** Decisions that got a first report in that time. */
    readonly rewarded: number;
    /** rewarded / routed; null when nothing was routed. */
    readonly share: number | null;
  };
  readonly reports: RewardHour['statuses'] & {
    readonly unknownDecision: number;
    /** Outcomes that were counted and not learned: their unit had taught their tool enough for the hour. */
    readonly overUnitLimit: number;
  };
  /** Reports that were not learned, or only in part, by why: reasons of rewards, and codes of problems. */
  readonly unlearned: Readonly<Record<string, number>>;
  readonly outcomes: RewardHour['outcomes'];
  readonly value: { readonly mean: number | null; readonly standardDeviation: number | null };
  /** Seconds from decision to report: upper end of the class in which the quantile falls; null without reports. */
  readonly delaySeconds: { readonly p50: number | null; readonly p95: number | null };
  /** From decision to outcome, of the reports that say when that was. */
  readonly outcomeDelaySeconds: { readonly p50: number | null; readonly p95: number | null };
  readonly ok: boolean;
  readonly alerts: readonly RewardAlert[];
}

export interface RewardAlert {
  readonly code:
    | 'few-rewards'
    | 'late-rewards'
    | 'expired-rewards'
    | 'unknown-decisions'
    | 'constant-rewards'
    | 'rejected-rewards'
    | 'unit-limit';
  readonly observed: string;
  readonly likelyCause: string;
  readonly suggestedAction: string;
}
