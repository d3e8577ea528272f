import { z } from '@hono/zod-openapi';
import { Problem } from '../../errors/problem.ts';
import type { Rewards } from '../../rewards/rewards.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { problemJson, problemSchema } from '../problem-json.ts';
import { decisionParams } from '../wire/decision.ts';
import { catalogName, idempotencyHeaders, rewardId } from '../wire/parameters.ts';
import {
  acceptedRewardSchema,
  MAX_REWARDS_PER_REQUEST,
  outcomeSchema,
  rewardHealthSchema,
  rewardReportSchema,
  rewardStatusSchema,
} from '../wire/reward.ts';

const requestSchema = z.strictObject({
  rewards: z.array(rewardReportSchema).min(1).max(MAX_REWARDS_PER_REQUEST),
});

const answerSchema = z.object({
  results: z
    .array(z.union([acceptedRewardSchema, problemSchema]))
    .meta({ description: 'One per reward, in the order of the request.' }),
});

const querySchema = z.strictObject({ limit: z.coerce.number().int().min(1).max(1000).default(100) });

const deadSchema = z
  .object({
    id: z.string(),
    kind: z.string().meta({ description: '`rewards`, or `settlement` for a decision at its deadline.' }),
    catalog: z.string().nullable(),
    decisions: z.array(z.string()),
    failedAt: z.iso.datetime(),
    attempts: z.int(),
    error: z.string(),
  })
  .openapi('DeadRewards');

const redriveSchema = z.strictObject({
  ids: z
    .array(z.string().min(1).max(500))
    .min(1)
    .max(1000)
    .optional()
    .meta({ description: 'As `GET /v1/rewards/dead` lists them; all of them if left out.' }),
});

/** Returns the idempotency key of a report, which may stand in a header or in the body. @throws Problem validation-failed if they differ */
function oneKey(header: string | undefined, field: string | undefined): string | undefined {
  if (header === undefined || field === undefined || header === field) return field ?? header;
  throw new Problem(
    'validation-failed',
    'The header Idempotency-Key and `idempotencyKey` in the body are different keys.',
    'Send one of them, or the same key in both.',
    {
      violations: [
        { path: 'idempotency-key', message: `is "${header}", but idempotencyKey in the body is another key` },
        { path: 'idempotencyKey', message: `is "${field}", but the header Idempotency-Key is another key` },
      ],
    },
  );
}

export const rewardEndpoints = (rewards: Rewards): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/v1/decisions/{decisionId}/rewards',
    name: 'reportOutcome',
    tag: 'Rewards',
    summary: 'What became of a decision.',
    description: 'Answered as soon as the reward cannot be lost; it is learned a moment later.',
    request: { params: decisionParams, headers: idempotencyHeaders, body: outcomeSchema },
    example: { tool: 'refund_payment', outcome: 'success' },
    answers: { 202: { description: 'Accepted.', schema: acceptedRewardSchema } },
    problems: ['decision-not-found', 'reward-late'],
    handle: async ({ params, headers, body }) => {
      const idempotencyKey = oneKey(headers['idempotency-key'], body.idempotencyKey);
      const report = { ...body, ...params };
      if (idempotencyKey !== undefined) report.idempotencyKey = idempotencyKey;
      const [result] = await rewards.report([report]);
      if ('problem' in result) throw result.problem;
      return { status: 202, body: result };
    },
  }),
  endpoint({
    method: 'post',
    path: '/v1/rewards',
    name: 'reportRewards',
    tag: 'Rewards',
    summary: `What became of up to ${MAX_REWARDS_PER_REQUEST} decisions.`,
    description:
      'Rewards of one decision in one request are taken together. One that fails does not stop others.',
    request: { body: requestSchema },
    example: { rewards: [{ decisionId: 'default.0k3v9q2m7x', tool: 'refund_payment', outcome: 'success' }] },
    answers: { 202: { description: 'One result per reward.', schema: answerSchema } },
    handle: async ({ body }, { requestId }) => {
      const results = await rewards.report(body.rewards);
      const shown = results.map((result) =>
        'problem' in result ? problemJson(result.problem, requestId) : result,
      );
      return { status: 202, body: { results: shown } };
    },
  }),
  endpoint({
    method: 'get',
    path: '/v1/rewards/health',
    name: 'rewardHealth',
    tag: 'Rewards',
    summary: 'Are rewards coming in as they should?',
    request: { query: z.strictObject({ catalog: catalogName.default('default') }) },
    answers: {
      200: { description: 'The last day, with likely causes of what is off.', schema: rewardHealthSchema },
    },
    problems: ['catalog-not-found'],
    handle: async ({ query }) => ({ status: 200, body: await rewards.health(query.catalog) }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/rewards/dead',
    name: 'listDeadRewards',
    tag: 'Rewards',
    summary: 'Rewards that were given up after ten attempts.',
    description:
      'Nothing of them is lost: correct what the error says, then `POST /v1/rewards/dead/redrive`.',
    request: { query: querySchema },
    answers: { 200: { description: 'Newest first.', schema: z.object({ dead: z.array(deadSchema) }) } },
    handle: async ({ query }) => ({ status: 200, body: { dead: await rewards.dead(query.limit) } }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/rewards/dead/redrive',
    name: 'redriveRewards',
    tag: 'Rewards',
    summary: 'Try rewards again that were given up.',
    request: { body: redriveSchema },
    example: {},
    bodyOptional: true,
    answers: {
      200: { description: 'How many were put back.', schema: z.object({ redriven: z.int() }) },
    },
    handle: async ({ body }) => ({ status: 200, body: { redriven: await rewards.redrive(body.ids) } }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/rewards/{rewardId}',
    name: 'rewardStatus',
    tag: 'Rewards',
    summary: 'Was this reward learned?',
    request: { params: z.object({ rewardId }) },
    answers: { 200: { description: 'Where it stands.', schema: rewardStatusSchema } },
    problems: ['reward-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await rewards.status(params.rewardId) }),
  }),
];
