import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { CatalogsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { pinsSchema, pinsViewSchema } from '../wire/pins.ts';

export function setPins(catalogs: Pick<CatalogsService, 'setPins'>): Endpoint {
  return endpoint({
    method: 'put',
    path: '/v1/catalogs/{catalog}/pins',
    name: 'setPins',
    tag: 'Catalogs',
    summary: 'Pin tools in every slate of a catalog.',
    description:
      'They come first in every slate, after the pins of the request, until they end or are taken back. A request may still exclude them.',
    request: { params: catalogParams, body: pinsSchema },
    answers: { 200: { description: 'The pins as they are now.', schema: pinsViewSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: { pins: await catalogs.setPins(params.catalog, body.pins) },
    }),
  });
}
