import { z } from '@hono/zod-openapi';
import type { CatalogAdministration } from '../../catalog/catalog-administration.ts';
import type { Pins } from '../../catalog/pins.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import {
  catalogListSchema,
  catalogParams,
  catalogPatchSchema,
  catalogSchema,
  pinsSchema,
  pinsViewSchema,
} from '../wire/catalog.ts';
import { catalogName, etag } from '../wire/parameters.ts';

const digestSchema = z
  .object({
    position: z.int().meta({ description: 'Entries of the ledger that are in it.' }),
    sha256: z.string(),
  })
  .openapi('StateDigest');

export const catalogEndpoints = (catalogs: CatalogAdministration, pins: Pins): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/v1/catalogs',
    name: 'listCatalogs',
    tag: 'Catalogs',
    summary: 'All catalogs.',
    request: {},
    answers: { 200: { description: 'By name.', schema: catalogListSchema } },
    handle: async () => ({ status: 200, body: catalogs.list() }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}',
    name: 'getCatalog',
    tag: 'Catalogs',
    summary: 'One catalog with its settings.',
    request: { params: catalogParams },
    answers: { 200: { description: 'The catalog.', schema: catalogSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => {
      const catalog = catalogs.view(params.catalog);
      return { status: 200, body: catalog, headers: etag(catalog.revision) };
    },
  }),
  endpoint({
    method: 'put',
    path: '/v1/catalogs/{catalog}',
    name: 'configureCatalog',
    tag: 'Catalogs',
    summary: 'Create a catalog, or change settings of one.',
    description: 'Settings that are left out stay as they are; `{}` creates a catalog with the defaults.',
    request: { params: catalogParams, body: catalogPatchSchema },
    example: { rewards: { windowSeconds: 3600 } },
    answers: { 200: { description: 'The catalog as it is now.', schema: catalogSchema } },
    problems: ['unknown-policy'],
    handle: async ({ params, body }) => {
      const catalog = await catalogs.configure(params.catalog, body);
      return { status: 200, body: catalog, headers: etag(catalog.revision) };
    },
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/pins',
    name: 'listPins',
    tag: 'Catalogs',
    summary: 'The tools that are pinned in every slate of a catalog.',
    request: { params: catalogParams },
    answers: { 200: { description: 'In the order of the slate.', schema: pinsViewSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({ status: 200, body: { pins: pins.list(params.catalog) } }),
  }),
  endpoint({
    method: 'put',
    path: '/v1/catalogs/{catalog}/pins',
    name: 'setPins',
    tag: 'Catalogs',
    summary: 'Pin tools in every slate of a catalog.',
    description:
      'They come first in every slate, or in those for queries of one domain, after the pins of the request, until they end or are taken back. A request may still exclude them.',
    request: { params: catalogParams, body: pinsSchema },
    example: { pins: [{ tool: 'refund_payment' }] },
    answers: { 200: { description: 'The pins as they are now.', schema: pinsViewSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params, body }) => ({
      status: 200,
      body: { pins: await pins.set(params.catalog, body.pins) },
    }),
  }),
  endpoint({
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
  }),
  endpoint({
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
  }),
];
