import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ExperimentsService } from '../services.ts';
import { changeBody, experimentParams, movedExperimentSchema } from '../wire/experiment.ts';

export function stopExperiment(experiments: Pick<ExperimentsService, 'change'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments/{name}/stop',
    name: 'stopExperiment',
    tag: 'Experiments',
    summary: 'End it: everybody gets the active policy again.',
    description: 'What was counted stays and can still be promoted.',
    request: { params: experimentParams, body: changeBody },
    bodyOptional: true,
    answers: { 200: { description: 'The experiment as it is now.', schema: movedExperimentSchema } },
    problems: ['catalog-not-found', 'experiment-not-found', 'experiment-conflict'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await experiments.change(params.catalog, params.name, { action: 'stop' }, body.actor),
    }),
  });
}
