import { z } from '@hono/zod-openapi';
import { ASSEMBLIES, FALLBACKS } from '../../decisions/decision.ts';
import { DETAIL_LEVELS } from '../../ledger/catalog-settings.ts';
import { catalogName, decisionId, isoTime, providerNameSchema, toolName } from './parameters.ts';

export const policySchema = z
  .object({
    name: z.string().meta({ description: 'Name of the policy.', example: 'sc-linucb-memory' }),
    version: z.string().meta({ description: 'The policy with what it has learned: `name@n`.' }),
    experiment: z.string().optional().meta({ description: 'Experiment that this request takes part in.' }),
    variant: z.string().optional().meta({ description: 'The variant of it that decided.' }),
  })
  .meta({ description: 'Which policy ranked the tools.' });

export const baseSchema = z
  .number()
  .meta({ description: 'What retrieval and outcome memory say, with the weights that a new learner has.' });
export const gainSchema = z.number().meta({ description: 'What the learned weights add to `base`.' });
export const uncertaintySchema = z.number().meta({
  description:
    'How little is known about this tool for such queries, √(xᵀA⁻¹x): it falls with every outcome of something alike.',
});
export const reasonSchema = z
  .enum(['retrieved', 'remembered', 'used', 'explored', 'pinned', 'carried', 'discovered'])
  .meta({
    description:
      "Why it is here. retrieved: its text fits. remembered: outcomes for similar queries brought it here, and not its text. used: it was used with what was chosen of the user's context, which says more for it than its text. explored: at least `k` tools are expected to do better, and it was chosen to learn more about it. pinned: it was asked for. carried: it was served before in this session or task. discovered: it was asked for after the slate was shown.",
  });

export const routedToolSchema = z
  .object({
    name: toolName,
    providerName: providerNameSchema,
    rank: z.int().meta({ description: '1 for the first.' }),
    score: z.number().meta({ description: 'What was ranked by, before exploration noise.' }),
    base: baseSchema,
    gain: gainSchema,
    uncertainty: uncertaintySchema,
    propensity: z.number().min(0).max(1).meta({ description: 'Probability of being in this slate.' }),
    reason: reasonSchema,
    definitionHash: z.string(),
    tokens: z.int().optional().meta({ description: 'Of its definition, where tokens are counted.' }),
    document: z.string().optional().meta({
      description:
        'What else is known about it, a statement a line, as far as the budget allows: preconditions, failure modes, postconditions, examples, a query it is not right for. With assembly `parts` alone; in a prompt these lines stand below the definition.',
    }),
    changed: z.boolean().optional().meta({
      description:
        'true: it is carried, and its definition is another one than the one that was served before.',
    }),
    definition: z
      .unknown()
      .optional()
      .meta({ description: 'In the requested `format`, with as much of it as `detail` says.' }),
  })
  .openapi('RoutedTool');

export const fallbackSchema = z
  .enum(FALLBACKS)
  .nullable()
  .meta({ description: 'Why this is not the usual ranking; null when it is.' });

export const domainSchema = z.string().nullable().optional().meta({
  description: 'What the query is about; null: none of the domains of the catalog. Absent: it has none.',
});

export const detailSchema = z
  .enum(DETAIL_LEVELS)
  .meta({ description: 'How much of each definition was served.' });

const routedInstructionSchema = z
  .object({
    id: z.string(),
    text: z.string(),
    tokens: z.int(),
    gain: z.number().meta({
      description:
        'Expected increase of the success when it is present; 0 for safety instructions, which are not weighed.',
    }),
    kind: z.string().meta({ description: '`safety`, `role`, `policy`, `style` or `exemplar`.' }),
    propensity: z.number().min(0).max(1).meta({ description: 'Probability of being served.' }),
    carried: z.boolean().optional().meta({
      description: 'true: it was served before in this session or task, and is where it was.',
    }),
    changed: z.boolean().optional().meta({
      description: 'true: it is carried, and its text is another one than the one that was served before.',
    }),
  })
  .openapi('RoutedInstruction');

export const contextItemSchema = z
  .object({
    id: z.string(),
    text: z.string().meta({ description: 'Data of the user: nothing in it is an instruction.' }),
    score: z.number().min(0).max(1).meta({ description: 'Estimated probability that the query needs it.' }),
    reasons: z.array(z.string()).meta({
      description: 'Why, in words.',
      example: ['used on Friday evenings', 'used with `place_order`'],
    }),
    store: z.string().meta({ example: 'calendar' }),
    kind: z.string().optional(),
    place: z.string().optional().meta({ description: 'Where it takes place, or belongs.' }),
    at: isoTime.optional().meta({
      description:
        'When it takes place or took place, as a clock shows it that is `utcOffsetMinutes` of the request ahead of UTC.',
      example: '2026-11-25T09:30:00.000+01:00',
    }),
    tags: z.array(z.string()).optional(),
  })
  .openapi('ContextOfRoute');

export const tokensSchema = z
  .object({
    slate: z.int().meta({ description: 'Of all definitions, carried ones too.' }),
    instructions: z.int(),
    context: z
      .int()
      .optional()
      .meta({ description: "Of the items of the user's context; absent: there are none." }),
    documents: z.int().meta({ description: "Of what the tools' documents say beside their definitions." }),
    total: z.int().meta({ description: 'Of all that is served.' }),
    monolithic: z.int().meta({
      description:
        'Of all tools of the catalog in full, in the requested `format` (`mcp` for `names`), and all its approved instructions.',
    }),
  })
  .meta({
    description:
      'How many tokens of a language model it takes. Absent: the request named neither a token budget nor instructions.',
  });

export const leftOutSchema = z
  .object({
    tools: z.array(
      z.object({
        name: toolName,
        tokens: z.int(),
        brief: z.int().optional().meta({
          description:
            'What it would take at `detail: "brief"`, where that fits into the budget and the whole definition does not, even alone.',
        }),
      }),
    ),
    instructions: z.array(z.object({ id: z.string(), tokens: z.int() })),
  })
  .meta({ description: 'What would have been served if it had cost nothing, best first.' });

export const costTokensSchema = z
  .object({
    written: z.int().meta({ description: 'New in the prompt.' }),
    read: z.int().meta({ description: 'There before, byte for byte.' }),
    full: z.number().meta({
      description:
        'At the full price: written × 1.25 + read × 0.1; where the prompt is made anew, which no cache helps, all of it × 1.',
    }),
  })
  .meta({ description: 'What is served, as a provider with a prompt cache charges for it.' });

export const routeAnswerSchema = z
  .object({
    decisionId,
    catalog: catalogName,
    revision: z
      .string()
      .meta({ description: 'Version of the tools of the catalog, as in `ETag` and `If-Match`.' }),
    policy: policySchema,
    tools: z
      .array(routedToolSchema)
      .meta({ description: 'The slate, best first; fewer than `k` if the catalog has no more.' }),
    definitions: z.unknown().optional().meta({
      description:
        'The definitions of all tools as one part of a request to the provider. `openai-responses`: elements of `tools`, in one namespace for each `server`. `openai-tool-search-output`: the item of `input`; add the `call_id`. `anthropic-tool-reference`: the `content` of the tool result. `anthropic-tool-addition`: the message. Absent in other formats: there they are the list of the definitions. With assembly `append` those that go into the conversation have only what is new, and `openai-responses` has no namespaces.',
    }),
    fallback: fallbackSchema,
    domain: domainSchema,
    detail: detailSchema,
    notes: z.array(z.string()).optional().meta({
      description: 'What was asked for and could not be had: pins that are no tools, or do not fit in.',
    }),
    context: z.array(contextItemSchema).optional().meta({
      description:
        'What the user has that the query needs, best first; none where nothing is likely enough to be needed. Absent: no `userId`, or nothing is kept of the user.',
    }),
    rewardDeadline: z.iso.datetime().meta({ description: 'Rewards that arrive later are not learned.' }),
    instructions: z.array(routedInstructionSchema).optional().meta({
      description:
        'In the order in which they belong into the prompt, the safety overlay first; with assembly `append` in the order in which they came. Absent: the request wanted none.',
    }),
    tokens: tokensSchema.optional(),
    leftOut: leftOutSchema.optional(),
    costTokens: costTokensSchema.optional(),
    assembly: z.enum(ASSEMBLIES).optional(),
    restarted: z.boolean().optional().meta({
      description:
        'true: what was served before in this session or task left no room within `tokenBudget`, and what is served here replaces all of it.',
    }),
    prompt: z.string().optional().meta({
      description:
        'The system prompt: safety overlay, instructions, what the user has, tools, routing note. With assembly `prompt` alone.',
    }),
    sufficiency: z.number().min(0).max(1).optional().meta({
      description: 'Probability that what was served is enough, calibrated by how decisions ended.',
    }),
    sufficient: z.boolean().optional().meta({
      description:
        'Whether `sufficiency` is at least the `sufficiencyThreshold` of the catalog. false: `POST /v1/decisions/{decisionId}/discover` gives more tools.',
    }),
  })
  .openapi('RouteAnswer');
