import { z } from '@hono/zod-openapi';
import { DETAIL_LEVELS, SLATE_METHODS } from '../../ledger/catalog-settings.ts';
import { callersId, catalogName, isoTime, toolName } from './parameters.ts';
import { MAX_QUERY_LENGTH } from './route-request.ts';

const domainName = z
  .string()
  .min(1, 'must not be empty')
  .max(100, 'must not be longer than 100 characters')
  .refine((name) => !/[\p{Cc}\p{Cs}]/u.test(name), 'must not contain control characters');

const sayingSomething = (longest: number) =>
  z
    .string()
    .max(longest, `must not be longer than ${longest} characters`)
    .refine((text) => /[^\s\p{C}]/u.test(text), 'must not be blank');

const MAX_DOMAINS = 32;
const MAX_WORDS = 100;
const MAX_EXAMPLES = 200;

const domain = z
  .strictObject({
    name: domainName,
    words: z
      .array(sayingSomething(200))
      .max(MAX_WORDS, `must not have more than ${MAX_WORDS} words and phrases`)
      .optional()
      .meta({ description: 'Words or phrases: a query that has one of them is of this domain.' }),
    examples: z
      .array(sayingSomething(MAX_QUERY_LENGTH))
      .max(MAX_EXAMPLES, `must not have more than ${MAX_EXAMPLES} examples`)
      .optional()
      .meta({ description: 'Queries of this domain, twenty or more: a classifier is trained from them.' }),
  })
  .refine(({ words = [], examples = [] }) => words.length + examples.length > 0, {
    message: 'needs words or examples: without them no query is of it',
  });

const domains = z
  .array(domain)
  .max(MAX_DOMAINS, `must not have more than ${MAX_DOMAINS} domains`)
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, {
    message: 'must not name a domain twice',
  })
  .refine((all) => sharedExample(all) === undefined, {
    error: ({ input }) =>
      `must not have an example in two domains: "${sharedExample(input as Labelled[])?.slice(0, 100)}"`,
  });

type Labelled = Pick<z.infer<typeof domain>, 'examples'>;

/** Returns an example that two domains have; undefined: there is none. */
function sharedExample(all: readonly Labelled[]): string | undefined {
  const seen = new Map<string, number>();
  for (const [at, { examples = [] }] of all.entries()) {
    for (const example of examples) {
      if ((seen.get(example) ?? at) !== at) return example;
      seen.set(example, at);
    }
  }
  return undefined;
}

const pin = z.strictObject({
  tool: toolName,
  until: isoTime.optional().meta({ description: 'When it ends by itself; absent: when it is taken back.' }),
  domain: domainName.optional().meta({
    description: 'Only for queries of this domain of the catalog; absent: for all.',
  }),
});

/** As many as the largest slate has places. */
const MAX_PINS = 50;

export const pinsSchema = z
  .strictObject({
    pins: z
      .array(pin)
      .max(MAX_PINS, `must not have more than ${MAX_PINS} pins`)
      .refine((pins) => new Set(pins.map((one) => `${one.domain ?? ''}\n${one.tool}`)).size === pins.length, {
        message: 'must not name a tool twice for the same queries',
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
const slate = z.enum(SLATE_METHODS);
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
const contextExpansion = z.enum(['off', 'chat']);

export const mergeJudge = z.enum(['rules', 'chat']).meta({
  description: 'Who compares two tools: `rules`, without a network, or the configured `chat` model.',
});

export const mergeThreshold = z.number().min(0).max(1).nullable().meta({
  description: 'Least cosine of two tools that are compared; null: what was chosen for the embedding model.',
});

export const autoApprove = z.number().min(0).max(1).nullable().meta({
  description:
    'Merges of at least this confidence are approved by themselves, unless they are `guarded`; null: none is.',
});

const merging = z.strictObject({
  judge: mergeJudge,
  threshold: mergeThreshold,
  autoApprove,
  automatic: z.boolean().meta({ description: 'Look again by itself when tools change.' }),
});

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
    reranker: reranker.optional().meta({
      description:
        'A closer look at the 50 tools that retrieval proposes, and at the 50 instructions where some are wanted; null: none.',
    }),
    decomposition: decomposition.optional().meta({
      description:
        'How a query that asks for several things is taken apart: not, by its clauses, or by the configured chat model.',
    }),
    contextExpansion: contextExpansion.optional().meta({
      description:
        "Whether the configured chat model says what of a user's context a query needs, before that is searched: it gets the query, and nothing else. Only where a request names a user who has items.",
    }),
    slate: slate.optional().meta({
      description:
        'Who chooses the tools of a slate where the request does not say so: the `policy`, or the retriever of `toolscope`, which learns nothing, and draws nothing.',
    }),
    detail: detail.optional().meta({
      description:
        'How much of each definition `POST /v1/route` answers where neither the request nor its variant of an experiment says so.',
    }),
    merging: merging.partial().optional().meta({
      description: 'How tools that do the same are found, and what becomes of them. What is left out stays.',
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
    domains: domains.optional().meta({
      description:
        'What queries can be about, all of it: pins can be limited to one of them, and answers say which one it was. Words and phrases decide first, in this order; else a linear classifier over embeddings, trained from the examples when they are put. A query that is near none, or between two, is of none.',
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
      contextExpansion,
      slate,
      detail,
      failMode,
      sufficiencyThreshold,
      killSwitch: z.boolean(),
      retainText: z.boolean(),
      forgetRemovedAfterDays: z.int(),
      pins: pinsSchema.shape.pins,
      domains,
      merging,
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
