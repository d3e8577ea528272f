import { z } from '@hono/zod-openapi';
import { OUTCOMES } from '../../ledger/entry.ts';
import { contradiction, type RewardReport } from '../../rewards/reward-report.ts';
import { callersId, catalogName, decisionId, isoTime, rewardId, taskId, toolName } from './parameters.ts';

export const MAX_REWARDS_PER_REQUEST = 1000;

export const rewardOutcome = z.enum(OUTCOMES);

const outcomeFields = {
  tool: toolName.optional().meta({
    description:
      'The tool that was used. Left out: the report is about the whole decision, and a positive one is counted and teaches nothing.',
  }),
  value: z.number().min(-1).max(1).optional().meta({
    description:
      '−1 … 1. Left out: success 1, partial 0.5, failure 0. Above 0 with success, 0 or more with partial, 0 or less otherwise.',
  }),
  outcome: rewardOutcome
    .optional()
    .meta({ description: 'timeout, refused and unknown say nothing about relevance and teach nothing.' }),
  more: z.boolean().optional().meta({
    description:
      'true: another report on this decision will follow. In a task it changes nothing: its decisions wait for the end of the task.',
  }),
  latencyMs: z.number().min(0).max(86_400_000).optional(),
  rating: z.number().min(0).max(1).optional().meta({
    description:
      'How far the model that worked with the slate said that it suffices, 0 … 1: teaches how far such ratings are to be believed.',
  }),
  cost: z.number().min(0).max(1e9).optional(),
  weight: z
    .number()
    .gt(0)
    .max(10)
    .optional()
    .meta({ description: 'Importance of this report; 1 unless said.' }),
  context: z.array(z.string().min(1).max(256)).max(20).optional().meta({
    description:
      "Ids of the items of the user's context that were used, chosen or not: so habits are learned. `[]`: none of those that were shown was right. Left out: the best one that was chosen, if the outcome is above 0. Ids that the user does not have teach nothing, and the `note` of the answer names them.",
  }),
  idempotencyKey: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'has to be 1 to 255 printable ASCII characters without blanks')
    .optional()
    .meta({ description: 'The same key for the same decision counts once.' }),
  occurredAt: isoTime.optional().meta({
    description:
      'When it happened, if not now: between the decision and now. Kept with the reward and in the delays of the health report; whether it is late is judged by when it is reported.',
  }),
};

const saysSomething = (report: { value?: number | undefined; outcome?: string | undefined }) =>
  report.value !== undefined || report.outcome !== undefined;
const saysNothing = { path: ['outcome'], message: 'is needed, or `value`: at least one of the two' };

function refuseContradiction(
  report: { value?: number | undefined; outcome?: RewardReport['outcome'] | undefined },
  { addIssue }: { addIssue(issue: { code: 'custom'; path: string[]; message: string }): void },
): void {
  const message = contradiction(report);
  if (message !== null) addIssue({ code: 'custom', path: ['value'], message });
}

/** A reward for the decision that the path names. */
export const outcomeSchema = z
  .strictObject(outcomeFields)
  .refine(saysSomething, saysNothing)
  .superRefine(refuseContradiction)
  .openapi('Outcome');

export const rewardReportSchema = z
  .strictObject({
    decisionId: decisionId.optional().meta({
      description: 'Id of the decision, as `POST /v1/route` answered it. Either this or `task`.',
    }),
    task: taskId.optional().meta({
      description:
        'Task of the route requests: the report counts for every decision of it that showed the `tool`, which is needed then. Either this or `decisionId`.',
    }),
    catalog: catalogName
      .optional()
      .meta({ description: 'With `task`: decisions of this catalog alone; of all if left out.' }),
    userId: callersId.optional().meta({
      description: 'With `task`: as in the route requests; needed if several users have a task of this id.',
    }),
    unitId: callersId.optional().meta({ description: 'With `task`: as `userId`.' }),
    ...outcomeFields,
  })
  .refine(saysSomething, saysNothing)
  .superRefine(refuseContradiction)
  .transform((report, { addIssue }): RewardReport => {
    const { decisionId, task, tool, ...rest } = report;
    const refuse = (path: string, message: string): typeof z.NEVER => {
      addIssue({ code: 'custom', path: [path], message });
      return z.NEVER;
    };
    if (task !== undefined) {
      if (decisionId !== undefined) return refuse('task', 'send `decisionId` or `task`, not both');
      if (tool === undefined) return refuse('tool', 'is needed with `task`: name the tool that was called');
      return { ...rest, task, tool };
    }
    if (decisionId === undefined) return refuse('decisionId', 'is needed, or `task`');
    const { catalog, userId, unitId, ...outcome } = rest;
    for (const [path, value] of Object.entries({ catalog, userId, unitId })) {
      if (value !== undefined)
        return refuse(path, 'goes with `task`; a `decisionId` names its catalog and user itself');
    }
    return { ...outcome, decisionId, ...(tool !== undefined && { tool }) };
  })
  .openapi('RewardReport');

export const acceptedRewardSchema = z
  .object({
    rewardId,
    status: z.enum(['queued', 'duplicate', 'late']),
    decisions: z.int().optional().meta({
      description:
        'Of a report on a task: for how many decisions it counts; `rewardId` is that of the newest.',
    }),
    note: z.string().optional().meta({ description: 'What was special about it.' }),
  })
  .openapi('AcceptedReward');

export const rewardStatusSchema = z
  .object({
    rewardId,
    status: z.enum(['queued', 'applied', 'duplicate', 'late', 'rejected', 'dead']).meta({
      description: 'dead: given up after all attempts, see `GET /v1/rewards/dead`.',
    }),
    reason: z.string().optional().meta({ description: 'Why it was not learned, or only in part.' }),
  })
  .openapi('RewardStatus');

const counts = z.record(z.string(), z.int());
const figure = z.number().nullable();

export const rewardHealthSchema = z
  .object({
    catalog: catalogName,
    pending: z
      .int()
      .meta({ description: 'Accepted and not yet learned here; 0: everything has taken effect.' }),
    decisions: z.object({ routed: z.int(), rewarded: z.int(), share: figure }),
    reports: counts.meta({ description: 'By what became of them.' }),
    unlearned: counts.meta({ description: 'Reports that were not learned, or only in part, by why.' }),
    outcomes: counts,
    value: z.object({ mean: figure, standardDeviation: figure }),
    delaySeconds: z.object({ p50: figure, p95: figure }).meta({ description: 'From decision to report.' }),
    outcomeDelaySeconds: z
      .object({ p50: figure, p95: figure })
      .meta({ description: 'From decision to outcome, of reports with `occurredAt`.' }),
    ok: z.boolean(),
    alerts: z.array(
      z.object({
        code: z.string(),
        observed: z.string(),
        likelyCause: z.string(),
        suggestedAction: z.string(),
      }),
    ),
  })
  .openapi('RewardHealth');
