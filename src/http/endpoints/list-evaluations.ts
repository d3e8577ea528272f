import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { EvaluationsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { evaluationSchema } from '../wire/evaluation.ts';

export function listEvaluations(evaluations: Pick<EvaluationsService, 'list'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/evaluations',
    name: 'listEvaluations',
    tag: 'Evaluations',
    summary: 'The newest hundred evaluations of a catalog.',
    request: { params: catalogParams },
    answers: {
      200: { description: 'Newest first.', schema: z.object({ evaluations: z.array(evaluationSchema) }) },
    },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({
      status: 200,
      body: { evaluations: await evaluations.list(params.catalog) },
    }),
  });
}
