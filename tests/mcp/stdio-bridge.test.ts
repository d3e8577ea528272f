import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { afterEach, expect, it } from 'vitest';
import { StdioBridge } from '../../src/mcp/stdio-bridge.ts';
import { until } from '../e2e/running-service.ts';

interface Asked {
  readonly name: string;
  answer(result: object): void;
  /** Another status of HTTP, with the code of a problem. */
  refuse(status: number, code: string): void;
  breakOff(): void;
}

/** A service that answers when the test says so; it counts who opens a conversation, and keeps their streams. */
class Service {
  readonly asked: Asked[] = [];
  readonly streams = new Set<ServerResponse>();
  opened = 0;
  #refusal: { readonly status: number; readonly code: string } | null = null;
  readonly #server: Server;

  constructor() {
    this.#server = createServer(async (request, response) => {
      if (request.method === 'GET') {
        if (this.#refusal !== null)
          return void response.writeHead(this.#refusal.status).end(JSON.stringify(this.#refusal));
        this.streams.add(response);
        response.once('close', () => this.streams.delete(response));
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        return;
      }
      let body = '';
      for await (const chunk of request) body += chunk;
      const { id, method, params } = JSON.parse(body || '{}');
      if (id === undefined) return void response.writeHead(202).end();
      const answer = (result: object) =>
        response
          .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `s${this.opened}` })
          .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      if (method === 'initialize') {
        this.opened++;
        const serverInfo = { name: 'service', version: '1' };
        return answer({ protocolVersion: '2025-11-25', capabilities: {}, serverInfo });
      }
      this.asked.push({
        name: `${params.name} ${id}`,
        answer,
        refuse: (status, code) => response.writeHead(status).end(JSON.stringify({ code })),
        breakOff: () => response.destroy(),
      });
    });
  }

  async start(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Streams are answered with this status of HTTP and code of a problem from now on. */
  refuseStreams(status: number, code: string): void {
    this.#refusal = { status, code };
  }

  /** The next request of this name and id that comes. */
  async next(name: string): Promise<Asked> {
    await until(() => this.asked.some((one) => one.name === name));
    return this.asked.splice(
      this.asked.findIndex((one) => one.name === name),
      1,
    )[0];
  }
}

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function service(): Promise<{ service: Service; url: string }> {
  const service = new Service();
  ends.push(() => service.stop());
  return { service, url: await service.start() };
}

/** A client that has opened its conversation over a bridge. */
async function connect(find: () => string) {
  const answers = new Map<unknown, object>();
  const said: string[] = [];
  const client = {
    start: async () => {},
    send: async (message: { id?: unknown }) => void answers.set(message.id, message),
    close: async () => client.onclose?.(),
  } as Transport & { send(message: JSONRPCMessage): Promise<void> };
  const bridge = new StdioBridge({
    ...{ client, catalog: 'default', sessionId: 'session' },
    onError: ({ message }) => void said.push(message),
    find: async () => ({ url: find() }),
  });
  const running = bridge.run();
  ends.push(async () => {
    await client.close();
    await running;
  });
  await until(() => client.onmessage !== undefined);
  const say = (message: object) => client.onmessage?.({ jsonrpc: '2.0', ...message } as JSONRPCMessage);
  const clientInfo = { name: 'client', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  say({ id: 0, method: 'initialize', params });
  await until(() => answers.has(0));
  say({ method: 'notifications/initialized' });
  const call = (id: number, name: string) => say({ id, method: 'tools/call', params: { name } });
  const answer = async (id: number) => {
    await until(() => answers.has(id));
    return answers.get(id);
  };
  return { call, answer, say, said };
}

it('asks a service again that is busy, and calls that it works on go on', async () => {
  const { service: busy, url } = await service();
  const { call, answer } = await connect(() => url);
  call(1, 'call_tool');
  const running = await busy.next('call_tool 1');
  call(2, 'call_tool');
  (await busy.next('call_tool 2')).refuse(503, 'unavailable');
  (await busy.next('call_tool 2')).answer({ second: true });
  expect(await answer(2)).toMatchObject({ result: { second: true } });
  running.answer({ first: true });
  expect(await answer(1)).toMatchObject({ result: { first: true } });
  expect(busy.opened).toBe(1);
});

it('goes on with the others when the connection of one request breaks', async () => {
  const { service: only, url } = await service();
  const { call, answer } = await connect(() => url);
  call(1, 'call_tool');
  const running = await only.next('call_tool 1');
  call(2, 'call_tool');
  (await only.next('call_tool 2')).breakOff();
  expect(await answer(2)).toMatchObject({ error: { message: expect.stringContaining('is not known') } });
  call(3, 'find_tools');
  (await only.next('find_tools 3')).answer({ third: true });
  running.answer({ first: true });
  expect(await answer(1)).toMatchObject({ result: { first: true } });
  expect(await answer(3)).toMatchObject({ result: { third: true } });
  // The old connection is closed by its last request.
  await until(() => only.opened === 2 && only.streams.size === 1);
});

it('finds the next service once for all requests that the last one has left, and asks it what does no harm twice', async () => {
  const [{ service: first, url: from }, { service: second, url: to }] = [await service(), await service()];
  let url = from;
  const { call, answer } = await connect(() => url);
  for (const id of [1, 2, 3]) call(id, 'find_tools');
  const left = [1, 2, 3].map((id) => first.next(`find_tools ${id}`));
  const requests = await Promise.all(left);
  url = to;
  requests[0].refuse(503, 'shutting-down');
  (await second.next('find_tools 1')).answer({ by: 'second' });
  for (const request of requests.slice(1)) request.breakOff();
  for (const id of [2, 3]) (await second.next(`find_tools ${id}`)).answer({ by: 'second' });
  for (const id of [1, 2, 3]) expect(await answer(id)).toMatchObject({ result: { by: 'second' } });
  expect(second.opened).toBe(1);
  await until(() => first.streams.size === 0 && second.streams.size === 1);
});

it('repeats nothing that its client has cancelled', async () => {
  const { service: only, url } = await service();
  const { call, answer, say } = await connect(() => url);
  call(1, 'find_tools');
  const cancelled = await only.next('find_tools 1');
  say({ method: 'notifications/cancelled', params: { requestId: 1 } });
  call(2, 'find_tools');
  (await only.next('find_tools 2')).answer({ second: true });
  expect(await answer(2)).toMatchObject({ result: { second: true } });
  cancelled.breakOff();
  call(3, 'find_tools');
  // It is asked again after the pause in which the other would have been.
  (await only.next('find_tools 3')).refuse(503, 'unavailable');
  (await only.next('find_tools 3')).refuse(503, 'unavailable');
  (await only.next('find_tools 3')).answer({ third: true });
  expect(await answer(3)).toMatchObject({ result: { third: true } });
  expect(only.asked).toEqual([]);
});

it.each([
  ['is closing', async (service: Service) => service.refuseStreams(503, 'shutting-down')],
  ['was killed', (service: Service) => service.stop()],
])('says nothing when the service %s and the next one is there', async (_, leave) => {
  const [{ service: first, url: from }, { service: second, url: to }] = [await service(), await service()];
  let url = from;
  const { call, answer, said } = await connect(() => url);
  await until(() => first.streams.size === 1);
  call(1, 'find_tools');
  const left = await first.next('find_tools 1');
  await leave(first);
  for (const stream of first.streams) stream.end();
  url = to;
  left.breakOff();
  (await second.next('find_tools 1')).answer({ by: 'second' });
  expect(await answer(1)).toMatchObject({ result: { by: 'second' } });
  await until(() => second.streams.size === 1);
  expect(said).toEqual([]);
});

it('takes the next service when the stream of one that is closing cannot be opened again', async () => {
  const [{ service: first, url: from }, { service: second, url: to }] = [await service(), await service()];
  let url = from;
  const { said } = await connect(() => url);
  await until(() => first.streams.size === 1);
  first.refuseStreams(503, 'shutting-down');
  url = to;
  for (const stream of first.streams) stream.end();
  await until(() => second.streams.size === 1);
  expect(said).toEqual([]);
});

it('says what really fails, once', async () => {
  const { service: only, url } = await service();
  only.refuseStreams(500, 'internal');
  const { call, answer, said } = await connect(() => url);
  await until(() => said.length > 0);
  expect(said.every((message) => message.includes('Failed to open SSE stream'))).toBe(true);
  said.length = 0;
  call(1, 'call_tool');
  (await only.next('call_tool 1')).refuse(400, 'malformed-request');
  expect(await answer(1)).toMatchObject({ error: {} });
  expect(said).toEqual([expect.stringContaining('malformed-request')]);
});
