import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { EvaluationsService } from '../services.ts';
import { evaluationParams, evaluationSchema } from '../wire/evaluation.ts';

export function cancelEvaluation(evaluations: Pick<EvaluationsService, 'cancel'>): Endpoint {
  return endpoint({
    method: 'delete',
    path: '/v1/catalogs/{catalog}/evaluations/{id}',
    name: 'cancelEvaluation',
    tag: 'Evaluations',
    summary: 'Stop an evaluation that is queued or running.',
    request: { params: evaluationParams },
    answers: { 200: { description: 'As it is now.', schema: evaluationSchema } },
    problems: ['catalog-not-found', 'evaluation-not-found', 'evaluation-conflict'],
    handle: async ({ params }) => ({
      status: 200,
      body: await evaluations.cancel(params.catalog, params.id),
    }),
  });
}
