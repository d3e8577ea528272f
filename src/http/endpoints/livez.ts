import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';

export function livez(): Endpoint {
  return endpoint({
    method: 'get',
    path: '/livez',
    name: 'livez',
    tag: 'Health',
    summary: 'Does the process answer?',
    request: {},
    answers: { 200: { description: 'It does.', schema: z.object({ alive: z.literal(true) }) } },
    handle: async () => ({ status: 200, body: { alive: true } }),
  });
}
