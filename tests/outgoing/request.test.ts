import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { ask } from '../../src/outgoing/request.ts';

it('sends what may be a key to no other host than the one that it is for', async () => {
  const got: { url: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    got.push({ url, headers });
    const { port } = server.address() as AddressInfo;
    const location = { '/own': '/there', '/there': `http://localhost:${port}/foreign` }[url];
    if (location === undefined) response.end('{}');
    else response.writeHead(302, { location }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const keys = { authorization: 'Bearer k', Cookie: 'k', 'X-Api-Key': 'k', 'private-token': 'k' };
    const headers = { ...keys, Range: 'bytes=5-', accept: 'application/json' };
    const response = await ask(`http://127.0.0.1:${port}/own`, {
      ...{ headers, timeoutMs: 10_000, allowPrivate: true, redirects: 2 },
    });
    response.resume();
    expect(got.map(({ url }) => url)).toEqual(['/own', '/there', '/foreign']);
    const [own, there, foreign] = got.map(({ headers }) => headers);
    for (const known of [own, there]) expect(known).toMatchObject({ cookie: 'k', 'x-api-key': 'k' });
    expect(foreign).toMatchObject({ range: 'bytes=5-', accept: 'application/json' });
    expect(Object.values(foreign).join()).not.toMatch(/\bk\b/);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
