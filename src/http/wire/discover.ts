import { z } from '@hono/zod-openapi';
import { catalogName, decisionId, toolName } from './parameters.ts';
import { routedToolSchema } from './route-answer.ts';
import { tokenBudget } from './route-request.ts';

export const discoverRequestSchema = z
  .strictObject({
    k: z
      .int()
      .min(1)
      .max(50)
      .optional()
      .meta({ description: 'How many tools more; absent: as many as the decision wanted.' }),
    tokenBudget: tokenBudget.meta({
      description:
        'Most tokens that their definitions, or the summary, may take. Absent: what the `tokenBudget` of the decision has left; without one, no limit.',
    }),
    summary: z.boolean().optional().meta({
      description: 'true: no tools, but what the catalog has, by server and domain.',
    }),
    rating: z.number().min(0).max(1).optional().meta({
      description: 'How far the model says that what it has suffices, 0 … 1.',
    }),
  })
  .refine(({ k, summary }) => k === undefined || summary !== true, {
    path: ['k'],
    message: 'says how many tools; leave it out with `summary: true`',
  })
  .openapi('DiscoverRequest');

const summarySchema = z
  .object({
    tools: z.int().meta({ description: 'How many the catalog has.' }),
    servers: z.array(
      z.object({
        server: z.string().nullable().meta({ description: 'null: of tools that name none.' }),
        tools: z.int(),
        examples: z.array(toolName).meta({ description: 'Those that are called most.' }),
      }),
    ),
    domains: z
      .array(z.object({ domain: z.string(), tools: z.int() }))
      .meta({ description: 'Tags of the tools.' }),
    more: z.int().meta({ description: 'How many servers and domains were left out.' }),
  })
  .openapi('CatalogSummary');

const sufficiency = z.number().min(0).max(1);

export const discoverAnswerSchema = z
  .object({
    decisionId,
    tools: z.array(routedToolSchema).meta({
      description:
        'What comes to the slate, best first. `propensity`: probability of being among them, given what was shown before.',
    }),
    definitions: z.unknown().optional().meta({ description: 'As in the answer of `POST /v1/route`.' }),
    tokens: z.int().meta({ description: 'Of these definitions.' }),
    summary: summarySchema.optional().meta({
      description: 'Where it was asked for, or no tool is left.',
    }),
    discoveries: z
      .int()
      .meta({ description: 'How often this decision was asked for more, this time included.' }),
    sufficiency: sufficiency.meta({ description: 'Probability that all that was served by now is enough.' }),
    sufficient: z.boolean(),
    notes: z.array(z.string()).optional(),
    rewardDeadline: z.iso.datetime(),
  })
  .openapi('DiscoverAnswer');

export const sufficiencySchema = z
  .object({
    catalog: catalogName,
    threshold: sufficiency.meta({ description: '`sufficiencyThreshold` of the catalog.' }),
    outcomes: z.int().meta({ description: 'Decisions that were learned from.' }),
    rated: z.int().meta({ description: 'Of them those that a model had rated.' }),
    predicted: sufficiency.nullable().meta({ description: 'Mean prediction; null: no outcome yet.' }),
    observed: sufficiency.nullable().meta({ description: 'Share of slates that sufficed.' }),
    calibrationError: sufficiency.nullable().meta({
      description: 'ECE: how far predictions were from what came, in the mean over `reliability`.',
    }),
    reliability: z
      .array(
        z.object({
          from: sufficiency,
          to: sufficiency,
          count: z.number().meta({ description: 'How many outcomes; older ones count less.' }),
          predicted: sufficiency,
          observed: sufficiency,
        }),
      )
      .meta({ description: 'By tenths of what was predicted.' }),
    weights: z.record(z.string(), z.number()).meta({
      description: 'What speaks for and against a slate, as weights of the logistic regression.',
    }),
    discoveries: z.object({ decisions: z.int(), times: z.int(), tools: z.int() }).meta({
      description: 'Of the last 24 hours: decisions that were asked for more, how often, tools added.',
    }),
    breaker: z
      .object({
        open: z.boolean(),
        closesAt: z.iso.datetime().nullable(),
        decisions: z.int(),
        discoveries: z.int(),
        callers: z.int(),
      })
      .meta({
        description:
          'Of the process that answers: open while it refuses discoveries of all callers, because within a minute there were 60, and more than four for five decisions; of one caller up to 10 of each count. `callers`: how many are refused by themselves.',
      }),
  })
  .openapi('Sufficiency');
