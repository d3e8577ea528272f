import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ToolsService } from '../services.ts';
import { changeHeaders, conditionsOf, etag } from '../wire/headers.ts';
import { toolChangesSchema, toolParams } from '../wire/tool.ts';

export function removeTool(tools: Pick<ToolsService, 'remove'>): Endpoint {
  return endpoint({
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
  });
}
