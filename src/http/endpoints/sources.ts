import type { Sources } from '../../sources/sources.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { catalogParams } from '../wire/catalog.ts';
import { etag } from '../wire/parameters.ts';
import {
  approvalSchema,
  definitionOf,
  removeSourceQuery,
  sourceDefinitionSchema,
  sourceListSchema,
  sourceParams,
  sourceSchema,
  sourceView,
  wholeSourceSchema,
  wholeSourceView,
} from '../wire/source.ts';
import { toolChangesSchema } from '../wire/tool.ts';

export const sourceEndpoints = (sources: Sources): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/sources',
    name: 'listSources',
    tag: 'Sources',
    summary: 'Where the tools of a catalog come from.',
    request: { params: catalogParams },
    answers: { 200: { description: 'By name.', schema: sourceListSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({
      status: 200,
      body: { sources: sources.list(params.catalog).map(sourceView) },
    }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/sources/{name}',
    name: 'getSource',
    tag: 'Sources',
    summary: 'One source: what it could not put, and what waits for approval.',
    request: { params: sourceParams },
    answers: { 200: { description: 'The source.', schema: wholeSourceSchema } },
    problems: ['catalog-not-found', 'source-not-found'],
    handle: async ({ params }) => ({
      status: 200,
      body: wholeSourceView(sources.get(params.catalog, params.name)),
    }),
  }),
  endpoint({
    method: 'put',
    path: '/v1/catalogs/{catalog}/sources/{name}',
    name: 'putSource',
    tag: 'Sources',
    summary: 'Have tools read from a server, a document or a folder.',
    description:
      'It is read at once and then again and again; until it was read its `status` is `waiting`, and then `GET` says how that went. The same definition again changes nothing. Another definition replaces the one before, and its tools stay until the next sync.',
    request: { params: sourceParams, body: sourceDefinitionSchema },
    example: { kind: 'openapi', url: 'https://api.example.com/openapi.json' },
    answers: {
      200: { description: 'It was there already; as it is now.', schema: sourceSchema },
      201: { description: 'It was added.', schema: sourceSchema },
    },
    problems: ['catalog-not-found'],
    handle: async ({ params, body }) => {
      const { source, added } = await sources.put(params.catalog, params.name, definitionOf(body));
      return { status: added ? 201 : 200, body: sourceView(source) };
    },
  }),
  endpoint({
    method: 'delete',
    path: '/v1/catalogs/{catalog}/sources/{name}',
    name: 'removeSource',
    tag: 'Sources',
    summary: 'Remove a source, and its tools with it.',
    description: 'What was learned about its tools is kept for a while, and comes back with them.',
    request: { params: sourceParams, query: removeSourceQuery },
    answers: { 204: { description: 'It is gone.' } },
    problems: ['catalog-not-found', 'source-not-found'],
    handle: async ({ params, query }) => {
      await sources.remove(params.catalog, params.name, query.tools === 'keep');
      return { status: 204 };
    },
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/sources/{name}/sync',
    name: 'syncSource',
    tag: 'Sources',
    summary: 'Read a source now.',
    description: 'It is answered when the sync has ended, well or not: `status` says how it went.',
    request: { params: sourceParams },
    answers: { 200: { description: 'The source after the sync.', schema: sourceSchema } },
    problems: ['catalog-not-found', 'source-not-found'],
    handle: async ({ params }, { signal }) => ({
      status: 200,
      body: sourceView(await sources.sync(params.catalog, params.name, signal)),
    }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/catalogs/{catalog}/sources/{name}/approve',
    name: 'approveDefinitions',
    tag: 'Sources',
    summary: 'Serve definitions that were held back.',
    request: { params: sourceParams, body: approvalSchema },
    example: { tools: ['refund_payment'] },
    bodyOptional: true,
    answers: { 200: { description: 'What changed.', schema: toolChangesSchema } },
    problems: ['catalog-not-found', 'source-not-found', 'tool-not-found'],
    handle: async ({ params, body }) => {
      const changes = await sources.approve(params.catalog, params.name, body.tools);
      return { status: 200, body: changes, headers: etag(changes.revision) };
    },
  }),
];
