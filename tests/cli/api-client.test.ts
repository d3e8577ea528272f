import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { ApiClient } from '../../src/cli/api-client.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await once(server.close(), 'close');
  }
});

/** Answers each request with the next of these. */
async function answering(...answers: [status: number, body: unknown, headers?: Record<string, string>][]) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const [status, body, headers] = answers.shift() ?? [500, {}];
      response.writeHead(status, headers).end(JSON.stringify(body));
    });
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return new ApiClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

it('comes back when a busy service says so', async () => {
  const api = await answering(
    [503, {}, { 'retry-after': '0' }],
    [429, {}, { 'retry-after': '0' }],
    [200, { ok: 1 }],
  );
  expect(await api.post('/v1/route', {})).toEqual({ ok: 1 });
});

it('gives up with the problem in words', async () => {
  const api = await answering([
    404,
    { code: 'catalog-not-found', detail: 'There is none.', suggestedFix: 'Create it.' },
  ]);
  await expect(api.get('/x')).rejects.toMatchObject({
    status: 404,
    code: 'catalog-not-found',
    message: 'There is none. Create it.',
  });
});

it('says how to start a service where none answers', async () => {
  const api = new ApiClient('http://127.0.0.1:1');
  await expect(api.get('/livez')).rejects.toThrow(
    /No service answers at http:\/\/127\.0\.0\.1:1 .*bandolier serve/,
  );
});
