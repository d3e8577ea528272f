import { z } from '@hono/zod-openapi';
import { DETAIL_LEVELS } from '../../ledger/catalog-settings.ts';
import { METRICS } from '../../ledger/experiment-definition.ts';
import { AUTOMATIC } from '../../ledger/merge-definition.ts';
import { policySettings } from './catalog.ts';
import { callersId, catalogName } from './parameters.ts';

const contextValue = z.union([z.string().max(256), z.number(), z.boolean()]);
const contextKey = z
  .string()
  .regex(/^[A-Za-z][\w.-]{0,63}$/, 'has to be 1 to 64 letters, digits, _, . and -');

/** Ends up as a member of objects and in texts, so nothing surprising may be in it. */
const plainName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'has to be 1 to 63 letters, digits, ., _ and -')
  .refine((name) => !Object.hasOwn(Object.prototype, name), 'is not possible');

const experimentName = plainName.meta({
  description: 'Name of the experiment.',
  example: 'alpha-0.1',
});
const variantName = plainName.meta({ description: 'Name of the variant.', example: 'treatment' });

/** A metric goes by the name of its mean as well. */
const metric = z
  .preprocess(
    (name) => ({ meanReward: 'reward', successRate: 'success' })[String(name)] ?? name,
    z.enum(METRICS),
  )
  .meta({ type: 'string', enum: [...METRICS, 'meanReward', 'successRate'] });

const variant = z.strictObject({
  name: variantName,
  share: z.number().min(0).max(100).optional().meta({
    description: 'In percent; the variants together have 100. 0 or nothing for shadows.',
  }),
  policy: z
    .union([policySettings, z.string().min(1).max(150)])
    .optional()
    .meta({
      description:
        'Settings, the name of a policy, or a version that is kept; nothing: the catalog’s policy at the start.',
    }),
  mode: z.enum(['live', 'shadow', 'apprentice', 'freeze']).optional(),
  learnsFrom: z.enum(['all', 'own']).optional(),
  startsFrom: z.enum(['kept', 'champion', 'cold']).optional(),
  detail: z.enum(DETAIL_LEVELS).optional().meta({
    description:
      'How much of each definition it serves; not for shadows. Where some variants say it, the others serve what the catalog says at the start.',
  }),
});

export const actor = callersId
  .refine(
    (name) => name.trim().toLowerCase() !== AUTOMATIC,
    `must not be "${AUTOMATIC}", which stands for what nobody has decided`,
  )
  .optional()
  .meta({ description: 'Who asks for it; kept with the change.' });

export const experimentDraftSchema = z
  .strictObject({
    name: experimentName,
    catalog: catalogName.optional().meta({ description: 'May be repeated from the path.' }),
    unit: z.enum(['sessionId', 'userId', 'unitId', 'decision']),
    variants: z.array(variant).min(1).max(10),
    against: variantName.optional().meta({ description: 'What the others are compared with; the first.' }),
    metric: metric.optional(),
    guardrails: z
      .array(
        z.strictObject({
          metric,
          harm: z.enum(['rise', 'fall']).optional(),
          tolerance: z.number().min(0).optional(),
        }),
      )
      .max(10)
      .optional(),
    target: z
      .record(contextKey, z.union([contextValue, z.array(contextValue).min(1).max(100)]))
      .optional()
      .meta({ description: 'Only requests whose `context` has one of these values for every key.' }),
    layer: plainName.optional().meta({ description: 'Experiments of one layer never share a unit.' }),
    traffic: z.number().gt(0).max(100).optional().meta({ description: 'Percent of the layer.' }),
    salt: z.string().min(1).max(256).optional(),
    minimumLift: z.number().min(0).optional(),
    alpha: z.number().gt(0).max(0.2).optional(),
    tightestAt: z.int().min(100).max(1e9).optional(),
    automatic: z
      .union([
        z.boolean(),
        z.strictObject({
          minimumUnits: z.int().min(50).max(1e9).optional(),
          minimumHours: z.number().min(0).max(8760).optional(),
        }),
      ])
      .optional()
      .meta({ description: 'Raise the share 10 → 50 → 100 % and promote the winner without being asked.' }),
    applyFromEvaluation: z
      .string()
      .max(100)
      .optional()
      .meta({ description: 'Id of an evaluation: variants without a policy get its winner.' }),
    actor,
  })
  .openapi('ExperimentDraft');

export const experimentParams = z.object({ catalog: catalogName, name: experimentName });

export const changeBody = z.strictObject({ actor });
export const promoteBody = z.strictObject({ variant: variantName.optional(), actor });
export const killBody = z.strictObject({ variant: variantName.optional(), actor });
export const sharesBody = z.strictObject({
  shares: z.record(variantName, z.number().min(0).max(100)),
  actor,
});

const isoTime = z.iso.datetime().nullable();

export const experimentSchema = z
  .looseObject({
    name: experimentName,
    catalog: catalogName,
    status: z.enum(['draft', 'running', 'stopped', 'promoted']),
    unit: z.string(),
    against: z.string(),
    metric: z.string(),
    variants: z.array(
      z.looseObject({
        name: variantName,
        share: z.number().meta({ description: 'Percent.' }),
        policy: policySettings
          .nullable()
          .meta({ description: 'null, in drafts alone: the catalog’s policy at the start.' }),
        version: z.string().nullable(),
        mode: z.string(),
        detail: z.enum(DETAIL_LEVELS).nullable().meta({ description: 'null: what the catalog says.' }),
        killed: z.boolean(),
        outBecause: z.string().nullable(),
      }),
    ),
    promoted: z.string().nullable(),
    startedAt: isoTime,
    endedAt: isoTime,
    history: z.array(
      z.object({
        at: z.iso.datetime(),
        action: z.string(),
        actor: z.string().nullable(),
        note: z.string(),
      }),
    ),
  })
  .openapi('Experiment');

export const movedExperimentSchema = experimentSchema
  .extend({
    movedPercent: z.number().meta({ description: 'Percent of the units that changed their variant.' }),
  })
  .openapi('MovedExperiment');
