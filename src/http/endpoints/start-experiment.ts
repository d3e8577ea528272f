import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ExperimentsService } from '../services.ts';
import { changeBody, experimentParams, movedExperimentSchema } from '../wire/experiment.ts';

export function startExperiment(experiments: Pick<ExperimentsService, 'change'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments/{name}/start',
    name: 'startExperiment',
    tag: 'Experiments',
    summary: 'Let units in.',
    description: 'Every variant gets its learner now.',
    request: { params: experimentParams, body: changeBody },
    bodyOptional: true,
    answers: { 200: { description: 'The experiment as it is now.', schema: movedExperimentSchema } },
    problems: ['catalog-not-found', 'experiment-not-found', 'experiment-conflict', 'experiment-overlap'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await experiments.change(params.catalog, params.name, { action: 'start' }, body.actor),
    }),
  });
}
