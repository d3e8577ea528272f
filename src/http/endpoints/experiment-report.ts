import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ExperimentsService } from '../services.ts';
import { experimentParams } from '../wire/experiment.ts';
import { experimentReportSchema } from '../wire/experiment-report.ts';

export function experimentReport(experiments: Pick<ExperimentsService, 'report'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/experiments/{name}/report',
    name: 'experimentReport',
    tag: 'Experiments',
    summary: 'Is a variant better?',
    description: 'The intervals are valid at every moment, so this may be asked as often as you like.',
    request: { params: experimentParams },
    answers: { 200: { description: 'Everything that can be said now.', schema: experimentReportSchema } },
    problems: ['catalog-not-found', 'experiment-not-found'],
    handle: async ({ params }) => ({
      status: 200,
      body: await experiments.report(params.catalog, params.name),
    }),
  });
}
