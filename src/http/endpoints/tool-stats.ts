import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ToolsService } from '../services.ts';
import { toolParams, toolStatsSchema } from '../wire/tool.ts';

export function toolStats(tools: Pick<ToolsService, 'stats'>): Endpoint {
  return endpoint({
    method: 'get',
    path: '/v1/catalogs/{catalog}/tools/{name}/stats',
    name: 'toolStats',
    tag: 'Tools',
    summary: 'How a tool has done.',
    request: { params: toolParams },
    answers: { 200: { description: 'Counts since it was first put.', schema: toolStatsSchema } },
    problems: ['catalog-not-found', 'tool-not-found'],
    handle: async ({ params }) => ({ status: 200, body: await tools.stats(params.catalog, params.name) }),
  });
}
