import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { CatalogsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';

export function removeCatalog(catalogs: Pick<CatalogsService, 'remove'>): Endpoint {
  return endpoint({
    method: 'delete',
    path: '/v1/catalogs/{catalog}',
    name: 'removeCatalog',
    tag: 'Catalogs',
    summary: 'Delete a catalog and everything that was learned in it.',
    description: '`default` is emptied: it always exists.',
    request: { params: catalogParams },
    answers: { 204: { description: 'It is gone.' } },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => {
      await catalogs.remove(params.catalog);
      return { status: 204 };
    },
  });
}
