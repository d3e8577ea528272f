import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { EvaluationsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { evaluationDraftSchema, evaluationSchema } from '../wire/evaluation.ts';

export function createEvaluation(evaluations: Pick<EvaluationsService, 'create'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/evaluations',
    name: 'createEvaluation',
    tag: 'Evaluations',
    summary: 'What would these policies have earned on the decisions that were logged?',
    description: 'A job in the background; ask for it until it has ended.',
    request: { params: catalogParams, body: evaluationDraftSchema },
    answers: { 202: { description: 'Queued.', schema: evaluationSchema } },
    problems: ['catalog-not-found', 'unknown-policy'],
    handle: async ({ params, body }) => ({
      status: 202,
      body: await evaluations.create(params.catalog, body),
    }),
  });
}
