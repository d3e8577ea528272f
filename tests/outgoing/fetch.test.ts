import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { outgoingFetch } from '../../src/outgoing/fetch.ts';

it('asks a private host that is trusted, and no other one that it leads to', async () => {
  const server = createServer((_, response) => response.end('here'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const trusted = `http://127.0.0.1:${port}/mcp`;
  const rules = { allowPrivate: false, timeoutMs: 10_000, maxBytes: 1_000 };
  const asked = outgoingFetch({ ...rules, trusted });
  expect(await (await asked(`http://127.0.0.1:${port}/token`)).text()).toBe('here');
  const setting =
    /127\.0\.0\.2.* not allowed: the setting `allowPrivateHosts` \(BANDOLIER_ALLOW_PRIVATE_HOSTS=true\)/;
  await expect(asked(`http://127.0.0.2:${port}/`)).rejects.toThrow(setting);
  await expect(outgoingFetch(rules)(trusted)).rejects.toThrow(/not allowed/);
  server.close();
  server.closeAllConnections();
});
