import { z } from 'zod';
import { SETTLEMENT_JOB } from '../decisions/settlements.ts';
import { OUTCOMES } from '../ledger/entry.ts';

/** Payload of the jobs that carry rewards; written by the intake, parsed again by the worker. */
export const REWARDS_JOB = 'rewards';

const report = z.object({
  rewardId: z.string(),
  tool: z.string().nullable(),
  outcome: z.enum(OUTCOMES),
  value: z.number(),
  weight: z.number(),
  at: z.number(),
  occurredAt: z.number().optional(),
  latencyMs: z.number().optional(),
  rating: z.number().optional(),
  cost: z.number().optional(),
});

export const rewardsJob = z.object({
  catalog: z.string(),
  decisions: z.array(z.object({ decisionId: z.string(), closes: z.boolean(), reports: z.array(report) })),
});

export type RewardsJob = z.infer<typeof rewardsJob>;

/** Written when a task ends, parsed again by the worker that closes its decisions. */
export const TASK_END_JOB = 'task-end';

/** The jobs that change what was learned from rewards; the queue has others as well. */
export const REWARD_JOBS: readonly string[] = [REWARDS_JOB, SETTLEMENT_JOB, TASK_END_JOB];

export const taskEndJob = z.object({
  catalog: z.string(),
  decisionIds: z.array(z.string()),
  /** When it ended; ms since the epoch. */
  at: z.number(),
});

export type TaskEndJob = z.infer<typeof taskEndJob>;

/** Key of the ledger entry that the reports of a decision in one job become. */
export function observationKey({ reports }: RewardsJob['decisions'][number]): string {
  return `observation/${reports[0].rewardId}`;
}
