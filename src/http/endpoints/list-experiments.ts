import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ExperimentsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { experimentSchema } from '../wire/experiment.ts';

export function listExperiments(experiments: Pick<ExperimentsService, 'list'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/experiments',
    name: 'listExperiments',
    tag: 'Experiments',
    summary: 'All experiments of a catalog.',
    request: { params: catalogParams },
    answers: {
      200: { description: 'Oldest first.', schema: z.object({ experiments: z.array(experimentSchema) }) },
    },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({
      status: 200,
      body: { experiments: await experiments.list(params.catalog) },
    }),
  });
}
