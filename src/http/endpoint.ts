import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Violation } from '../problem.ts';
import type { Endpoint, EndpointDefinition, RequestInput, RequestParts } from './endpoint-definition.ts';
import { documentationOf } from './endpoint-documentation.ts';
import { DEFAULT_BODY_LIMIT, invalid, readJsonBody } from './json-body.ts';
import { jsonPath } from './json-guard.ts';

/** At most this many violations are listed; the last one then says how many more there are. */
const MAX_VIOLATIONS = 200;

export function endpoint<Parts extends RequestParts>(definition: EndpointDefinition<Parts>): Endpoint {
  return {
    documentation: documentationOf(definition),
    method: definition.method.toUpperCase(),
    path: definition.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    respond: async (context) => {
      const answer = await definition.handle(await readInput(definition, context), context.var.requestId);
      context.var.announce?.(answer.body);
      if (answer.body === undefined) return context.body(null, 204, { ...answer.headers });
      const headers = { 'content-type': 'application/json', ...answer.headers };
      return context.body(JSON.stringify(answer.body), answer.status as 200, headers);
    },
  };
}

async function readInput<Parts extends RequestParts>(
  definition: EndpointDefinition<Parts>,
  context: Context,
): Promise<RequestInput<Parts>> {
  const { params, query, headers, body } = definition.request;
  const violations: Violation[] = [];
  const input = {
    params: params && check(params, context.req.param(), violations),
    query: query && check(query, singleValues(context.req.queries()), violations),
    headers: headers && check(headers, pick(headers, context), violations),
    body: body && check(body, await readBody(definition, context), violations),
  };
  if (violations.length > 0) throw invalid(shortened(violations));
  return input as RequestInput<Parts>;
}

async function readBody<Parts extends RequestParts>(definition: EndpointDefinition<Parts>, context: Context) {
  const body = await readJsonBody(context.req, definition.bodyLimit ?? DEFAULT_BODY_LIMIT, {
    optional: definition.bodyOptional === true,
  });
  definition.refuse?.(body);
  return body;
}

function check(schema: z.ZodType, value: unknown, violations: Violation[]): unknown {
  const parsed = schema.safeParse(value);
  for (const issue of parsed.error?.issues ?? []) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        violations.push({ path: jsonPath([...issue.path, key]), message: 'is not known here' });
      }
    } else {
      violations.push({ path: jsonPath(issue.path) || '(root)', message: issue.message });
    }
  }
  return parsed.data;
}

function shortened(violations: Violation[]): Violation[] {
  if (violations.length <= MAX_VIOLATIONS) return violations;
  const more = violations.length - MAX_VIOLATIONS;
  return [...violations.slice(0, MAX_VIOLATIONS), { path: '…', message: `and ${more} more` }];
}

/** A parameter given twice stays a list, which no schema accepts. */
function singleValues(queries: Record<string, string[]>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(queries).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}

function pick(schema: z.ZodObject, context: Context): Record<string, string | undefined> {
  return Object.fromEntries(Object.keys(schema.shape).map((name) => [name, context.req.header(name)]));
}
