import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { CatalogsService } from '../services.ts';
import { catalogName } from '../wire/names.ts';

const digestSchema = z
  .object({
    position: z.int().meta({ description: 'Entries of the ledger that are in it.' }),
    sha256: z.string(),
  })
  .openapi('StateDigest');

export function catalogDigest(catalogs: Pick<CatalogsService, 'digest'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/digest',
    name: 'catalogDigest',
    tag: 'Health',
    summary: 'Do all processes know the same?',
    description:
      'Processes at the same position answer the same digest. Nothing is learned while it is made.',
    request: { params: z.object({ catalog: catalogName }) },
    answers: { 200: { description: 'Of everything that is known here.', schema: digestSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await catalogs.digest(params.catalog) }),
  });
}
