import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import type { CallOutcome } from '../../src/gateway/call.ts';
import { Gateway, type GatewayOptions } from '../../src/gateway/gateway.ts';
import type { McpAddress } from '../../src/outgoing/mcp/mcp-connection.ts';
import { openMcpConnection } from '../../src/outgoing/mcp/open-mcp-connection.ts';
import { until } from '../e2e/running-service.ts';

const servers = new URL('../set-up/mcp-servers/', import.meta.url).pathname;

function plain(given: Record<string, unknown> = {}): McpAddress {
  return { command: process.execPath, args: [`${servers}plain-server.mjs`, JSON.stringify(given)] };
}
const modern: McpAddress = { command: process.execPath, args: [`${servers}modern-server.mjs`] };

const open: Gateway[] = [];
const children: ChildProcess[] = [];
let starts: string[] = [];
function gatewayOf(addresses: Record<string, McpAddress>, options: Partial<GatewayOptions> = {}): Gateway {
  const gateway = new Gateway({
    open: (_server, address, more) => {
      starts.push(JSON.stringify(address));
      return openMcpConnection(address, { allowPrivate: true, version: '1.2.3', ...more });
    },
    log: () => {},
    describeRest: (handle, shown, total) => `[${shown} of ${total}: "${handle}"]`,
    ...options,
  });
  for (const [name, address] of Object.entries(addresses)) gateway.put(name, { address: () => address });
  open.push(gateway);
  return gateway;
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((gateway) => gateway.close()));
  for (const child of children.splice(0)) child.kill('SIGKILL');
  starts = [];
});

const at = (source: string, nameThere: string) => ({ source, nameThere });
function textOf(outcome: CallOutcome): string {
  if (outcome.kind !== 'ok' && outcome.kind !== 'tool-error') throw new Error(JSON.stringify(outcome));
  return (outcome.result.content as { text: string }[]).map(({ text }) => text).join('');
}
const stateOf = (gateway: Gateway, name: string) => gateway.servers.find((one) => one.name === name)?.state;
describe('servers', () => {
  it('start at their first call, once for calls that come together, and stop when they are idle', async () => {
    const gateway = gatewayOf({ a: plain(), b: plain() }, { idleMs: 50 });
    expect(gateway.servers.map(({ state }) => state)).toEqual(['stopped', 'stopped']);
    const pids = await Promise.all([1, 2, 3].map(() => gateway.call(at('a', 'pid'), {})));
    expect(new Set(pids.map(textOf)).size).toBe(1);
    expect(starts).toHaveLength(1);
    await until(() => stateOf(gateway, 'a') === 'stopped');
    expect(textOf(await gateway.call(at('a', 'pid'), {}))).not.toBe(textOf(pids[0]));
    expect(stateOf(gateway, 'b')).toBe('stopped');
  });

  it('lose no call to a stop that comes at the same time', async () => {
    const gateway = gatewayOf({ a: plain() }, { idleMs: 0 });
    for (let i = 0; i < 15; i++) {
      expect(textOf(await gateway.call(at('a', 'echo'), { text: `${i}` }))).toBe(`${i}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  it('that are killed in a call are down, come back by themselves, and are not asked the same again', async () => {
    const gateway = gatewayOf({ a: plain() });
    const before = textOf(await gateway.call(at('a', 'pid'), {}));
    const [killed, echo] = await Promise.all([
      gateway.call(at('a', 'die'), {}),
      gateway.call(at('a', 'sleep'), {}),
    ]);
    expect(killed).toMatchObject({ kind: 'protocol-error', message: expect.stringContaining('SIGKILL') });
    expect(echo.kind).toBe('protocol-error');
    expect(gateway.down).toEqual(new Set(['a']));
    expect(gateway.servers[0]).toMatchObject({ state: 'down', failures: 1, error: expect.any(String) });
    await until(() => gateway.down.size === 0);
    expect(textOf(await gateway.call(at('a', 'pid'), {}))).not.toBe(before);
  });

  it('that end at once are tried with pauses that grow, however often they are called', async () => {
    const gateway = gatewayOf({ a: plain({ exitAtOnce: true }) });
    const outcomes: CallOutcome[] = [];
    for (let i = 0; i < 50; i++)
      outcomes.push(...(await Promise.all([1, 2, 3].map(() => gateway.call(at('a', 'echo'), {})))));
    expect(outcomes.every(({ kind }) => kind === 'unavailable')).toBe(true);
    expect(starts.length).toBeLessThan(6);
    expect(outcomes.at(-1)).toMatchObject({
      message: expect.stringMatching(/no licence found.*next try in \d+ s/),
    });
    expect(gateway.down).toEqual(new Set(['a']));
  });

  it('end with the gateway while they start', async () => {
    let ended = false;
    const gateway = gatewayOf(
      { a: plain() },
      {
        open: (_server, _address, { signal }) =>
          new Promise((_, reject) =>
            signal?.addEventListener('abort', () => {
              ended = true;
              reject(new Error('given up'));
            }),
          ),
      },
    );
    const call = gateway.call(at('a', 'echo'), {});
    await until(() => stateOf(gateway, 'a') === 'starting');
    await gateway.close();
    expect(ended).toBe(true);
    expect(await call).toMatchObject({ kind: 'unavailable', message: 'the server "a" is closed' });
  });

  it('are asked for their era again after a failure, since their program may be another version', async () => {
    let address = plain();
    const eras: (string | undefined)[] = [];
    const gateway = gatewayOf(
      {},
      {
        idleMs: 0,
        open: (_server, given, more) => {
          eras.push(more.era);
          return openMcpConnection(given, { allowPrivate: true, version: '1.2.3', ...more });
        },
      },
    );
    gateway.put('a', { address: () => address });
    expect(textOf(await gateway.call(at('a', 'echo'), { text: 'old' }))).toBe('old');
    await until(() => stateOf(gateway, 'a') === 'stopped');
    address = modern;
    await gateway.call(at('a', 'echo'), {});
    await until(() => gateway.down.size === 0);
    expect(textOf(await gateway.call(at('a', 'echo'), { text: 'new' }))).toBe('new');
    expect(eras.slice(0, 3)).toEqual([undefined, '2025-11-25', undefined]);
  });

  it('quote no secret in what they say when they fail: in answers, in their state and in the log', async () => {
    const lines: string[] = [];
    const gateway = gatewayOf(
      {
        a: { command: 'sh', args: ['-c', 'echo "usage: $0" >&2; exit 1', 'hunter2'] },
        b: { url: 'b.example/?key=hunter2' },
        c: { url: 'http://127.0.0.1:9/', headers: { authorization: 'Bearer hunter2\nx' } },
      },
      { hide: (text) => text.replaceAll('hunter2', '***'), log: (_, line) => lines.push(line) },
    );
    for (const name of ['a', 'b', 'c']) {
      const outcome = await gateway.call(at(name, 'echo'), {});
      expect(outcome.kind).toBe('unavailable');
      expect(JSON.stringify(outcome)).not.toContain('hunter2');
    }
    expect(lines.join()).toContain('***');
    expect(JSON.stringify([gateway.servers, lines])).not.toContain('hunter2');
  });

  it('may be fifty', async () => {
    const gateway = gatewayOf(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`s${i}`, plain()])));
    const calls = Array.from({ length: 50 }, (_, i) => gateway.call(at(`s${i}`, 'echo'), { text: `${i}` }));
    expect((await Promise.all(calls)).map(textOf)).toEqual(Array.from({ length: 50 }, (_, i) => `${i}`));
  }, 120_000);

  it('that nobody has put are unavailable', async () => {
    expect(await gatewayOf({}).call(at('none', 'echo'), {})).toMatchObject({ kind: 'unavailable' });
  });

  it('over HTTP are found again after they were killed', async () => {
    const start = async (port: number) => {
      const child = spawn(process.execPath, [`${servers}modern-server.mjs`, `${port}`], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      children.push(child);
      const [line] = (await once(child.stdout!, 'data')) as [Buffer];
      return { child, port: Number(line) };
    };
    const { child, port } = await start(0);
    const gateway = gatewayOf({ web: { url: `http://127.0.0.1:${port}/mcp` } });
    expect(textOf(await gateway.call(at('web', 'echo'), { text: 'hi' }))).toBe('hi');
    const sleeping = gateway.call(at('web', 'sleep'), {});
    await until(() => gateway.servers[0].inFlight === 1);
    child.kill('SIGKILL');
    expect((await sleeping).kind).toBe('protocol-error');
    expect(gateway.down).toEqual(new Set(['web']));
    await start(port);
    await until(() => gateway.down.size === 0);
    expect(textOf(await gateway.call(at('web', 'echo'), { text: 'back' }))).toBe('back');
  });
});

describe('calls', () => {
  it('say what the tool said about itself', async () => {
    const gateway = gatewayOf({ a: plain() });
    expect(await gateway.call(at('a', 'fail'), {})).toMatchObject({
      kind: 'tool-error',
      result: { isError: true },
    });
    expect(await gateway.call(at('a', 'missing'), {})).toMatchObject({
      kind: 'protocol-error',
      code: -32_602,
    });
    expect(await gateway.call(at('a', 'nonsense'), {})).toMatchObject({ kind: 'protocol-error', code: null });
  });

  it('say what is wrong with an answer that is no result', async () => {
    const gateway = gatewayOf({ a: plain() });
    const messageOf = async (content: unknown) => {
      const outcome = await gateway.call(at('a', 'answer'), { content });
      return outcome.kind === 'protocol-error' ? outcome.message : outcome.kind;
    };
    expect(await messageOf('x')).toMatch(/`content` is no list/);
    for (const block of [null, 5, {}, { type: 'text' }, { type: 'image', mimeType: 'image/png' }]) {
      expect(await messageOf([{ type: 'text', text: 'fine' }, block])).toMatch(/`content\[1\]` is no block/);
    }
    expect(await messageOf([{ type: 'text', text: '' }, { type: 'of-tomorrow' }])).toBe('ok');
  });

  it('are not sent when they break the schema', async () => {
    const gateway = gatewayOf({ a: plain() });
    const tool = {
      name: 'echo',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    };
    const outcome = await gateway.call({ ...at('a', 'echo'), tool }, { text: 5 });
    expect(outcome).toEqual({
      kind: 'invalid-arguments',
      problems: [{ path: '/text', message: expect.stringContaining('string') }],
    });
    expect(starts).toHaveLength(0);
  });

  it('end with a result that breaks the schema, which is passed on as it is', async () => {
    const gateway = gatewayOf({ a: plain() });
    const outputSchema = {
      type: 'object',
      properties: { n: { type: 'integer' }, text: { type: 'string', pattern: '^(a+)+$' } },
      required: ['n'],
    };
    const call = (structuredContent: unknown, isError = false) =>
      gateway.call(
        { ...at('a', 'answer'), tool: { name: 'answer', outputSchema } },
        { structuredContent, isError },
      );
    expect((await call({ n: 1, text: `${'a'.repeat(1_000)}!` })).kind).toBe('ok');
    expect(await call({ n: 'one' })).toEqual({
      kind: 'invalid-result',
      result: { content: [], structuredContent: { n: 'one' }, isError: false },
    });
    expect((await call(undefined)).kind).toBe('invalid-result');
    expect((await call(undefined, true)).kind).toBe('tool-error');
  });

  it('pass on progress, and time runs from the last sign of it', async () => {
    const seen: number[] = [];
    const gateway = gatewayOf({ a: plain() }, { callMs: 100 });
    await gateway.call(at('a', 'steps'), {}, { onProgress: ({ progress }) => seen.push(progress) });
    expect(seen).toEqual([1, 2, 3]);
    expect((await gateway.call(at('a', 'sleep'), {})).kind).toBe('timeout');
    expect(gateway.down.size).toBe(0);
  });

  it('are cancelled at the server', async () => {
    const gateway = gatewayOf({ a: plain() });
    await gateway.call(at('a', 'echo'), {});
    const given = new AbortController();
    const call = gateway.call(at('a', 'sleep'), {}, { signal: given.signal });
    await until(() => gateway.servers[0].inFlight === 1);
    given.abort();
    expect((await call).kind).toBe('cancelled');
    expect(gateway.servers[0].inFlight).toBe(0);
  });

  it('are cancelled while the server starts, which others go on waiting for', async () => {
    const gateway = gatewayOf({ a: plain() });
    const given = new AbortController();
    const [first, second] = [
      gateway.call(at('a', 'echo'), {}, { signal: given.signal }),
      gateway.call(at('a', 'echo'), { text: 'x' }),
    ];
    given.abort();
    expect((await first).kind).toBe('cancelled');
    expect(textOf(await second)).toBe('x');
  });

  it('of 50 MB are cut, and the rest is read part by part', async () => {
    const gateway = gatewayOf({ a: plain() }, { maxResult: 10_000_000 });
    const outcome = await gateway.call(at('a', 'big'), { bytes: 50_000_000 });
    if (outcome.kind !== 'ok') throw new Error(outcome.kind);
    let { result } = outcome;
    let read = 0;
    let parts = 0;
    for (; ; parts++) {
      const [text] = result.content as { text: string }[];
      read += text.text.length;
      const rest = result._meta?.['bandolier/rest'] as { handle: string } | undefined;
      if (rest === undefined) break;
      result = gateway.readRest(rest.handle)!;
    }
    expect(read).toBe(25_000_000);
    expect(parts).toBe(2);
    expect(gateway.readRest('none.0.0')).toBeNull();
  });
});

describe.each([
  ['2025-11-25', 'elicit', plain()],
  ['2026-07-28', 'deploy', modern],
])('a server of %s that wants to know something', (_, tool, address) => {
  it('is answered by the next call', async () => {
    const gateway = gatewayOf({ a: address });
    const asked = await gateway.call(at('a', tool), {});
    if (asked.kind !== 'input-required') throw new Error(JSON.stringify(asked));
    const [[id, request]] = Object.entries(asked.inputRequests);
    expect(request).toMatchObject({
      method: 'elicitation/create',
      params: { requestedSchema: expect.any(Object) },
    });
    const answered = await gateway.call(
      at('a', tool),
      {},
      {
        inputResponses: { [id]: { action: 'accept', content: { city: 'Oslo' } } },
        ...(asked.requestState === undefined ? {} : { requestState: asked.requestState }),
      },
    );
    expect(textOf(answered)).toContain('Oslo');
  });
});

it('a question is put to nobody when calls of several callers are going on', async () => {
  const gateway = gatewayOf({ a: plain() });
  const given = new AbortController();
  const other = gateway.call(at('a', 'sleep'), {}, { caller: 'one', signal: given.signal });
  await until(() => gateway.servers[0].inFlight === 1 && gateway.servers[0].state === 'running');
  expect(textOf(await gateway.call(at('a', 'elicit'), {}, { caller: 'two' }))).toContain('decline');
  given.abort();
  await other;
});

it('an answer to a question that is long over does not repeat the call', async () => {
  const gateway = gatewayOf({ a: plain() });
  const outcome = await gateway.call(at('a', 'echo'), {}, { requestState: 'old', inputResponses: {} });
  expect(outcome).toMatchObject({ kind: 'protocol-error', message: expect.stringContaining('over') });
});

it('prompts and resources of several servers keep apart, and lead back', async () => {
  const gateway = gatewayOf({ 'my server/1': plain(), b: plain(), broken: plain({ exitAtOnce: true }) });
  const prompts = await gateway.offers.listPrompts();
  expect(prompts.map(({ name }) => name)).toEqual(['my%20server%2F1/greet', 'b/greet']);
  expect(await gateway.offers.getPrompt('my%20server%2F1/greet', { who: 'Ada' })).toMatchObject({
    result: { messages: [{ content: { text: 'Greet Ada' } }] },
  });
  const [{ uri }] = await gateway.offers.listResources();
  expect(uri).toBe('bandolier://my%20server%2F1/file:///notes.txt');
  expect(await gateway.offers.readResource(String(uri))).toMatchObject({
    result: { contents: [{ uri, text: 'noted' }] },
  });
  expect((await gateway.offers.listResourceTemplates())[1].uriTemplate).toBe('bandolier://b/file:///{name}');
  await expect(gateway.offers.readResource('file:///etc/passwd')).rejects.toMatchObject({
    failure: 'protocol',
  });
});

it('prompts of a server that has started again are asked for again', async () => {
  let names: string[] = [];
  const gateway = gatewayOf(
    { a: plain() },
    {
      idleMs: 0,
      open: async (_server, address, more) => {
        const connection = await openMcpConnection(address, {
          allowPrivate: true,
          version: '1.2.3',
          ...more,
        });
        return Object.assign(connection, {
          listPrompts: async () => ({ items: names.map((name) => ({ name })), ttlMs: null }),
        });
      },
    },
  );
  names = ['old'];
  expect((await gateway.offers.listPrompts()).map(({ name }) => name)).toEqual(['a/old']);
  await until(() => stateOf(gateway, 'a') === 'stopped');
  names = ['new'];
  // It need not run to be listed.
  expect((await gateway.offers.listPrompts()).map(({ name }) => name)).toEqual(['a/old']);
  await gateway.call(at('a', 'echo'), {});
  expect((await gateway.offers.listPrompts()).map(({ name }) => name)).toEqual(['a/new']);
});

it('says when a list of a server has changed', async () => {
  const changed: string[] = [];
  const gateway = gatewayOf(
    { a: modern },
    { onListChanged: (server, list) => changed.push(`${server} ${list}`) },
  );
  await gateway.call(at('a', 'echo'), { text: 'x' });
  await gateway.call(at('a', 'grow'), {});
  await until(() => changed.length > 0);
  expect(changed).toContain('a tools');
});
