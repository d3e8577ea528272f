import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { CatalogsService } from '../services.ts';
import { catalogSchema } from '../wire/catalog.ts';

export function listCatalogs(catalogs: Pick<CatalogsService, 'list'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs',
    name: 'listCatalogs',
    tag: 'Catalogs',
    summary: 'All catalogs.',
    request: {},
    answers: { 200: { description: 'By name.', schema: z.object({ catalogs: z.array(catalogSchema) }) } },
    handle: async () => ({ status: 200, body: { catalogs: await catalogs.list() } }),
  });
}
