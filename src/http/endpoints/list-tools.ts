import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ToolsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { etag } from '../wire/headers.ts';
import { pageQuery } from '../wire/page.ts';
import { toolPageSchema, toolView } from '../wire/tool.ts';

export function listTools(tools: Pick<ToolsService, 'list'>): Endpoint {
  return endpoint({
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
  });
}
