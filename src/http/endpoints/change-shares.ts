import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ExperimentsService } from '../services.ts';
import { experimentParams, movedExperimentSchema, sharesBody } from '../wire/experiment.ts';

export function changeShares(experiments: Pick<ExperimentsService, 'changeShares'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments/{name}/shares',
    name: 'changeShares',
    tag: 'Experiments',
    summary: 'Change the shares of the variants.',
    description: 'Moves as few units as possible, and says how many; comparisons start a new period.',
    request: { params: experimentParams, body: sharesBody },

    answers: { 200: { description: 'The experiment as it is now.', schema: movedExperimentSchema } },
    problems: ['catalog-not-found', 'experiment-not-found', 'experiment-conflict'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await experiments.changeShares(params.catalog, params.name, body.shares, body.actor),
    }),
  });
}
