import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { ToolsService } from '../services.ts';
import { catalogParams } from '../wire/catalog.ts';
import { changeHeaders, conditionsOf, etag } from '../wire/headers.ts';
import { toolName } from '../wire/names.ts';
import { TOOLS_BODY, toolChangesSchema, toolsSchema } from '../wire/tool.ts';

const requestSchema = z
  .strictObject({
    put: toolsSchema.optional().meta({ description: 'Added, or changed if there is one of that name.' }),
    remove: z.array(toolName).optional().meta({ description: 'Names; unknown ones do no harm.' }),
  })
  .superRefine(({ put = [], remove = [] }, context) => {
    const names = new Set(put.map(({ name }) => name));
    for (const [index, name] of remove.entries()) {
      if (!names.has(name)) continue;
      context.addIssue({ code: 'custom', path: ['remove', index], message: 'is in `put` as well' });
    }
  });

export function patchTools(tools: Pick<ToolsService, 'patch'>): Endpoint {
  return endpoint({
    method: 'patch',
    path: '/v1/catalogs/{catalog}/tools',
    name: 'patchTools',
    tag: 'Tools',
    summary: 'Put some tools, remove some.',
    request: { params: catalogParams, headers: changeHeaders, body: requestSchema },
    limits: TOOLS_BODY,
    answers: { 200: { description: 'What changed.', schema: toolChangesSchema } },
    problems: ['catalog-not-found', 'revision-mismatch', 'idempotency-conflict', 'too-many-tools'],
    handle: async ({ params, headers, body }) => {
      const changes = await tools.patch(params.catalog, body, conditionsOf(headers));
      return { status: 200, body: changes, headers: etag(changes.revision) };
    },
  });
}
