import { OpenAPIHono } from '@hono/zod-openapi';
import type { Endpoint } from './endpoint-definition.ts';

/** openapi.json (OpenAPI 3.1), made from the schemas that requests are checked with. */
export function openApiDocument(endpoints: readonly Endpoint[]): unknown {
  const app = new OpenAPIHono();
  for (const { documentation } of endpoints) app.openAPIRegistry.registerPath(documentation);
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
    tags: [
      { name: 'Routing', description: 'Ask for tools, and why it was these.' },
      { name: 'Rewards', description: 'Say what became of them.' },
      { name: 'Tools', description: 'What there is to route to.' },
      { name: 'Catalogs', description: 'Named sets of tools, each with its own learner.' },
      { name: 'Health', description: 'For those who operate it.' },
    ],
  });
}
