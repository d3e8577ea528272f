import type { DecisionLog } from '../decisions/decision-log.ts';
import type { SettlementJob } from '../decisions/settlements.ts';
import type { Entry } from '../ledger/entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { observedDecision } from './observed-decision.ts';
import { observationKey, type RewardsJob } from './reward-job.ts';

/** Where the rewards of one catalog find their decisions, and where they go. */
export interface RewardPlace {
  readonly ledger: Pick<Ledger, 'append'>;
  readonly decisions: DecisionLog;
}

/**
 * The way of one reward, on the worker's side: join it with its decision, append what can be learned to the
 * ledger. Every replica folds it from there. Safe to repeat: the fold applies every reward id once.
 */
export async function applyRewards(job: RewardsJob, { ledger, decisions }: RewardPlace): Promise<void> {
  const entries: Entry[] = [];
  const found = await Promise.all(job.decisions.map(({ decisionId }) => decisions.get(decisionId)));
  for (const [index, reported] of job.decisions.entries()) {
    const { closes, reports } = reported;
    const decision = found[index];
    const key = observationKey(reported);
    const at = Math.max(...reports.map((report) => report.at));
    if (decision === null) {
      // It was there when the reward was accepted; by now it has expired, and the window with it.
      entries.push({ kind: 'unlearned', key, at, rewards: reports, refused: {} });
      continue;
    }
    const tools = reports.map(({ tool }) => tool).filter((tool) => tool !== null);
    entries.push({
      kind: 'observation',
      key,
      at,
      decision: observedDecision(decision, tools),
      reports,
      closes,
    });
  }
  if (entries.length > 0) await ledger.append(entries);
}

/** The deadline of a decision passed: close it with what is known, or with the contract's default reward. */
export async function settleDecision(
  job: SettlementJob,
  { ledger, decisions }: RewardPlace,
  now: number,
): Promise<void> {
  const decision = await decisions.get(job.decisionId);
  if (decision === null || decision.activatedAt === null) return;
  const entry: Entry = {
    kind: 'settlement',
    key: `settlement/${decision.id}`,
    at: now,
    decision: observedDecision(decision, []),
    defaultReward: job.defaultReward,
  };
  await ledger.append([entry]);
}
