import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { VersionsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { snapshotSchema } from '../wire/policy-version.ts';

export function listSnapshots(versions: Pick<VersionsService, 'snapshots'>): Endpoint {
  return endpoint({
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
    handle: async ({ params }) => ({
      status: 200,
      body: { snapshots: await versions.snapshots(params.catalog) },
    }),
  });
}
