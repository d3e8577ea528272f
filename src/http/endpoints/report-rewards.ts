import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { problemJson } from '../problem-json.ts';
import type { RewardsService } from '../services.ts';
import { problemSchema } from '../wire/problem.ts';
import { acceptedRewardSchema, MAX_REWARDS_PER_REQUEST, rewardReportSchema } from '../wire/reward.ts';

const requestSchema = z.strictObject({
  rewards: z.array(rewardReportSchema).min(1).max(MAX_REWARDS_PER_REQUEST),
});

const answerSchema = z.object({
  results: z
    .array(z.union([acceptedRewardSchema, problemSchema]))
    .meta({ description: 'One per reward, in the order of the request.' }),
});

export function reportRewards(rewards: Pick<RewardsService, 'report'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/rewards',
    name: 'reportRewards',
    tag: 'Rewards',
    summary: `What became of up to ${MAX_REWARDS_PER_REQUEST} decisions.`,
    description:
      'Rewards of one decision in one request are taken together. One that fails does not stop others.',
    request: { body: requestSchema },
    answers: { 202: { description: 'One result per reward.', schema: answerSchema } },
    handle: async ({ body }, requestId) => {
      const results = await rewards.report(body.rewards);
      const shown = results.map((result) =>
        'problem' in result ? problemJson(result.problem, requestId) : result,
      );
      return { status: 202, body: { results: shown } };
    },
  });
}
