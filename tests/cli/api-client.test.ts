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
    { code: 'tool-not-found', detail: 'There is none.', suggestedFix: 'Put it.' },
  ]);
  await expect(api.get('/x')).rejects.toMatchObject({
    status: 404,
    code: 'tool-not-found',
    message: 'There is none. Put it.',
  });
});

it('lists everything that is wrong with what was sent', async () => {
  const violations = [
    { path: 'tools[0].name', message: 'must not be empty' },
    { path: 'tools[7].description', message: 'is required' },
  ];
  const api = await answering([
    422,
    { code: 'validation-failed', detail: 'tools[0].name: … (and 1 more in `violations`).', violations },
  ]);
  await expect(api.put('/x', {})).rejects.toThrow(
    '2 values are refused:\n  tools[0].name: must not be empty\n  tools[7].description: is required',
  );
});

it.each([1, 10, 12])('lists %d violations at a terminal, and does not speak of a list', async (count) => {
  const violations = Array.from({ length: count }, (_, at) => ({
    path: `tools[${at}].name`,
    message: 'is long',
  }));
  const suggestedFix = 'Mend what `violations` lists and send the request again.';
  const detail = 'tools[0].name: is long (and more in `violations`).';
  const answer: [number, unknown] = [422, { code: 'validation-failed', detail, suggestedFix, violations }];
  const api = await answering(answer, answer);
  const { message } = (await api.put('/x', {}).catch((error: Error) => error as Error)) as Error;
  const [head, ...lines] = message.split('\n');
  expect(head).toBe(count === 1 ? 'One value is refused:' : `${count} values are refused:`);
  const listed = violations.slice(0, 10).map(({ path }) => `  ${path}: is long`);
  expect(lines).toEqual(count === 12 ? [...listed, '  and 2 more'] : listed);
});

it.each([
  ['catalog-not-found', /^What is wrong\. .*bandolier import <file> --catalog <name>/],
  ['experiment-not-found', /^What is wrong\. .*bandolier experiment list/],
  ['no-winner', /^What is wrong\. .*bandolier experiment promote <name> <variant>/],
])('names the command that mends %s', async (code, message) => {
  const api = await answering([404, { code, detail: 'What is wrong.', suggestedFix: 'PUT it.' }]);
  await expect(api.get('/x')).rejects.toThrow(message);
});

it('says how to start a service where none answers', async () => {
  const api = new ApiClient('http://127.0.0.1:1');
  await expect(api.get('/livez')).rejects.toThrow(
    /No service answers at http:\/\/127\.0\.0\.1:1 .*bandolier serve/,
  );
});

it('keeps what a refusal says beside its values, in the options of the terminal', async () => {
  const api = await answering([
    422,
    {
      code: 'budget-too-small',
      detail: 'What has to be served takes 9 tokens; `tokenBudget` is 1.',
      suggestedFix: 'Send a `tokenBudget` of at least 9.',
      violations: [{ path: 'tokenBudget', message: 'must be at least 9' }],
    },
  ]);
  await expect(api.post('/v1/route', {})).rejects.toThrow(
    'What has to be served takes 9 tokens; `--budget` is 1.\nOne value is refused:\n  --budget: must be at least 9\nSend a `--budget` of at least 9.',
  );
});
