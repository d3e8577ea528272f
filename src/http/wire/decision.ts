import { z } from '@hono/zod-openapi';
import { decisionId } from './names.ts';

export const decisionParams = z.object({ decisionId });

export const activationSchema = z
  .object({ decisionId, activatedAt: z.iso.datetime(), rewardDeadline: z.iso.datetime() })
  .openapi('Activation');

export const decisionExplanationSchema = z.looseObject({ decisionId }).openapi('DecisionExplanation');
