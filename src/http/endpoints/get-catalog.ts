import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { CatalogsService } from '../services.ts';
import { catalogParams, catalogSchema } from '../wire/catalog.ts';
import { etag } from '../wire/headers.ts';

export function getCatalog(catalogs: Pick<CatalogsService, 'get'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}',
    name: 'getCatalog',
    tag: 'Catalogs',
    summary: 'One catalog with its settings.',
    request: { params: catalogParams },
    answers: { 200: { description: 'The catalog.', schema: catalogSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => {
      const catalog = await catalogs.get(params.catalog);
      return { status: 200, body: catalog, headers: etag(catalog.revision) };
    },
  });
}
