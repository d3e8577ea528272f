import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { VersionsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { policyVersionSchema } from '../wire/policy-version.ts';

export function listPolicies(versions: Pick<VersionsService, 'list'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/policies',
    name: 'listPolicies',
    tag: 'Policies',
    summary: 'The versions of the policy that are kept.',
    description: 'All of them go on learning, so going back to one loses nothing.',
    request: { params: catalogParams },
    answers: {
      200: {
        description: 'The one that was used last comes first.',
        schema: z.object({ policies: z.array(policyVersionSchema) }),
      },
    },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({ status: 200, body: { policies: await versions.list(params.catalog) } }),
  });
}
