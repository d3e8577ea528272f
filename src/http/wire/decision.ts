import { z } from '@hono/zod-openapi';
import { ASSEMBLIES, FALLBACKS, SLATE_FORMATS } from '../../decisions/decision.ts';
import { SLATE_METHODS } from '../../ledger/catalog-settings.ts';
import { callersId, catalogName, decisionId, isoTime, pageQuery, toolName } from './parameters.ts';
import { rewardOutcome, rewardStatusSchema } from './reward.ts';
import {
  baseSchema,
  contextItemSchema,
  costTokensSchema,
  detailSchema,
  domainSchema,
  fallbackSchema,
  gainSchema,
  leftOutSchema,
  policySchema,
  reasonSchema,
  tokensSchema,
  uncertaintySchema,
} from './route-answer.ts';

export const decisionParams = z.object({ decisionId });

export const activationSchema = z
  .object({ decisionId, activatedAt: z.iso.datetime(), rewardDeadline: z.iso.datetime() })
  .openapi('Activation');

const candidateSchema = z
  .object({
    name: toolName,
    rank: z.int().nullable().meta({ description: 'Place in the slate; null: not in it.' }),
    retrievalRank: z.int().meta({ description: 'Place that retrieval alone would give it.' }),
    reason: reasonSchema.nullable(),
    score: z.number().meta({ description: 'What was ranked by, before exploration noise.' }),
    mean: z.number().meta({ description: 'Expected reward: base + gain.' }),
    base: baseSchema,
    gain: gainSchema,
    uncertainty: uncertaintySchema,
    bonus: z.number().meta({
      description:
        'What is added to the mean to try the tool out. With `explore: false` or exploration `greedy` it is not added: the score is the mean.',
    }),
    propensity: z.number(),
    tokens: z.int().optional().meta({ description: 'Of its definition, where tokens are counted.' }),
    trials: z
      .number()
      .meta({ description: 'How many remembered outcomes near this query speak for or against.' }),
    features: z.record(z.string(), z.number()),
    taughtWords: z.array(z.string()).meta({
      description:
        'Words of the query that speak most for this tool, by what other queries taught it; empty unless the catalog retains texts.',
    }),
    sentence: z.string().meta({ description: 'All of this in words.' }),
  })
  .openapi('ExplainedCandidate');

const keptRewardSchema = rewardStatusSchema
  .extend({
    tool: toolName.nullable().meta({ description: 'null: it was about the decision as a whole.' }),
    outcome: rewardOutcome,
  })
  .openapi('KeptReward');

export const decisionExplanationSchema = z
  .object({
    decisionId,
    catalog: catalogName,
    at: z.iso.datetime(),
    revision: z.string(),
    policy: policySchema,
    slateBy: z.enum(SLATE_METHODS).exclude(['policy']).optional().meta({
      description: 'Who chose the slate; absent: the policy, which learned from it in either case.',
    }),
    exploration: z.enum(['plackett-luce', 'ucb', 'greedy']),
    temperature: z.number(),
    propensityMethod: z.enum(['exact', 'deterministic']).meta({
      description:
        'Where the propensities come from. exact: computed. deterministic: nothing was drawn, so what is in the slate has 1 and the rest 0.',
    }),
    k: z.int(),
    format: z.enum(SLATE_FORMATS),
    detail: detailSchema,
    fallback: fallbackSchema,
    domain: domainSchema,
    query: z.string().optional().meta({ description: 'Only if the catalog retains texts.' }),
    rerank: z
      .object({
        by: z.string(),
        fallback: z.string().nullable().meta({ description: 'Why the fused order stood; null: it did not.' }),
        instructions: z.string().nullable().optional().meta({
          description: 'The same of instructions; absent: none were chosen, or there are none.',
        }),
      })
      .optional()
      .meta({ description: 'Whether a reranker took a closer look at the candidates.' }),
    split: z
      .object({
        by: z.enum(['clauses', 'llm']),
        parts: z.int().meta({ description: 'Sub-queries that were searched for beside the whole query.' }),
        fallback: z
          .string()
          .nullable()
          .meta({ description: 'Why another splitter than the catalog’s did it; null: it did it itself.' }),
        texts: z.array(z.string()).optional().meta({ description: 'Only if the catalog retains texts.' }),
      })
      .optional()
      .meta({ description: 'How the query was taken apart; absent: it was not.' }),
    sufficiency: z
      .number()
      .optional()
      .meta({ description: 'Probability that the slate suffices, as it was answered.' }),
    discoveries: z
      .array(
        z.object({
          at: z.iso.datetime(),
          tools: z.array(z.object({ name: toolName, propensity: z.number() })),
          rating: z.number().optional(),
        }),
      )
      .optional()
      .meta({ description: 'What was asked for after the slate; its tools are the last ones of the slate.' }),
    learn: z.boolean(),
    activatedAt: z.iso.datetime().nullable(),
    rewardDeadline: z.iso.datetime(),
    slateProbability: z
      .number()
      .meta({ description: 'Probability of exactly this ordered slate, pins left out.' }),
    candidates: z
      .array(candidateSchema)
      .meta({ description: 'The slate in order, then the others by score.' }),
    nearestCases: z
      .array(
        z.object({
          similarity: z.number(),
          tools: z.array(z.object({ name: toolName, worked: z.number(), tried: z.number() })),
        }),
      )
      .meta({
        description: 'What is remembered of the most similar queries now: counts only, no texts.',
      }),
    rewards: z.array(keptRewardSchema).meta({
      description: 'What was reported and became of it; kept for an hour after the window.',
    }),
    budget: z
      .object({
        tokenBudget: z.int().nullable(),
        assembly: z.enum(ASSEMBLIES),
        counter: z.string().meta({ description: 'What counted the tokens.' }),
        tokens: tokensSchema,
        leftOut: leftOutSchema,
        costTokens: costTokensSchema,
        discovered: z
          .int()
          .optional()
          .meta({ description: 'Tokens of the definitions that were discovered later, beside `tokens`.' }),
        carried: z
          .object({
            from: z.array(decisionId),
            discoveries: z.array(z.int()).meta({ description: 'How many of each were taken over.' }),
            tools: z.int(),
            instructions: z.array(z.string()),
            details: z.array(detailSchema),
            changed: z.array(z.string()).optional(),
            changedInstructions: z.array(z.string()).optional(),
            read: z.int(),
            restarted: z.boolean().optional(),
          })
          .optional()
          .meta({ description: 'What it took over from decisions before it.' }),
      })
      .optional()
      .meta({ description: 'Absent: the request named neither a token budget nor instructions.' }),
    context: z
      .array(z.union([contextItemSchema, z.object({ score: z.number(), note: z.string() })]))
      .optional()
      .meta({
        description:
          'What was chosen of what its user had, as it is now; a `note` in place of what is gone since. Absent: no user was named, or nothing was kept of the user.',
      }),
    contextExpanded: z.boolean().optional().meta({
      description:
        'Whether the query was expanded by the chat model to find that (`contextExpansion` of the catalog); absent: it was not to be.',
    }),
    instructions: z
      .array(
        z.object({
          id: z.string(),
          isSafety: z.boolean(),
          served: z.boolean(),
          tokens: z.int(),
          gain: z.number(),
          score: z.number(),
          propensity: z.number(),
        }),
      )
      .optional()
      .meta({ description: 'The safety overlay, those that were served, then the others by gain.' }),
  })
  .openapi('DecisionExplanation');

/** Which decisions are listed. */
export const decisionQuery = pageQuery.extend({
  tool: toolName.optional().meta({ description: 'It was in the slate.' }),
  outcome: z
    .enum([...rewardOutcome.options, 'none'])
    .optional()
    .meta({
      description: 'Something of this outcome was reported, of `tool` if that is given; `none`: nothing was.',
    }),
  unit: callersId.optional().meta({ description: 'The userId, else unitId, else sessionId of the request.' }),
  fallback: z.enum([...FALLBACKS, 'none']).optional(),
  from: isoTime.optional(),
  to: isoTime.optional(),
  text: z.string().min(1).max(1000).optional().meta({
    description: 'A part of the query, in any case, where the catalog retains texts.',
  }),
});

export const decisionPageSchema = z
  .object({
    decisions: z.array(
      z
        .object({
          decisionId,
          at: z.iso.datetime(),
          policy: policySchema,
          fallback: fallbackSchema,
          query: z.string().optional().meta({ description: 'Only if the catalog retains texts.' }),
          tools: z.array(toolName).meta({ description: 'The slate in order.' }),
          activatedAt: z.iso.datetime().nullable(),
          rewards: z.array(keptRewardSchema).nullable().meta({
            description:
              'What was reported; null: the window ended more than an hour ago, and it is not known any more.',
          }),
        })
        .openapi('DecisionSummary'),
    ),
    nextCursor: z.string().nullable().meta({ description: 'For older ones; null: there are none.' }),
  })
  .openapi('DecisionPage');
