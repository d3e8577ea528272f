import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf, ERAS, type Era, httpTransport, type McpClient } from '../set-up/mcp-clients.ts';
import { RunningService, temporaryFolder, until } from './running-service.ts';

const folder = temporaryFolder();
let service: RunningService;
const clients: McpClient[] = [];

beforeAll(async () => {
  service = await RunningService.start(folder.path, ['--sample']);
});

afterAll(async () => {
  for (const client of clients) await client.close();
  await service?.stop();
  folder.remove();
});

async function connected(era: Era, path = '/mcp'): Promise<McpClient> {
  const client = clientOf(era);
  await client.connect(httpTransport(era, service.url + path));
  clients.push(client);
  return client;
}

interface Found {
  readonly decisionId: string;
  readonly tools: readonly { readonly name: string }[];
}

async function find(client: McpClient, query: string): Promise<Found> {
  const { structuredContent } = await client.callTool({ name: 'find_tools', arguments: { query } });
  return structuredContent as unknown as Found;
}

describe.each(ERAS)('a client of revision %s', (era) => {
  it('lists four tools that are described from the catalog', async () => {
    const client = await connected(era);
    expect(client.getServerVersion()).toMatchObject({ name: 'bandolier' });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'find_tools',
      'describe_tool',
      'call_tool',
      'report_outcome',
    ]);
    expect(tools[0].description).toContain('150 tools');
    expect(tools[2].annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
  });

  it('finds tools, has one described, and reports what became of it', async () => {
    const client = await connected(era);
    const { decisionId, tools } = await find(client, 'the customer wants their money back');
    expect(tools).toHaveLength(5);
    const [{ name }] = tools;
    const described = await client.callTool({ name: 'describe_tool', arguments: { name } });
    expect(described.structuredContent).toMatchObject({ name, callable: false });
    const reported = await client.callTool({
      name: 'report_outcome',
      arguments: { tool: name, outcome: 'success' },
    });
    // Without a decisionId it counts for the newest answer of this client that had the tool.
    expect(reported.structuredContent).toMatchObject({ decisionId, status: 'queued' });
    await until(async () => {
      const { rewards } = await service.ask<{ rewards: object[] }>('GET', `/v1/decisions/${decisionId}`);
      return rewards.length > 0;
    });
  });

  it.each([
    [{ name: 'find_tools', arguments: {} }, /query/],
    [{ name: 'find_tools', arguments: { query: 'q', k: 51 } }, /k: /],
    [{ name: 'find_tools', arguments: { query: 'q', limit: 3 } }, /limit: is not known here/],
    [{ name: 'describe_tool', arguments: { name: 'no such tool' } }, /no tool "no such tool"/],
    [{ name: 'call_tool', arguments: { name: 'search_emails' } }, /no server/],
    [{ name: 'report_outcome', arguments: { tool: 'x', outcome: 'fine' } }, /outcome/],
    [
      {
        name: 'report_outcome',
        arguments: { tool: 'refund_payment', outcome: 'success', decisionId: 'default.none' },
      },
      /no decision/,
    ],
  ])('is told what is wrong with %j', async (call, message) => {
    const client = await connected(era);
    const result = await client.callTool(call);
    expect(result.isError).toBe(true);
    expect(result.content).toEqual([{ type: 'text', text: expect.stringMatching(message) }]);
  });

  it('gets an error for a tool that nobody has', async () => {
    const client = await connected(era);
    await expect(client.callTool({ name: 'nobody_has_this', arguments: {} })).rejects.toThrow(/no tool/);
  });

  it('sees the catalog that its path names, and hears that its list has changed', async () => {
    const catalog = `shop-${era}`;
    await service.ask('PUT', `/v1/catalogs/${catalog}`, {});
    let heard = 0;
    const client = clientOf(era, () => heard++);
    await client.connect(httpTransport(era, `${service.url}/mcp/${catalog}`));
    clients.push(client);
    expect((await client.listTools()).tools[0].description).toMatch(
      /^Finds the tools for a job\. Ask it first /,
    );
    const tool = {
      name: 'ship',
      description: 'Ships a parcel.',
      inputSchema: { type: 'object' },
      server: 'post',
    };
    await service.ask('PUT', `/v1/catalogs/${catalog}/tools`, { tools: [tool] });
    await until(() => heard > 0);
    // A list may be said to have changed once too often; the client keeps it until it hears so again.
    await until(async () =>
      (await client.listTools()).tools[0].description!.includes('one tool of one server (post)'),
    );
  });

  it('is told that there is no such catalog', async () => {
    await expect(connected(era, '/mcp?catalog=none')).rejects.toThrow(/no catalog/);
  });
});

describe('what is no message of the protocol', () => {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const sent = (body: string, more: Record<string, string> = {}) =>
    fetch(`${service.url}/mcp`, { method: 'POST', headers: { ...headers, ...more }, body });
  const call = (args: object) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'find_tools', arguments: args },
    });

  it.each([
    ['no JSON', '{"jsonrpc": ', {}, 400],
    ['no message', '{"hello": "there"}', {}, 400],
    ['a number', '7', {}, 400],
    ['of a foreign page', call({ query: 'q' }), { origin: 'https://evil.example' }, 403],
    ['a form', call({ query: 'q' }), { 'content-type': 'text/plain' }, 415],
    ['of 10 MB', call({ query: 'x'.repeat(10_000_000) }), {}, 413],
    ['polluting', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{}}}', {}, 422],
    [
      'nested deeply',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(500)}${']'.repeat(500)}}`,
      {},
      422,
    ],
  ])('is refused: %s', async (_, body, more, status) => {
    const response = await sent(body, more);
    expect(response.status).toBe(status);
    expect(JSON.stringify(await response.json())).toMatch(/"(error|code)":/);
  });

  it('is refused in a session of another catalog', async () => {
    await service.ask('PUT', '/v1/catalogs/elsewhere', {});
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'c', version: '1' },
    };
    const opened = await sent(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    await opened.text();
    const listed = (path: string) =>
      fetch(service.url + path, {
        method: 'POST',
        headers: { ...headers, ...session, 'mcp-protocol-version': '2025-11-25' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' }),
      });
    expect((await listed('/mcp/elsewhere')).status).toBe(404);
    expect((await listed('/mcp/default')).status).toBe(200);
  });

  it('is refused for a foreign host', async () => {
    const { port } = new URL(service.url);
    const options = { port, path: '/mcp', method: 'POST', headers: { ...headers, host: 'evil.example' } };
    const response = once(request(options).end(call({ query: 'q' })), 'response');
    const [answer] = (await response) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(403);
  });

  it('takes no slot: the next request is answered', async () => {
    const broken = Array.from({ length: 60 }, () => sent('{'));
    await Promise.all(broken);
    expect((await sent(call({ query: 'refund' }))).status).toBe(200);
  });
});
