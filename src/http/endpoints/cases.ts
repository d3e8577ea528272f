import { z } from '@hono/zod-openapi';
import type { Cases } from '../../catalog/cases.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { catalogParams } from '../wire/catalog.ts';
import { callersId, toolName } from '../wire/parameters.ts';
import { rewardOutcome } from '../wire/reward.ts';
import { MAX_QUERY_LENGTH } from '../wire/route-request.ts';

const MAX_CASES_PER_REQUEST = 1000;
const MAX_CALLS = 200;

const caseSchema = z
  .strictObject({
    id: callersId.meta({ description: 'The same id is taught once.', example: 'session-7/turn-3' }),
    query: z
      .string()
      .max(MAX_QUERY_LENGTH, `must not be longer than ${MAX_QUERY_LENGTH} characters`)
      .refine((query) => /[^\s\p{C}]/u.test(query), 'must say what was wanted: it is empty')
      .meta({ description: 'What was asked for. It is not kept.', example: 'give me my money back' }),
    calls: z
      .array(
        z.strictObject({
          tool: toolName.meta({
            description: 'Its name or `providerName`, or what MCP clients call it: `mcp__<server>__<tool>`.',
          }),
          outcome: rewardOutcome,
          value: z.number().min(0).max(1).optional(),
        }),
      )
      .min(1)
      .max(MAX_CALLS),
    unitId: callersId.optional().meta({ description: 'Whose it is: what is forgotten with the unit.' }),
  })
  .openapi('PastCase');

const calledSchema = z.array(
  z.object({ name: z.string(), calls: z.int(), successes: z.int() }).openapi('CalledTool'),
);

const taughtSchema = z
  .object({
    taught: z.int().meta({ description: 'How many were taught, or would be in a dry run.' }),
    known: z.int().meta({ description: 'How many were taught before.' }),
    nothingToTeach: z.int().meta({
      description: 'How many call no tool of the catalog with an outcome that teaches.',
    }),
    tools: calledSchema.meta({ description: 'The tools of the catalog that were called.' }),
    unknownTools: calledSchema.meta({ description: 'Called tools that the catalog does not have.' }),
  })
  .openapi('TaughtCases');

export const caseEndpoints = (cases: Cases): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/cases',
    name: 'teachCases',
    tag: 'Tools',
    summary: 'Teach what was asked for elsewhere, and what became of the calls.',
    description:
      'For transcripts: `bandolier learn` reads them. Memory learns from them, and nothing else, because nobody knows which tools were shown: they are in no statistics, experiments and evaluations.',
    request: {
      params: catalogParams,
      body: z.strictObject({
        cases: z.array(caseSchema).max(MAX_CASES_PER_REQUEST),
        dryRun: z.boolean().default(false).meta({ description: 'true: say what would be taught.' }),
      }),
    },
    example: {
      cases: [
        {
          id: 'session-7/turn-3',
          query: 'give me my money back',
          calls: [{ tool: 'create_refund', outcome: 'success' }],
        },
      ],
    },
    answers: { 200: { description: 'What was found, and what was taught.', schema: taughtSchema } },
    problems: ['catalog-not-found', 'unavailable'],
    handle: async ({ params, body }, { signal }) => {
      const { dryRun } = body;
      const taught = await cases.teach(params.catalog, body.cases, { dryRun, signal });
      return { status: 200, body: taught };
    },
  }),
];
