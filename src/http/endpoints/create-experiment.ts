import { Problem } from '../../problem.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ExperimentsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { experimentDraftSchema, experimentSchema } from '../wire/experiment.ts';

export function createExperiment(experiments: Pick<ExperimentsService, 'create'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/experiments',
    name: 'createExperiment',
    tag: 'Experiments',
    summary: 'Create an experiment. Nothing happens until it is started.',
    request: { params: catalogParams, body: experimentDraftSchema },
    answers: { 201: { description: 'The draft, with every default filled in.', schema: experimentSchema } },
    problems: ['catalog-not-found', 'experiment-exists', 'unknown-policy', 'evaluation-not-found'],
    handle: async ({ params, body }) => {
      const { catalog = params.catalog, actor, ...draft } = body;
      if (catalog !== params.catalog) throw otherCatalog(catalog, params.catalog);
      return { status: 201, body: await experiments.create(catalog, draft, actor) };
    },
  });
}

function otherCatalog(named: string, addressed: string): Problem {
  const message = `is "${named}", but the path says "${addressed}"`;
  return new Problem('validation-failed', `catalog: ${message}.`, 'Leave it out, or use the same name.', {
    violations: [{ path: 'catalog', message }],
  });
}
