import { z } from '@hono/zod-openapi';
import { catalogName } from './parameters.ts';

const mean = z.number().nullable();

/** Null while there are too few units. */
const bound = z.number().nullable();

export const experimentReportSchema = z
  .object({
    experiment: z.string(),
    catalog: catalogName,
    status: z.enum(['draft', 'running', 'stopped', 'promoted']),
    unit: z.string(),
    metric: z.string(),
    against: z.string(),
    startedAt: z.iso.datetime().nullable(),
    endedAt: z.iso.datetime().nullable(),
    variants: z.array(
      z.object({
        name: z.string(),
        units: z.int(),
        decisions: z.int(),
        exposures: z.int().meta({ description: 'Decisions that were shown (activated).' }),
        rewards: z.int().meta({ description: 'Decisions for which anything was reported.' }),
        meanReward: mean,
        successRate: mean,
        rewardPerDecision: mean,
        latencyMs: mean,
        cost: mean,
        tokens: mean.meta({
          description:
            'Of the definitions as they were sent, as the setting `tokenizer` says; per decision that was shown.',
        }),
        version: z.string().nullable(),
        outBecause: z.string().nullable(),
      }),
    ),
    shadows: z.array(
      z.object({
        name: z.string(),
        decisions: z.int(),
        overlap: mean,
        successes: z.int(),
        hitRate: mean.meta({ description: 'Share of the successful tools that its slate contained.' }),
        servedHitRate: mean,
      }),
    ),
    srm: z.object({ pValue: z.number(), ok: z.boolean(), anytimePValue: z.number(), anytimeOk: z.boolean() }),
    differences: z.array(
      z.object({
        metric: z.string(),
        variant: z.string(),
        against: z.string(),
        estimate: bound,
        lower: bound.meta({ description: 'Valid at every moment: look as often as you like.' }),
        upper: bound,
        pValue: bound,
        fixedHorizon: z
          .object({ lower: z.number(), upper: z.number(), pValue: z.number() })
          .nullable()
          .meta({ description: 'Valid for one look that was planned beforehand.' }),
        varianceReduction: bound,
      }),
    ),
    guardrails: z.array(
      z.object({
        metric: z.string(),
        variant: z.string(),
        state: z.enum(['breached', 'kept', 'open']),
        atLeast: z.number(),
        atMost: z.number(),
      }),
    ),
    decision: z
      .boolean()
      .nullable()
      .meta({ description: 'true: promote. false: stop. null: not known yet.' }),
    reason: z.string(),
    winner: z.string().nullable(),
    withoutUnit: z.int().meta({ description: 'Requests left out because they named no unit.' }),
    ownDetail: z.int().meta({
      description:
        'Requests left out because they said `detail` (or format `names`) themselves, where variants differ in it.',
    }),
    series: z.array(
      z.object({
        at: z.iso.datetime(),
        variants: z.record(
          z.string(),
          z.object({ decisions: z.int(), rewards: z.int(), meanReward: mean, successRate: mean }),
        ),
      }),
    ),
  })
  .openapi('ExperimentReport');
