import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { RewardsService } from '../services.ts';
import { catalogName } from '../wire/names.ts';
import { rewardHealthSchema } from '../wire/reward-health.ts';

export function rewardHealth(rewards: Pick<RewardsService, 'health'>): Endpoint {
  return endpoint({
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
  });
}
