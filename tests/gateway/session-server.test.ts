import { afterEach, beforeEach, expect, it } from 'vitest';
import { Gateway } from '../../src/gateway/gateway.ts';
import { callTool } from '../../src/mcp/call-tool.ts';
import { openMcpConnection } from '../../src/outgoing/mcp/open-mcp-connection.ts';
import { until } from '../e2e/running-service.ts';
import { type SessionServer, startSessionServer } from '../set-up/mcp-servers/session-server.ts';

// A server of 2025-11-25 over HTTP, whose clients have sessions.

let server: SessionServer;
let gateway: Gateway;

beforeEach(async () => {
  server = await startSessionServer();
  gateway = new Gateway({
    open: (_, address, more) => openMcpConnection(address, { allowPrivate: true, version: '1.2.3', ...more }),
    log: () => {},
    describeRest: (handle) => handle,
  });
  gateway.put('a', { address: () => ({ url: server.url }) });
});
afterEach(async () => {
  await gateway.close();
  await server.close();
});

const echo = (text: string) => gateway.call({ source: 'a', nameThere: 'echo' }, { text });
const said = (text: string) => ({ kind: 'ok', result: { content: [{ type: 'text', text }] } });
const brew = {
  source: 'a',
  nameThere: 'brew',
  tool: { name: 'brew', execution: { taskSupport: 'required' } },
};
const signal = AbortSignal.timeout(30_000);

it('is listed and called in one session, which ends with the gateway', async () => {
  const answers = await Promise.all(['one', 'two', 'three'].map(echo));
  expect(answers).toMatchObject(['one', 'two', 'three'].map(said));
  const { items = [] } = (await gateway.running('a')?.listTools({ signal })) ?? {};
  expect(items.map(({ name }) => name)).toEqual(['echo', 'brew']);
  expect(server.opened).toHaveLength(1);
  expect(server.clients).toEqual(['bandolier 1.2.3']);
  expect(server.ended).toEqual([]);
  await gateway.close();
  expect(server.ended).toEqual(server.opened);
});

it('gets another session where it has forgotten one, and each call is carried out once', async () => {
  expect(await echo('before')).toMatchObject(said('before'));
  server.forget();
  const answers = await Promise.all(['one', 'two', 'three'].map(echo));
  expect(answers).toMatchObject(['one', 'two', 'three'].map(said));
  expect([...server.echoed].sort()).toEqual(['before', 'one', 'three', 'two']);
  expect(gateway.down.size).toBe(0);
  server.forget();
  const { items = [] } = (await gateway.running('a')?.listTools({ signal })) ?? {};
  expect(items).toHaveLength(2);
  expect(server.opened).toHaveLength(3);
  await gateway.close();
  expect(server.ended).toEqual(server.opened.slice(-1));
});

it('does its tasks, also those of a session that it has forgotten', async () => {
  const call = callTool(gateway, brew, {}, { signal });
  await until(() => server.looks() > 1);
  server.forget();
  const before = server.looks();
  await until(() => server.looks() > before && server.opened.length === 2);
  server.finishTasks();
  expect(await call).toMatchObject({ end: 'ok', answer: { content: [{ text: 'brewed' }] } });
  await gateway.close();
  expect(server.ended).toEqual(server.opened.slice(-1));
});
