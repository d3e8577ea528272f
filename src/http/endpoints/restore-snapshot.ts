import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { VersionsService } from '../services.ts';
import { changeBody } from '../wire/experiment.ts';
import { policyVersionSchema, snapshotParams } from '../wire/policy-version.ts';

export function restoreSnapshot(versions: Pick<VersionsService, 'restore'>): Endpoint {
  return endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/snapshots/{position}/restore',
    name: 'restoreSnapshot',
    tag: 'Policies',
    summary: 'Go back to the policy that was active when a snapshot was made.',
    description: 'What was observed since is not lost: that version has learned it too.',
    request: { params: snapshotParams, body: changeBody },
    bodyOptional: true,
    answers: { 200: { description: 'It is active.', schema: policyVersionSchema } },
    problems: ['catalog-not-found', 'snapshot-not-found', 'version-not-found'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await versions.restore(params.catalog, params.position, body.actor),
    }),
  });
}
