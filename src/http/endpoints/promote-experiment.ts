import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ExperimentsService } from '../services.ts';
import { experimentParams, movedExperimentSchema, promoteBody } from '../wire/experiment.ts';

export function promoteExperiment(experiments: Pick<ExperimentsService, 'change'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments/{name}/promote',
    name: 'promoteExperiment',
    tag: 'Experiments',
    summary: 'Make a variant the active policy.',
    description:
      'Without `variant` the winner; refused while there is none, and always under a sample-ratio mismatch.',
    request: { params: experimentParams, body: promoteBody },
    bodyOptional: true,
    answers: { 200: { description: 'The experiment as it is now.', schema: movedExperimentSchema } },
    problems: [
      'catalog-not-found',
      'experiment-not-found',
      'experiment-conflict',
      'sample-ratio-mismatch',
      'no-winner',
    ],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await experiments.change(
        params.catalog,
        params.name,
        { action: 'promote', variant: body.variant ?? null },
        body.actor,
      ),
    }),
  });
}
