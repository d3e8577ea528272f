import { z } from '@hono/zod-openapi';
import { DETAIL_LEVELS } from '../../ledger/catalog-settings.ts';
import { callersId, catalogName, isoTime, toolName } from './parameters.ts';

const pin = z.strictObject({
  tool: toolName,
  until: isoTime.optional().meta({ description: 'When it ends by itself; absent: when it is taken back.' }),
});

/** As many as the largest slate has places. */
const MAX_PINS = 50;

export const pinsSchema = z
  .strictObject({
    pins: z
      .array(pin)
      .max(MAX_PINS, `must not have more than ${MAX_PINS} pins`)
      .refine((pins) => new Set(pins.map(({ tool }) => tool)).size === pins.length, {
        message: 'must not name a tool twice',
      })
      .meta({ description: 'All of them, in the order of the slate; [] takes every pin back.' }),
  })
  .openapi('Pins');

export const pinsViewSchema = z
  .object({
    pins: z.array(
      pin.extend({
        active: z
          .boolean()
          .meta({ description: 'false: its tool was removed, or it has ended; it is in no slate.' }),
      }),
    ),
  })
  .openapi('PinsView');

export const policySettings = z.strictObject({
  name: z.string().min(1).max(100).meta({ example: 'sc-linucb-memory' }),
  parameters: z.record(z.string().max(100), z.number()).optional(),
  exploration: z.enum(['plackett-luce', 'ucb', 'greedy']).optional(),
  temperature: z.number().gt(0).max(10).optional().meta({ description: 'T of plackett-luce.' }),
});

const rewardContract = z.strictObject({
  windowSeconds: z.int().min(5).max(604_800).meta({ description: 'How long rewards are learned.' }),
  defaultReward: z
    .number()
    .min(-1)
    .max(1)
    .nullable()
    .meta({ description: 'Reward of shown tools when nothing was reported by the deadline; null: none.' }),
  aggregation: z.enum(['first', 'last', 'sum', 'mean']),
  onLate: z.enum(['log', 'learn', 'reject']),
  unitHourlyWeight: z
    .number()
    .gt(0)
    .max(1e6)
    .meta({ description: 'Learning weight that one unit may put on one tool within an hour.' }),
});

const detail = z.enum(DETAIL_LEVELS);
const failMode = z.enum(['open', 'closed', 'passthrough']);
const embedder = z.string().min(1).max(200);
const reranker = z
  .strictObject({
    model: z.string().min(1).max(200).meta({ description: 'A cross-encoder that was pulled.' }),
    budgetMs: z.int().min(1).max(10_000).meta({ description: 'After this the fused order stands.' }),
  })
  .nullable();
const sufficiencyThreshold = z.number().min(0).max(1);
const decomposition = z.enum(['none', 'clauses', 'llm']);

/** What a request may change about a catalog; what is left out stays as it is. */
export const catalogPatchSchema = z
  .strictObject({
    policy: policySettings.partial().optional().meta({
      description:
        'What is left out stays, also single parameters, as long as `name` is left out or the present one. Another name starts from the defaults of that policy, `exploration` included.',
    }),
    rewards: rewardContract.partial().optional(),
    embedder: embedder.optional().meta({
      description:
        'Moves the catalog to this embedding model: `bundled`, `none`, `endpoint`, one that was pulled, or `default`, which is what the process that is asked is configured with. All tools are embedded anew, and a learner of its own begins, or goes on where it was left; what was learned with the model before is kept as a version of the policy.',
    }),
    ignoreDates: z.boolean().optional().meta({
      description:
        'A definition in which nothing but days and times of descriptions changed has not changed: the old one stays.',
    }),
    reranker: reranker
      .optional()
      .meta({ description: 'A closer look at the 50 tools that retrieval proposes; null: none.' }),
    decomposition: decomposition.optional().meta({
      description:
        'How a query that asks for several things is taken apart: not, by its clauses, or by the configured chat model.',
    }),
    detail: detail.optional().meta({
      description:
        'How much of each definition `POST /v1/route` answers where neither the request nor its variant of an experiment says so.',
    }),
    failMode: failMode.optional().meta({
      description:
        'What a query gets when nothing fits it, after pins: `open`, the most reliable tools; `closed`, nothing; `passthrough`, the whole catalog, 1,000 tools at most.',
    }),
    sufficiencyThreshold: sufficiencyThreshold.optional().meta({
      description:
        'A slate whose `sufficiency` is below this is answered with `sufficient: false`: ask for more tools with `POST /v1/decisions/{decisionId}/discover` then.',
    }),
    killSwitch: z
      .boolean()
      .optional()
      .meta({ description: 'Serve the retrieval order, whatever was learned.' }),
    retainText: z.boolean().optional().meta({ description: 'Keep query texts with decisions.' }),
    forgetRemovedAfterDays: z.int().min(1).max(3650).optional().meta({
      description: 'After so many days what was learned about a removed tool is forgotten.',
    }),
  })
  .openapi('CatalogPatch');

export const catalogSchema = z
  .object({
    name: catalogName,
    revision: z.string(),
    tools: z.int().meta({ description: 'How many it has.' }),
    policy: z.object({ name: z.string(), version: z.string() }),
    settings: z.object({
      policy: policySettings.required(),
      rewards: rewardContract,
      embedder,
      ignoreDates: z.boolean(),
      reranker,
      decomposition,
      detail,
      failMode,
      sufficiencyThreshold,
      killSwitch: z.boolean(),
      retainText: z.boolean(),
      forgetRemovedAfterDays: z.int(),
      pins: pinsSchema.shape.pins,
    }),
  })
  .openapi('Catalog');

export const catalogListSchema = z.object({
  catalogs: z.array(catalogSchema),
  failed: z
    .array(z.object({ name: catalogName, reason: z.string() }))
    .meta({ description: 'Those that cannot be opened, and why: they answer 503.' }),
});

export const catalogParams = z.object({ catalog: catalogName });

export const unitParams = z.object({ catalog: catalogName, unit: callersId });

export const forgottenSchema = z
  .object({
    forgotten: z
      .int()
      .meta({ description: 'Tools, instructions, or remembered cases over all versions of the policy.' }),
  })
  .openapi('Forgotten');
