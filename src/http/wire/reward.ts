import { z } from '@hono/zod-openapi';
import { decisionId, rewardId, toolName } from './names.ts';

export const MAX_REWARDS_PER_REQUEST = 1000;

const outcomeFields = {
  tool: toolName
    .optional()
    .meta({ description: 'The tool that was used. May be left out if only one was shown.' }),
  value: z
    .number()
    .min(-1)
    .max(1)
    .optional()
    .meta({ description: '−1 … 1. Left out: success 1, partial 0.5, failure 0.' }),
  outcome: z
    .enum(['success', 'failure', 'partial', 'timeout', 'refused', 'not_used'])
    .optional()
    .meta({ description: 'timeout and refused say nothing about relevance and teach nothing.' }),
  more: z.boolean().optional().meta({ description: 'true: another report on this decision will follow.' }),
  latencyMs: z.number().min(0).max(86_400_000).optional(),
  cost: z.number().min(0).max(1e9).optional(),
  weight: z
    .number()
    .gt(0)
    .max(10)
    .optional()
    .meta({ description: 'Importance of this report; 1 unless said.' }),
  idempotencyKey: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'has to be 1 to 255 printable ASCII characters without blanks')
    .optional()
    .meta({ description: 'The same key for the same decision counts once.' }),
  occurredAt: z.iso
    .datetime({ offset: true })
    .optional()
    .meta({ description: 'When it happened, if not now.' }),
};

const saysSomething = (report: { value?: number | undefined; outcome?: string | undefined }) =>
  report.value !== undefined || report.outcome !== undefined;
const saysNothing = { path: ['outcome'], message: 'is needed, or `value`: at least one of the two' };

/** A reward for the decision that the path names. */
export const outcomeSchema = z
  .strictObject(outcomeFields)
  .refine(saysSomething, saysNothing)
  .openapi('Outcome');

export const rewardReportSchema = z
  .strictObject({ decisionId, ...outcomeFields })
  .refine(saysSomething, saysNothing)
  .openapi('RewardReport');

export const acceptedRewardSchema = z
  .object({
    rewardId,
    status: z.enum(['queued', 'duplicate', 'late']),
    note: z.string().optional().meta({ description: 'What was special about it.' }),
  })
  .openapi('AcceptedReward');

export const rewardStatusSchema = z
  .object({
    rewardId,
    status: z.enum(['queued', 'applied', 'duplicate', 'late', 'rejected']),
    reason: z.string().optional(),
  })
  .openapi('RewardStatus');
