import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { RewardsService } from '../services.ts';

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

export function listDeadRewards(rewards: Pick<RewardsService, 'dead'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/rewards/dead',
    name: 'listDeadRewards',
    tag: 'Rewards',
    summary: 'Rewards that were given up after ten attempts.',
    description: 'Nothing of them is lost: mend what the error says, then `POST /v1/rewards/dead/redrive`.',
    request: { query: querySchema },
    answers: { 200: { description: 'Newest first.', schema: z.object({ dead: z.array(deadSchema) }) } },
    handle: async ({ query }) => ({ status: 200, body: { dead: await rewards.dead(query.limit) } }),
  });
}
