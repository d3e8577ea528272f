import { z } from '@hono/zod-openapi';
import type { Tools } from '../../catalog/tools.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { catalogParams, forgottenSchema } from '../wire/catalog.ts';
import { changeHeaders, conditionsOf, etag, pageQuery, putOrRemoved, toolName } from '../wire/parameters.ts';
import {
  conversionOf,
  standingQuery,
  standingSchema,
  TOOLS_BODY,
  toolChangesSchema,
  toolPageSchema,
  toolParams,
  toolStatsSchema,
  toolsSchema,
  toolView,
  toolViewSchema,
} from '../wire/tool.ts';

const TOOL = {
  name: 'refund_payment',
  description: 'Give a customer their money back for a payment.',
  inputSchema: { type: 'object', properties: { payment: { type: 'string' } }, required: ['payment'] },
};

const requestSchema = z
  .strictObject({
    put: toolsSchema.optional().meta({ description: 'Added, or changed if there is one of that name.' }),
    remove: z.array(toolName).optional().meta({ description: 'Names; unknown ones do no harm.' }),
  })
  .superRefine(putOrRemoved('name'));

export const toolEndpoints = (tools: Tools): Endpoint[] => [
  endpoint({
    method: 'put',
    path: '/v1/catalogs/{catalog}/tools',
    name: 'syncTools',
    tag: 'Tools',
    summary: 'Make the catalog hold exactly these tools.',
    description:
      'Tools that did not change cost nothing; what was learned about removed ones is kept for a while.',
    request: { params: catalogParams, headers: changeHeaders, body: z.strictObject({ tools: toolsSchema }) },
    example: { tools: [TOOL] },
    limits: TOOLS_BODY,
    fixFor: conversionOf,
    answers: { 200: { description: 'What changed.', schema: toolChangesSchema } },
    problems: ['catalog-not-found', 'revision-mismatch', 'idempotency-conflict', 'too-many-tools'],
    handle: async ({ params, headers, body }, { signal }) => {
      const options = { ...conditionsOf(headers), signal };
      const changes = await tools.sync(params.catalog, body.tools, options);
      return { status: 200, body: changes, headers: etag(changes.revision) };
    },
  }),
  endpoint({
    method: 'patch',
    path: '/v1/catalogs/{catalog}/tools',
    name: 'patchTools',
    tag: 'Tools',
    summary: 'Put some tools, remove some.',
    request: { params: catalogParams, headers: changeHeaders, body: requestSchema },
    example: { put: [TOOL], remove: ['old_refund'] },
    limits: TOOLS_BODY,
    fixFor: conversionOf,
    answers: { 200: { description: 'What changed.', schema: toolChangesSchema } },
    problems: ['catalog-not-found', 'revision-mismatch', 'idempotency-conflict', 'too-many-tools'],
    handle: async ({ params, headers, body }, { signal }) => {
      const changes = await tools.patch(params.catalog, body, { ...conditionsOf(headers), signal });
      return { status: 200, body: changes, headers: etag(changes.revision) };
    },
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/tools',
    name: 'listTools',
    tag: 'Tools',
    summary: 'The tools of a catalog, by name.',
    request: { params: catalogParams, query: pageQuery },
    answers: { 200: { description: 'One page.', schema: toolPageSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params, query }) => {
      const { revision, tools: page, nextCursor } = await tools.list(params.catalog, query);
      const body = { tools: page.map(toolView), nextCursor, revision };
      return { status: 200, body, headers: etag(revision) };
    },
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/tools/{name}',
    name: 'getTool',
    tag: 'Tools',
    summary: 'One tool.',
    request: { params: toolParams },
    answers: { 200: { description: 'The tool.', schema: toolViewSchema } },
    problems: ['catalog-not-found', 'tool-not-found'],
    handle: async ({ params }) => ({
      status: 200,
      body: toolView(tools.get(params.catalog, params.name)),
    }),
  }),
  endpoint({
    method: 'delete',
    path: '/v1/catalogs/{catalog}/tools/{name}',
    name: 'removeTool',
    tag: 'Tools',
    summary: 'Remove a tool.',
    description: 'What was learned about it is kept for a while and comes back with it.',
    request: { params: toolParams, headers: changeHeaders },
    answers: { 200: { description: 'What changed.', schema: toolChangesSchema } },
    problems: ['catalog-not-found', 'tool-not-found', 'revision-mismatch', 'idempotency-conflict'],
    handle: async ({ params, headers }) => {
      const changes = await tools.remove(params.catalog, params.name, conditionsOf(headers));
      return { status: 200, body: changes, headers: etag(changes.revision) };
    },
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/tools/{name}/stats',
    name: 'toolStats',
    tag: 'Tools',
    summary: 'How a tool has done.',
    request: { params: toolParams },
    answers: { 200: { description: 'Counts since it was first put.', schema: toolStatsSchema } },
    problems: ['catalog-not-found', 'tool-not-found'],
    handle: async ({ params }) => ({ status: 200, body: tools.statistics(params.catalog, params.name) }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/standing',
    name: 'toolStanding',
    tag: 'Tools',
    summary: 'How the tools of a catalog have done.',
    request: { params: catalogParams, query: standingQuery },
    answers: {
      200: { description: 'All together, and the first ones in this order.', schema: standingSchema },
    },
    problems: ['catalog-not-found'],
    handle: async ({ params, query }) => ({ status: 200, body: tools.standing(params.catalog, query) }),
  }),
  endpoint({
    method: 'delete',
    path: '/v1/catalogs/{catalog}/tools/{name}/memory',
    name: 'forgetTool',
    tag: 'Tools',
    summary: 'Erase what was learned about a tool.',
    description:
      'The tool stays. Its statistics and everything that is remembered of it go; weights that all tools share cannot be taken apart.',
    request: { params: toolParams },
    answers: { 200: { description: 'How much was erased.', schema: forgottenSchema } },
    problems: ['catalog-not-found', 'tool-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await tools.forget(params.catalog, params.name) }),
  }),
];
