import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { RewardsService } from '../services.ts';
import { rewardId } from '../wire/names.ts';
import { rewardStatusSchema } from '../wire/reward.ts';

export function rewardStatus(rewards: Pick<RewardsService, 'status'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/rewards/{rewardId}',
    name: 'rewardStatus',
    tag: 'Rewards',
    summary: 'Was this reward learned?',
    request: { params: z.object({ rewardId }) },
    answers: { 200: { description: 'Where it stands.', schema: rewardStatusSchema } },
    problems: ['reward-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await rewards.status(params.rewardId) }),
  });
}
