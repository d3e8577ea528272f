import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { CatalogsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { pinsViewSchema } from '../wire/pins.ts';

export function listPins(catalogs: Pick<CatalogsService, 'pins'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/pins',
    name: 'listPins',
    tag: 'Catalogs',
    summary: 'The tools that are pinned in every slate of a catalog.',
    request: { params: catalogParams },
    answers: { 200: { description: 'In the order of the slate.', schema: pinsViewSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({ status: 200, body: { pins: await catalogs.pins(params.catalog) } }),
  });
}
