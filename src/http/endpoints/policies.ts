import { z } from '@hono/zod-openapi';
import type { PolicyVersions } from '../../experiments/policy-versions.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { catalogParams } from '../wire/catalog.ts';
import { changeBody } from '../wire/experiment.ts';
import {
  differencesQuery,
  differencesSchema,
  policyVersionSchema,
  snapshotParams,
  snapshotSchema,
  versionParams,
} from '../wire/policy-version.ts';

export const policyEndpoints = (versions: PolicyVersions): Endpoint[] => [
  endpoint({
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
    handle: async ({ params }) => ({ status: 200, body: { policies: versions.list(params.catalog) } }),
  }),
  endpoint({
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
      body: versions.differences(params.catalog, query.from, query.to),
    }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/policies/{version}',
    name: 'getPolicy',
    tag: 'Policies',
    summary: 'One version of the policy.',
    request: { params: versionParams },
    answers: { 200: { description: 'Its settings and what it learned.', schema: policyVersionSchema } },
    problems: ['catalog-not-found', 'version-not-found'],
    handle: async ({ params }) => ({ status: 200, body: versions.get(params.catalog, params.version) }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/policies/{version}/activate',
    name: 'activatePolicy',
    tag: 'Policies',
    summary: 'Make a version the active one: roll back, or forward again.',
    description: 'It went on learning while it was not in use: observations that came later are in it.',
    request: { params: versionParams, body: changeBody },
    example: { actor: 'anna' },
    bodyOptional: true,
    answers: { 200: { description: 'It is active.', schema: policyVersionSchema } },
    problems: ['catalog-not-found', 'version-not-found'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await versions.activate(params.catalog, params.version, body.actor),
    }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/snapshots',
    name: 'listSnapshots',
    tag: 'Policies',
    summary: 'The snapshots of a catalog that are kept.',
    request: { params: catalogParams },
    answers: {
      200: { description: 'Newest first.', schema: z.object({ snapshots: z.array(snapshotSchema) }) },
    },
    problems: ['catalog-not-found'],
    handle: async ({ params }, { signal }) => ({
      status: 200,
      body: { snapshots: await versions.snapshots(params.catalog, signal) },
    }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/snapshots/{position}/restore',
    name: 'restoreSnapshot',
    tag: 'Policies',
    summary: 'Go back to the policy that was active when a snapshot was made.',
    description: 'What was observed since is not lost: that version has learned it too.',
    request: { params: snapshotParams, body: changeBody },
    example: { actor: 'anna' },
    bodyOptional: true,
    answers: { 200: { description: 'It is active.', schema: policyVersionSchema } },
    problems: ['catalog-not-found', 'snapshot-not-found', 'version-not-found'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: await versions.restore(params.catalog, params.position, body.actor),
    }),
  }),
];
