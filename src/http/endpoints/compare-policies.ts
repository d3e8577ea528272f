import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { VersionsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { differencesQuery, differencesSchema } from '../wire/policy-version.ts';

export function comparePolicies(versions: Pick<VersionsService, 'differences'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/policies/differences',
    name: 'comparePolicies',
    tag: 'Policies',
    summary: 'What two versions of the policy have differently.',
    request: { params: catalogParams, query: differencesQuery },
    answers: {
      200: { description: 'Setting by setting, defaults filled in.', schema: differencesSchema },
    },
    problems: ['catalog-not-found', 'version-not-found'],
    handle: async ({ params, query }) => ({
      status: 200,
      body: await versions.differences(params.catalog, query.from, query.to),
    }),
  });
}
