import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ToolsService } from '../services.ts';
import { toolParams, toolView, toolViewSchema } from '../wire/tool.ts';

export function getTool(tools: Pick<ToolsService, 'get'>): Endpoint {
  return endpoint({
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
      body: toolView(await tools.get(params.catalog, params.name)),
    }),
  });
}
