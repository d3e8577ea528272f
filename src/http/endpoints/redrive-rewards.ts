import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { RewardsService } from '../services.ts';

const requestSchema = z.strictObject({
  ids: z
    .array(z.string().min(1).max(500))
    .min(1)
    .max(1000)
    .optional()
    .meta({ description: 'As `GET /v1/rewards/dead` lists them; all of them if left out.' }),
});

export function redriveRewards(rewards: Pick<RewardsService, 'redrive'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/rewards/dead/redrive',
    name: 'redriveRewards',
    tag: 'Rewards',
    summary: 'Try rewards again that were given up.',
    request: { body: requestSchema },
    bodyOptional: true,
    answers: {
      200: { description: 'How many were put back.', schema: z.object({ redriven: z.int() }) },
    },
    handle: async ({ body }) => ({ status: 200, body: { redriven: await rewards.redrive(body.ids) } }),
  });
}
