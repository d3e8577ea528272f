import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ToolsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { changeHeaders, conditionsOf, etag } from '../wire/headers.ts';
import { TOOLS_BODY, toolChangesSchema, toolsSchema } from '../wire/tool.ts';

export function syncTools(tools: Pick<ToolsService, 'sync'>): Endpoint {
  return endpoint({
    method: 'put',
    path: '/v1/catalogs/{catalog}/tools',
    name: 'syncTools',
    tag: 'Tools',
    summary: 'Make the catalog hold exactly these tools.',
    description:
      'Tools that did not change cost nothing; what was learned about removed ones is kept for a while.',
    request: { params: catalogParams, headers: changeHeaders, body: z.strictObject({ tools: toolsSchema }) },
    limits: TOOLS_BODY,
    answers: { 200: { description: 'What changed.', schema: toolChangesSchema } },
    problems: ['catalog-not-found', 'revision-mismatch', 'idempotency-conflict', 'too-many-tools'],
    handle: async ({ params, headers, body }) => {
      const changes = await tools.sync(params.catalog, body.tools, conditionsOf(headers));
      return { status: 200, body: changes, headers: etag(changes.revision) };
    },
  });
}
