import { z } from '@hono/zod-openapi';
import { policySettings } from './catalog.ts';
import { catalogName } from './parameters.ts';

const values = z.array(z.number()).min(1).max(24);

export const evaluationDraftSchema = z
  .strictObject({
    candidates: z
      .array(
        z.strictObject({
          name: z.string().min(1).max(200).optional(),
          policy: z.union([policySettings, z.string().min(1).max(150)]).optional(),
        }),
      )
      .max(24)
      .optional(),
    grid: z
      .strictObject({
        policy: z.string().min(1).max(100),
        parameters: z.record(z.string().max(100), values).optional(),
        exploration: z.enum(['plackett-luce', 'ucb', 'greedy']).optional(),
        temperature: z.array(z.number().gt(0).max(10)).min(1).max(24).optional(),
      })
      .optional()
      .meta({ description: 'Every combination of these values is a candidate.' }),
    alpha: z.number().gt(0).max(0.2).optional(),
    learnShare: z.number().min(0).max(1).optional().meta({
      description:
        'Share of the log from which the candidates learn; they are judged by the rest. 1 (default): they learn along, and each decision is put to them before they have learned from it.',
    }),
  })
  .openapi('EvaluationDraft');

export const evaluationParams = z.object({ catalog: catalogName, id: z.string().max(100) });

const result = z.object({
  name: z.string(),
  kind: z.enum(['candidate', 'baseline']),
  policy: policySettings.nullable(),
  decisions: z.int(),
  units: z.int(),
  effectiveSampleSize: z.number(),
  thinShare: z.number(),
  clip: z.number(),
  clippedShare: z.number(),
  lostPerDecision: z.number(),
  refusal: z.string().nullable().meta({ description: 'Why the log cannot answer for this policy.' }),
  estimates: z
    .array(
      z.object({
        estimator: z.enum(['ips', 'snips', 'dr']),
        value: z.number().meta({ description: 'Reward per decision, summed over its slate.' }),
        standardError: z.number(),
        lower: z.number(),
        upper: z.number(),
      }),
    )
    .meta({ description: 'Empty where it is refused.' }),
  difference: z
    .object({ value: z.number(), standardError: z.number(), lower: z.number(), upper: z.number() })
    .nullable()
    .meta({
      description:
        'By how much it would have earned more per decision than what ran, from the `dr` estimates on the same decisions. The intervals of all candidates hold together. null where it is refused.',
    }),
});

export const evaluationSchema = z
  .object({
    id: z.string(),
    catalog: catalogName,
    status: z.enum(['queued', 'running', 'done', 'refused', 'cancelled', 'failed']),
    createdAt: z.iso.datetime(),
    endedAt: z.iso.datetime().nullable(),
    progress: z.number().min(0).max(1),
    candidates: z.array(z.object({ name: z.string(), policy: policySettings })),
    learnShare: z.number().min(0).max(1),
    decisions: z.int().meta({ description: 'Logged decisions that were evaluated on.' }),
    skipped: z.record(z.string(), z.int()),
    results: z.array(result),
    winner: z.string().nullable().meta({
      description:
        'The largest `dr` estimate of the candidates whose `difference` is surely above 0; null: none, or it is the policy of the catalog already (see `reason`).',
    }),
    reason: z.string().nullable(),
  })
  .openapi('Evaluation');
