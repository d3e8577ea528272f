import { type Decision, rewardDeadline } from '../decisions/decision.ts';
import type { DecisionLog } from '../decisions/decision-log.ts';
import { observedDecision } from '../decisions/observed-decision.ts';
import type { SettlementJob } from '../decisions/settlements.ts';
import type { Entry, SettlementEntry } from '../ledger/entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { observationKey, type RewardsJob, type TaskEndJob } from './reward-job.ts';

/** Where the rewards of one catalog find their decisions, and where the joined entries go. */
export interface RewardStores {
  readonly ledger: Pick<Ledger, 'append'>;
  /** Null when the catalog has never made a decision. */
  readonly decisions: Pick<DecisionLog, 'get' | 'useAll'> | null;
}

/**
 * Joins the reports of a job with their decisions and appends one entry per decision to the ledger, from where every
 * replica folds it. Safe to repeat: the fold applies every reward id once.
 */
export async function applyRewards(job: RewardsJob, { ledger, decisions }: RewardStores): Promise<void> {
  const entries =
    decisions === null
      ? job.decisions.map((reported) => joined(reported, null))
      : await decisions.useAll(
          job.decisions.map(({ decisionId }) => decisionId),
          (decision, index) => joined(job.decisions[index], decision),
        );
  if (entries.length > 0) await ledger.append(entries);
}

/** Appends that the deadline of a decision has passed: it closes with what is known, or with the default reward. */
export async function settleDecision(
  { decisionId, deadline }: SettlementJob,
  { ledger, decisions }: RewardStores,
  now: number,
): Promise<void> {
  const decision = await decisions?.get(decisionId);
  if (decision == null || decision.activatedAt === null) return;
  // Its catalog was deleted and made again, and the same Idempotency-Key has come back: this decision has a job of its own.
  if (rewardDeadline(decision) > deadline) return;
  // The clock that judged the job to be due may be a little ahead of this one.
  await ledger.append([settlementOf(decision, Math.max(now, rewardDeadline(decision)))]);
}

/** Closes decisions whose task has ended. Those that have expired meanwhile are left out. */
export async function endDecisions(
  { decisionIds, at }: TaskEndJob,
  { ledger, decisions }: RewardStores,
): Promise<void> {
  const found = await decisions?.useAll(decisionIds, (decision) => decision && endOf(decision, at));
  const entries = (found ?? []).filter((entry) => entry !== null);
  if (entries.length > 0) await ledger.append(entries);
}

/** Returns the entry that closes a decision because its task ended. @param at when it ended, ms since the epoch */
function endOf(decision: Decision, at: number): Entry {
  return { ...settlementOf(decision, at), key: `end/${decision.id}`, ended: true };
}

/** Returns the entry that closes a decision. @param at not before its deadline, or the fold ignores it; ms since the epoch */
export function settlementOf(decision: Decision, at: number): SettlementEntry {
  return {
    kind: 'settlement',
    key: `settlement/${decision.id}`,
    at,
    decision: observedDecision(decision, []),
    defaultReward: decision.defaultReward ?? null,
  };
}

/**
 * Returns the entry that the reports of a decision become.
 * @param decision null: it was there when the reports were accepted, and has expired since
 */
export function joined(reported: RewardsJob['decisions'][number], decision: Decision | null): Entry {
  const { reports, closes } = reported;
  const key = observationKey(reported);
  const at = Math.max(...reports.map((report) => report.at));
  if (decision === null) return { kind: 'unlearned', key, at, rewards: reports, refused: {} };
  const tools = reports.map(({ tool }) => tool).filter((tool) => tool !== null);
  return { kind: 'observation', key, at, decision: observedDecision(decision, tools), reports, closes };
}
