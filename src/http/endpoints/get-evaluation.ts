import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { EvaluationsService } from '../services.ts';
import { evaluationParams, evaluationSchema } from '../wire/evaluation.ts';

export function getEvaluation(evaluations: Pick<EvaluationsService, 'get'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/evaluations/{id}',
    name: 'getEvaluation',
    tag: 'Evaluations',
    summary: 'One evaluation: how far it is, and what it found.',
    request: { params: evaluationParams },
    answers: { 200: { description: 'As it is now.', schema: evaluationSchema } },
    problems: ['catalog-not-found', 'evaluation-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await evaluations.get(params.catalog, params.id) }),
  });
}
