import { hash, randomUUID } from 'node:crypto';
import type { Problem } from '../errors/problem.ts';
import type { Outcome } from '../ledger/entry.ts';

/** What an agent reports. Fixed wire shape. */
export type RewardReport = DecisionReport | TaskReport;

/** What became of a decision. */
export interface DecisionReport extends ReportedOutcome {
  readonly decisionId: string;
  /** The tool it is about; without one the report is about the decision as a whole. */
  readonly tool?: string;
}

/** What became of a tool in a task: it counts for every decision of the task that showed the tool. */
export interface TaskReport extends ReportedOutcome, TaskScope {
  readonly tool: string;
}

/** Which decisions are meant by a task id. */
export interface TaskScope {
  readonly task: string;
  /** Absent: all catalogs. */
  readonly catalog?: string | undefined;
  /** Of the route requests; absent: whoever asked, if that was one alone. */
  readonly userId?: string | undefined;
  readonly unitId?: string | undefined;
}

interface ReportedOutcome {
  /** −1…1; follows from the outcome if it is missing. */
  readonly value?: number;
  readonly outcome?: Outcome;
  /** True: more will follow, the decision stays open. */
  readonly more?: boolean;
  readonly latencyMs?: number;
  /** How far the model that worked with the slate said that it suffices, 0…1. */
  readonly rating?: number;
  readonly cost?: number;
  /** The same key for the same decision counts once. */
  readonly idempotencyKey?: string;
  /** When it happened, ISO time: kept with the reward; the window is judged by when it was accepted. */
  readonly occurredAt?: string;
  /** Importance, 0 < weight ≤ 10. */
  readonly weight?: number;
  /** Ids of the items of the user's context that were used; absent: the best one that was chosen, if it went well. */
  readonly context?: readonly string[];
}

export interface RewardReceipt {
  readonly rewardId: string;
  /** `late`: it is logged, nothing will be learned from it. */
  readonly status: 'queued' | 'duplicate' | 'late';
  /** What is unusual about the report, in words. */
  readonly note?: string;
  /** For how many decisions it counts; of a report on a task alone. The id is that of the newest one. */
  readonly decisions?: number;
}

/** One per report, in order. */
export type RewardResult = RewardReceipt | { readonly problem: Problem };

const VALUES: Record<Outcome, number> = {
  success: 1,
  partial: 0.5,
  failure: 0,
  timeout: 0,
  refused: 0,
  not_used: 0,
  unknown: 0,
};

/** Returns outcome and value: a missing value follows from the outcome, a missing outcome from the value; with neither it is a success. */
export function completeOutcome(report: Pick<ReportedOutcome, 'value' | 'outcome'>): {
  readonly outcome: Outcome;
  readonly value: number;
} {
  const { value, outcome } = report;
  if (outcome !== undefined) return { outcome, value: value ?? VALUES[outcome] };
  if (value === undefined) return { outcome: 'success', value: 1 };
  if (value <= 0) return { outcome: 'failure', value };
  return { outcome: value < 1 ? 'partial' : 'success', value };
}

/** Returns what is wrong with this value beside this outcome; null: nothing. */
export function contradiction({ value, outcome }: Pick<ReportedOutcome, 'value' | 'outcome'>): string | null {
  if (value === undefined || outcome === undefined) return null;
  if (outcome === 'success') return value > 0 ? null : 'has to be above 0 for a success';
  if (outcome === 'partial') return value >= 0 ? null : 'must not be below 0 for a partial success';
  return value <= 0 ? null : `must not be above 0 for the outcome ${outcome}`;
}

const TAIL_DIGITS = 10;
const CHECK_DIGITS = 6;

/**
 * Returns `<decisionId>.<10 hex digits><6 check digits>`. The ten digits follow from the idempotency key if there is one, else
 * they are random. The check digits distinguish an id that was given out from one that was made up, without asking a store;
 * they are no secret.
 */
export function rewardIdFor(decisionId: string, idempotencyKey?: string): string {
  const tail =
    idempotencyKey === undefined
      ? // These digits of a UUID are random, and Node draws UUIDs in advance.
        randomUUID().slice(-TAIL_DIGITS)
      : hash('sha256', idempotencyKey).slice(0, TAIL_DIGITS);
  return `${decisionId}.${tail}${checkOf(decisionId, tail)}`;
}

/** Returns whether this can be the id of a reward that was accepted. */
export function isRewardId(rewardId: string): boolean {
  const dot = rewardId.lastIndexOf('.');
  const [decisionId, digits] = [rewardId.slice(0, dot), rewardId.slice(dot + 1)];
  const tail = digits.slice(0, TAIL_DIGITS);
  return tail.length === TAIL_DIGITS && digits.slice(TAIL_DIGITS) === checkOf(decisionId, tail);
}

function checkOf(decisionId: string, tail: string): string {
  return hash('sha256', `reward/${decisionId}.${tail}`).slice(0, CHECK_DIGITS);
}
