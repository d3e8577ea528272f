import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createRoute, OpenAPIHono, type RouteConfig } from '@hono/zod-openapi';
import type { ProblemCode } from '../errors/problem.ts';
import type { AnswerNotes, Endpoint, EndpointDefinition, RequestParts } from './endpoint-definition.ts';
import { PROBLEM_MEDIA_TYPE, PROBLEM_STATUS, problemSchema } from './problem-json.ts';
import { STREAM_MEDIA_TYPES } from './stream.ts';

/** What openapi.json says about an endpoint: its own words, and the problems that every endpoint shares. */
export function documentationOf<Parts extends RequestParts>(
  definition: EndpointDefinition<Parts>,
): RouteConfig {
  const { method, path, name, tag, summary, description, request, example } = definition;
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
          content: { 'application/json': { schema: request.body, example } },
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
    'unauthorized',
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
  const statuses = [...new Set(codes.map((code) => PROBLEM_STATUS[code]))];
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: codes
          .filter((code) => PROBLEM_STATUS[code] === status)
          .map((code) => `\`${code}\``)
          .join(', '),
        content: { [PROBLEM_MEDIA_TYPE]: { schema: problemSchema } },
      },
    ]),
  );
}

/** openapi.json (OpenAPI 3.1), made from the schemas that requests are checked with. */
export function openApiDocument(endpoints: readonly Endpoint[]): unknown {
  const app = new OpenAPIHono();
  for (const { documentation } of endpoints) app.openAPIRegistry.registerPath(documentation);
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', { type: 'http', scheme: 'bearer' });
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Bandolier',
      version: '1',
      description:
        'A tool router for LLM agents that learns online which tools are worth carrying in the context. ' +
        'Every failure is an `application/problem+json` with a `code` and a `suggestedFix`.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: '/' }],
    // None on a loopback address.
    security: [{}, { key: [] }],
    tags: [
      { name: 'Routing', description: 'Ask for tools, and why it was these.' },
      { name: 'Rewards', description: 'Say what became of them.' },
      { name: 'Tools', description: 'What there is to route to.' },
      { name: 'Instructions', description: 'Units of system prompts, chosen as tools are.' },
      { name: 'Context', description: 'What users have, and how they use it.' },
      { name: 'Sources', description: 'Where tools come from by themselves.' },
      { name: 'Merges', description: 'Tools that do the same, served as one.' },
      { name: 'Catalogs', description: 'Named sets of tools, each with its own learner.' },
      { name: 'Health', description: 'For those who operate it.' },
    ],
  });
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Bandolier API</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#swagger-ui', deepLinking: true, displayRequestDuration: true });
`;

/** Files of swagger-ui-dist that the page needs, with their media types. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

/** Swagger UI sets inline styles; scripts come from here alone, and nothing is sent anywhere else. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const JSON_TYPE = { 'content-type': 'application/json' };
/** What somebody reads who opens the address of the service. */
const WELCOME = {
  name: 'bandolier',
  what: 'A tool router for LLM agents that learns online which tools are worth carrying in the context.',
  documentation: '/docs',
  openapi: '/openapi.json',
  ready: '/readyz',
  catalogs: '/v1/catalogs',
  ask: 'POST /v1/route {"query": "I want my money back"}',
  report: 'POST /v1/decisions/{decisionId}/rewards {"tool": "refund_payment", "outcome": "success"}',
};

/** A page for readers: its own headers, and what it is. */
interface Page {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

export type MountPage = (path: string, make: () => Page | Promise<Page>) => void;

/** / says what this is. /openapi.json and /docs, from files on this machine: they work without a network. */
export function mountDocumentation(page: MountPage, document: () => unknown): void {
  page('/', () => ({ body: `${JSON.stringify(WELCOME, null, 2)}\n`, headers: JSON_TYPE }));
  page('/openapi.json', () => ({ body: JSON.stringify(document()), headers: JSON_TYPE }));
  page('/docs', () => ({
    body: PAGE,
    headers: {
      'content-type': 'text/html; charset=UTF-8',
      'content-security-policy': CONTENT_SECURITY_POLICY,
    },
  }));
  page('/docs/start.js', () => ({ body: START, headers: { 'content-type': 'text/javascript' } }));
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  for (const [file, mediaType] of Object.entries(ASSETS)) {
    page(`/docs/${file}`, async () => ({
      body: new Uint8Array(await readFile(join(folder, file))),
      headers: { 'content-type': mediaType, 'cache-control': 'public, max-age=86400' },
    }));
  }
}
