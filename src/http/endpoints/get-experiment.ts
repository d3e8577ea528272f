import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ExperimentsService } from '../services.ts';
import { experimentParams, experimentSchema } from '../wire/experiment.ts';

export function getExperiment(experiments: Pick<ExperimentsService, 'get'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/experiments/{name}',
    name: 'getExperiment',
    tag: 'Experiments',
    summary: 'One experiment with its history.',
    request: { params: experimentParams },
    answers: { 200: { description: 'As it is now.', schema: experimentSchema } },
    problems: ['catalog-not-found', 'experiment-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await experiments.get(params.catalog, params.name) }),
  });
}
