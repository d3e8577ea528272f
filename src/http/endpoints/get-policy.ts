import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { VersionsService } from '../services.ts';
import { policyVersionSchema, versionParams } from '../wire/policy-version.ts';

export function getPolicy(versions: Pick<VersionsService, 'get'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/policies/{version}',
    name: 'getPolicy',
    tag: 'Policies',
    summary: 'One version of the policy.',
    request: { params: versionParams },
    answers: { 200: { description: 'Its settings and what it learned.', schema: policyVersionSchema } },
    problems: ['catalog-not-found', 'version-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await versions.get(params.catalog, params.version) }),
  });
}
