import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { CatalogsService } from '../services.ts';
import { catalogParams, catalogPatchSchema, catalogSchema } from '../wire/catalog.ts';
import { etag } from '../wire/headers.ts';

export function configureCatalog(catalogs: Pick<CatalogsService, 'configure'>): Endpoint {
  return endpoint({
    method: 'put',
    path: '/v1/catalogs/{catalog}',
    name: 'configureCatalog',
    tag: 'Catalogs',
    summary: 'Create a catalog, or change settings of one.',
    description: 'Settings that are left out stay as they are; `{}` creates a catalog with the defaults.',
    request: { params: catalogParams, body: catalogPatchSchema },
    answers: { 200: { description: 'The catalog as it is now.', schema: catalogSchema } },
    problems: ['unknown-policy'],
    handle: async ({ params, body }) => {
      const catalog = await catalogs.configure(params.catalog, body);
      return { status: 200, body: catalog, headers: etag(catalog.revision) };
    },
  });
}
