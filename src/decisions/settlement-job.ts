import { z } from 'zod';
import type { Job } from '../queue/job-queue.ts';
import type { DecisionHead } from './decision-head.ts';
import { rewardDeadline } from './reward-deadline.ts';

export const SETTLEMENT_JOB = 'settlement';

/** Written here, parsed again by the worker that closes the decision. */
export const settlementJob = z.object({
  catalog: z.string(),
  decisionId: z.string(),
  /** Of the contract under which it was shown; null: it closes with what was reported. */
  defaultReward: z.number().nullable(),
});

export type SettlementJob = z.infer<typeof settlementJob>;

/** The job that closes a decision at its deadline. */
export function settlementJobOf(decision: Omit<DecisionHead, 'shown'>, defaultReward: number | null): Job {
  const payload: SettlementJob = { catalog: decision.catalog, decisionId: decision.id, defaultReward };
  return {
    name: SETTLEMENT_JOB,
    id: `settlement-${decision.id}`,
    payload,
    runAt: rewardDeadline(decision),
  };
}
