import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { RoutingService } from '../services.ts';
import { idempotencyHeaders } from '../wire/headers.ts';
import { routeAnswerSchema, routeRequestSchema } from '../wire/route.ts';

export function route(routing: Pick<RoutingService, 'route'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/route',
    name: 'route',
    tag: 'Routing',
    summary: 'Which tools are worth carrying for this query?',
    description:
      'Answers a slate of `k` tools and records the decision. Report outcomes with its `decisionId`.',
    request: { headers: idempotencyHeaders, body: routeRequestSchema },
    answers: { 200: { description: 'The slate.', schema: routeAnswerSchema } },
    problems: ['catalog-not-found', 'idempotency-conflict'],
    handle: async ({ headers, body }) => {
      const idempotencyKey = headers['idempotency-key'];
      return {
        status: 200,
        body: await routing.route(body, idempotencyKey === undefined ? {} : { idempotencyKey }),
      };
    },
  });
}
