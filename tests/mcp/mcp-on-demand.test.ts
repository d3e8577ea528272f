import { expect, it, vi } from 'vitest';
import type { McpEndpoint } from '../../src/mcp/mcp-endpoint.ts';
import { McpOnDemand } from '../../src/mcp/mcp-on-demand.ts';

function endpoint() {
  const fetch = vi.fn(async () => new Response('answered'));
  return { fetch, mayHaveChanged: vi.fn(), endStreams: vi.fn(), close: vi.fn(async () => {}) };
}

const ask = (mcp: McpOnDemand) =>
  mcp.fetch(new Request('http://localhost/mcp'), { catalog: 'default', parsedBody: {}, remote: 'here' });

it('is loaded once by the first requests, also by two at once', async () => {
  const loaded = endpoint();
  const load = vi.fn(async () => loaded as unknown as McpEndpoint);
  const mcp = new McpOnDemand(load);
  mcp.mayHaveChanged('default');
  mcp.endStreams();
  expect(load).not.toHaveBeenCalled();
  const answers = await Promise.all([ask(mcp), ask(mcp)]);
  expect(await answers[1].text()).toBe('answered');
  await ask(mcp);
  expect(load).toHaveBeenCalledTimes(1);
  mcp.mayHaveChanged('default');
  expect(loaded.mayHaveChanged.mock.calls).toEqual([['default']]);
  await mcp.close();
  expect(loaded.close).toHaveBeenCalledTimes(1);
});

it('says that it could not be loaded, and tries again', async () => {
  const loaded = endpoint();
  const load = vi.fn(async () => loaded as unknown as McpEndpoint);
  load.mockRejectedValueOnce(new Error('Cannot find package'));
  const mcp = new McpOnDemand(load);
  const refused = await Promise.allSettled([ask(mcp), ask(mcp)]);
  for (const one of refused)
    expect(one).toMatchObject({
      reason: { code: 'internal', suggestedFix: expect.stringContaining('npm ci'), cause: expect.any(Error) },
    });
  expect((await ask(mcp)).status).toBe(200);
  expect(load).toHaveBeenCalledTimes(2);
});

it('ends what it is loaded for when the service closes meanwhile', async () => {
  const loaded = endpoint();
  let finish = (_: McpEndpoint): void => {};
  const mcp = new McpOnDemand(() => new Promise((resolve) => (finish = resolve)));
  await mcp.close();
  const asked = ask(mcp);
  mcp.endStreams();
  const closed = mcp.close();
  finish(loaded as unknown as McpEndpoint);
  await Promise.all([asked, closed]);
  expect(loaded.endStreams).toHaveBeenCalledTimes(1);
  expect(loaded.close).toHaveBeenCalledTimes(1);
});
