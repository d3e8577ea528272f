import { createRoute, type RouteConfig } from '@hono/zod-openapi';
import type { ProblemCode } from '../problem.ts';
import type { AnswerNotes, EndpointDefinition, RequestParts } from './endpoint-definition.ts';
import { PROBLEM_MEDIA_TYPE, statusOf } from './problem-json.ts';
import { STREAM_MEDIA_TYPES } from './stream.ts';
import { problemSchema } from './wire/problem.ts';

/** What openapi.json says about an endpoint: its own words, and the problems that every endpoint shares. */
export function documentationOf<Parts extends RequestParts>(
  definition: EndpointDefinition<Parts>,
): RouteConfig {
  const { method, path, name, tag, summary, description, request } = definition;
  return createRoute({
    method,
    path,
    operationId: name,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    request: {
      ...(request.params && { params: request.params }),
      ...(request.query && { query: request.query }),
      ...(request.headers && { headers: request.headers }),
      ...(request.body && {
        body: {
          required: definition.bodyOptional !== true,
          content: { 'application/json': { schema: request.body } },
        },
      }),
    },
    responses: { ...problems(problemCodes(definition)), ...answers(definition.answers) },
  });
}

function problemCodes<Parts extends RequestParts>(definition: EndpointDefinition<Parts>): ProblemCode[] {
  const { request } = definition;
  const takesInput = Object.keys(request).length > 0;
  return [
    'malformed-request',
    'host-not-allowed',
    'origin-not-allowed',
    'method-not-allowed',
    'request-timeout',
    'expectation-failed',
    'headers-too-large',
    ...(definition.method === 'get' ? [] : (['unsupported-media-type'] as const)),
    ...(request.body ? (['body-too-large'] as const) : []),
    ...(takesInput ? (['validation-failed'] as const) : []),
    ...(definition.problems ?? []),
    'too-many-requests',
    'unavailable',
    'shutting-down',
  ];
}

function answers(notes: Readonly<Record<string, AnswerNotes>>): RouteConfig['responses'] {
  return Object.fromEntries(
    Object.entries(notes).map(([status, { description, schema, stream }]) => [
      status,
      { description, ...(schema && { content: { [mediaType(stream)]: { schema } } }) },
    ]),
  );
}

function mediaType(stream: AnswerNotes['stream']): string {
  return stream === undefined ? 'application/json' : STREAM_MEDIA_TYPES[stream];
}

function problems(codes: readonly ProblemCode[]): RouteConfig['responses'] {
  const statuses = [...new Set(codes.map(statusOf))];
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: codes
          .filter((code) => statusOf(code) === status)
          .map((code) => `\`${code}\``)
          .join(', '),
        content: { [PROBLEM_MEDIA_TYPE]: { schema: problemSchema } },
      },
    ]),
  );
}
