import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { RewardsService } from '../services.ts';
import { decisionParams } from '../wire/decision.ts';
import { idempotencyHeaders } from '../wire/headers.ts';
import { acceptedRewardSchema, outcomeSchema } from '../wire/reward.ts';

export function reportOutcome(rewards: Pick<RewardsService, 'report'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/decisions/{decisionId}/rewards',
    name: 'reportOutcome',
    tag: 'Rewards',
    summary: 'What became of a decision.',
    description: 'Answered as soon as the reward cannot be lost; it is learned a moment later.',
    request: { params: decisionParams, headers: idempotencyHeaders, body: outcomeSchema },
    answers: { 202: { description: 'Accepted.', schema: acceptedRewardSchema } },
    problems: ['decision-not-found', 'reward-late'],
    handle: async ({ params, headers, body }) => {
      const idempotencyKey = body.idempotencyKey ?? headers['idempotency-key'];
      const report = { ...body, ...params, ...(idempotencyKey !== undefined && { idempotencyKey }) };
      const [result] = await rewards.report([report]);
      if ('problem' in result) throw result.problem;
      return { status: 202, body: result };
    },
  });
}
