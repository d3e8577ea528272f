import { z } from '@hono/zod-openapi';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';

const readinessSchema = z.object({
  ready: z.boolean(),
  checks: z.record(z.string(), z.object({ ok: z.boolean(), detail: z.string() })),
});

export type Readiness = z.output<typeof readinessSchema>;

/** How the process is, for the machinery around it. */
export interface Health {
  ready(): Promise<Readiness>;
  /** Prometheus text. */
  metrics(): Promise<string>;
}

export const healthEndpoints = (health: Health): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/livez',
    name: 'livez',
    tag: 'Health',
    summary: 'Does the process answer?',
    request: {},
    answers: { 200: { description: 'It does.', schema: z.object({ alive: z.literal(true) }) } },
    handle: async () => ({ status: 200, body: { alive: true } }),
  }),
  endpoint({
    method: 'get',
    path: '/readyz',
    name: 'readyz',
    tag: 'Health',
    summary: 'Should requests be sent here?',
    request: {},
    answers: {
      200: { description: 'Yes.', schema: readinessSchema },
      503: { description: 'No; `checks` says why.', schema: readinessSchema },
    },
    handle: async () => {
      const readiness = await health.ready();
      return { status: readiness.ready ? 200 : 503, body: readiness };
    },
  }),
];
