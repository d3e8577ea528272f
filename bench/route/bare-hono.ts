/**
 * The least that a service on the same framework could do: read a routing request, validate it with the same
 * schema, and answer bytes that lie ready. Started by bench/route.ts: `bare-hono.ts <file with the answer>`.
 */
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { routeRequestSchema } from '../../src/http/wire/route-request.ts';

const answer = readFileSync(process.argv[2], 'utf8');
const app = new Hono();
app.post('/v1/route', async (context) => {
  routeRequestSchema.parse(await context.req.json());
  return context.body(answer, 200, { 'content-type': 'application/json' });
});
const server = createAdaptorServer({ fetch: app.fetch });
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.once('SIGTERM', () => process.exit(0));
