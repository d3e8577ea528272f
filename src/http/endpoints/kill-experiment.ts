import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ExperimentsService } from '../services.ts';
import { experimentParams, killBody, movedExperimentSchema } from '../wire/experiment.ts';

export function killExperiment(experiments: Pick<ExperimentsService, 'change'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments/{name}/kill',
    name: 'killExperiment',
    tag: 'Experiments',
    summary: 'Serve retrieval order at once, for one variant or all.',
    description: 'The experiment goes on counting; stop it to end it.',
    request: { params: experimentParams, body: killBody },
    bodyOptional: true,
    answers: { 200: { description: 'The experiment as it is now.', schema: movedExperimentSchema } },
    problems: ['catalog-not-found', 'experiment-not-found', 'experiment-conflict'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await experiments.change(
        params.catalog,
        params.name,
        { action: 'kill', variant: body.variant ?? null },
        body.actor,
      ),
    }),
  });
}
