import { afterEach, describe, expect, it } from 'vitest';
import type {
  McpAddress,
  McpConnection,
  McpConnectionOptions,
} from '../../../src/outgoing/mcp/mcp-connection.ts';
import { openMcpConnection } from '../../../src/outgoing/mcp/open-mcp-connection.ts';

const servers = new URL('../../set-up/mcp-servers/', import.meta.url).pathname;
const published = new URL('../../../node_modules/@modelcontextprotocol/', import.meta.url).pathname;

function plain(given: Record<string, unknown> = {}): McpAddress {
  return { command: process.execPath, args: [`${servers}plain-server.mjs`, JSON.stringify(given)] };
}

const open: McpConnection[] = [];
async function connect(
  address: McpAddress,
  options: Partial<McpConnectionOptions> = {},
): Promise<McpConnection> {
  const connection = await openMcpConnection(address, { allowPrivate: true, version: '1.2.3', ...options });
  open.push(connection);
  return connection;
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

const textOf = (answer: { kind: string; result?: unknown }) =>
  (answer.result as { content: { text: string }[] }).content[0].text;

describe('a server that is a program', () => {
  it('is used with prompts, resources, progress and members that nobody knows', async () => {
    const connection = await connect(plain());
    expect(connection.era).toBe('2025-11-25');
    expect(connection.server).toEqual({ name: 'plain', version: '1' });
    const { items } = await connection.listTools();
    expect(items[0]).toMatchObject({ name: 'echo', 'x-unknown': 1 });
    expect(textOf(await connection.callTool('echo', { text: 'hello' }))).toBe('hello');
    expect((await connection.listPrompts()).items[0].name).toBe('greet');
    expect(await connection.getPrompt('greet', { who: 'Ada' })).toMatchObject({
      kind: 'complete',
      result: { messages: [{ content: { text: 'Greet Ada' } }] },
    });
    expect((await connection.listResources()).items[0].uri).toBe('file:///notes.txt');
    expect((await connection.listResourceTemplates()).items[0].uriTemplate).toBe('file:///{name}');
    expect(await connection.readResource('file:///notes.txt')).toMatchObject({
      result: { contents: [{ text: 'noted' }] },
    });
    const seen: number[] = [];
    await connection.callTool('steps', {}, { onProgress: ({ progress }) => seen.push(progress) });
    expect(seen).toEqual([1, 2, 3]);
    const meta = { traceparent: '00-1', 'io.modelcontextprotocol/protocolVersion': 'forged' };
    expect(await connection.callTool('meta', {}, { meta })).toMatchObject({
      result: { _meta: { traceparent: '00-1' } },
    });
    expect(await connection.callTool('meta', {}, { meta })).not.toHaveProperty([
      'result',
      '_meta',
      'io.modelcontextprotocol/protocolVersion',
    ]);
  });

  it('may answer with 50 MB, and characters are not torn', async () => {
    const connection = await connect(plain());
    const text = textOf(await connection.callTool('big', { bytes: 50_000_000 }));
    expect(text.length).toBe(25_000_000);
    expect(text.at(-1)).toBe('ä');
  });

  it('fails one call, not the connection, with an answer that is too long', async () => {
    const connection = await connect(plain());
    const long = connection.callTool('big', { bytes: 70_000_000 });
    await expect(long).rejects.toMatchObject({
      failure: 'protocol',
      message: expect.stringContaining('longer'),
    });
    expect(textOf(await connection.callTool('echo', { text: 'still here' }))).toBe('still here');
  });

  it('is asked again whose list changes while it is paged', async () => {
    const connection = await connect(plain({ tools: 10, pages: 5, changeWhilePaging: true }));
    const { items } = await connection.listTools();
    expect(items.map(({ name }) => name)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `tool-${i}`));
  });

  it('may list 10,000 tools and not more', async () => {
    expect((await (await connect(plain({ tools: 10_000, pages: 20 }))).listTools()).items).toHaveLength(
      10_000,
    );
    const many = await connect(plain({ tools: 10_001, pages: 20 }));
    await expect(many.listTools()).rejects.toMatchObject({ failure: 'nonsense' });
    const nonsense = await connect(plain({ listsNonsense: true }));
    await expect(nonsense.listTools()).rejects.toMatchObject({ failure: 'nonsense' });
  });

  it.each([
    ['answers with an error', 'missing', 'protocol'],
    ['answers nonsense', 'nonsense', 'nonsense'],
    ['is killed in the call', 'die', 'closed'],
  ])('that %s fails the call by that', async (_, tool, failure) => {
    const connection = await connect(plain());
    await expect(connection.callTool(tool, {})).rejects.toMatchObject({ failure });
  });

  it('that never answers runs into the timeout, and the caller may give up before', async () => {
    const connection = await connect(plain());
    const late = connection.callTool('sleep', {}, { timeouts: { requestMs: 50 } });
    await expect(late).rejects.toMatchObject({ failure: 'timeout' });
    const given = new AbortController();
    const call = connection.callTool('sleep', {}, { signal: given.signal });
    given.abort();
    await expect(call).rejects.toMatchObject({ failure: 'aborted' });
  });

  it('that never answers is ended with the attempt to connect', async () => {
    const mute = { command: process.execPath, args: ['-e', 'console.error("up"); process.stdin.resume()'] };
    const given = new AbortController();
    const attempt = connect(mute, {
      signal: given.signal,
      log: () => given.abort(),
      timeouts: { connectMs: 600_000 },
    });
    await expect(attempt).rejects.toMatchObject({ failure: 'aborted' });
  });

  it('that prints greetings, floods stderr or ends at what it does not know is used all the same', async () => {
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    const odd = await connect(plain({ greet: true, flood: true, exitAtProbe: true }), { log });
    for (let i = 0; i < 300; i++) await odd.callTool('echo', { text: 'x' });
    expect(lines.length).toBeLessThan(250);
    expect(lines.every((line) => line.length < 2_500)).toBe(true);
  });

  it('that cannot be started, or ends at once, is unreachable and says why', async () => {
    await expect(connect({ command: 'no-such-program' })).rejects.toMatchObject({
      failure: 'unreachable',
      message: expect.stringContaining('ENOENT'),
    });
    await expect(connect(plain({ exitAtOnce: true }))).rejects.toMatchObject({
      failure: 'unreachable',
      message: expect.stringMatching(/ended with code 3; it said: no licence found/),
    });
  });

  it('needs an address and headers that are some, and they are not quoted', async () => {
    const headers = { authorization: 'Bearer SECRET\nx' };
    await expect(connect({ url: 'http://127.0.0.1:9/', headers })).rejects.toMatchObject({
      failure: 'unreachable',
      message: 'its header "authorization" is none that HTTP can send',
    });
    await expect(connect({ url: 'mcp.example.com/mcp?key=SECRET' })).rejects.toMatchObject({
      failure: 'unreachable',
      message: 'its address is none of http or https',
    });
  });

  it('asks what it wants to know', async () => {
    const onInputRequest = async () => ({ action: 'accept', content: { city: 'Oslo' } });
    const connection = await connect(plain(), { onInputRequest });
    expect(textOf(await connection.callTool('elicit', {}))).toContain('Oslo');
  });

  it('is ended with what it started', async () => {
    const script = '"$0" "$@"; true';
    const { command, args = [] } = plain() as { command: string; args: string[] };
    const connection = await connect({ command: 'sh', args: ['-c', script, command, ...args] });
    const pid = Number(textOf(await connection.callTool('pid', {})));
    await connection.close();
    await connection.closed;
    expect(() => process.kill(pid, 0)).toThrow();
  });
});

it.each(['everything', 'filesystem', 'memory'])('the published server "%s" is listed', async (name) => {
  const args = name === 'filesystem' ? ['/tmp'] : [];
  const connection = await connect({
    command: process.execPath,
    args: [`${published}server-${name}/dist/index.js`, ...args],
  });
  const { items } = await connection.listTools();
  expect(items.length).toBeGreaterThan(8);
  expect(items.every(({ inputSchema }) => typeof inputSchema === 'object')).toBe(true);
});
