import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { RoutingService } from '../services.ts';
import { activationSchema, decisionParams } from '../wire/decision.ts';

export function activateDecision(routing: Pick<RoutingService, 'activate'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/decisions/{decisionId}/activate',
    name: 'activateDecision',
    tag: 'Routing',
    summary: 'The slate was really shown.',
    description: 'For decisions made with `activate: "later"`. Again: the first time stays.',
    request: { params: decisionParams },
    answers: { 200: { description: 'Rewards count from now on.', schema: activationSchema } },
    problems: ['decision-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await routing.activate(params.decisionId) }),
  });
}
