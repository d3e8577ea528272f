import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { VersionsService } from '../services.ts';
import { changeBody } from '../wire/experiment.ts';
import { policyVersionSchema, versionParams } from '../wire/policy-version.ts';

export function activatePolicy(versions: Pick<VersionsService, 'activate'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/policies/{version}/activate',
    name: 'activatePolicy',
    tag: 'Policies',
    summary: 'Make a version the active one: roll back, or forward again.',
    description: 'It went on learning while it was not in use: observations that came later are in it.',
    request: { params: versionParams, body: changeBody },
    bodyOptional: true,
    answers: { 200: { description: 'It is active.', schema: policyVersionSchema } },
    problems: ['catalog-not-found', 'version-not-found'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await versions.activate(params.catalog, params.version, body.actor),
    }),
  });
}
