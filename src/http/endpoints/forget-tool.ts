import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ToolsService } from '../services.ts';
import { forgottenSchema } from '../wire/forgotten.ts';
import { toolParams } from '../wire/tool.ts';

export function forgetTool(tools: Pick<ToolsService, 'forget'>): Endpoint {
  return endpoint({
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
  });
}
