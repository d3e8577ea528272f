import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { RoutingService } from '../services.ts';
import { decisionExplanationSchema, decisionParams } from '../wire/decision.ts';

export function explainDecision(routing: Pick<RoutingService, 'explain'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/decisions/{decisionId}',
    name: 'explainDecision',
    tag: 'Routing',
    summary: 'Why were these tools shown?',
    description: 'Candidates with their features, scores and propensities, and what was reported since.',
    request: { params: decisionParams },
    answers: { 200: { description: 'The decision, explained.', schema: decisionExplanationSchema } },
    problems: ['decision-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await routing.explain(params.decisionId) }),
  });
}
