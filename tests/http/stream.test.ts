import { once } from 'node:events';
import { z } from '@hono/zod-openapi';
import { Hono } from 'hono';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Admission, type Ticket } from '../../src/http/admission.ts';
import { AnswerHeaders } from '../../src/http/answer-headers.ts';
import { BodyIntake } from '../../src/http/body-intake.ts';
import { openApiDocument } from '../../src/http/documentation.ts';
import { endpoint } from '../../src/http/endpoint.ts';
import type { RequestContext } from '../../src/http/endpoint-definition.ts';
import { type Listener, listen } from '../../src/http/listen.ts';
import { RequestGuard } from '../../src/http/request-guard.ts';
import { type StreamFormat, streamOf } from '../../src/http/stream.ts';

/** An endpoint that streams, as a product endpoint would be written. */
function streaming(
  items: (context: RequestContext) => AsyncIterable<unknown>,
  stream: StreamFormat = 'lines',
) {
  return endpoint({
    method: 'get',
    path: '/v1/numbers',
    name: 'streamNumbers',
    tag: 'Health',
    summary: 'Numbers.',
    request: {},
    answers: { 200: { description: 'As they come.', schema: z.object({ n: z.int() }), stream } },
    handle: async (_, context) => ({ status: 200, stream: items(context) }),
  });
}

const listeners: Listener[] = [];
afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.close(0);
});

async function served(...given: Parameters<typeof streaming>) {
  const app = new Hono();
  const logged: { err: Error }[] = [];
  const parts = {
    bodies: new BodyIntake(),
    headers: new AnswerHeaders({ of: () => null, reached: async () => {} }, { draining: false }),
    log: { error: (fields: object) => void logged.push(fields as never) },
  };
  const { path, respond } = streaming(...given);
  app.get(path, (context) => respond(context, parts));
  app.get('/v1/one', (context) => context.text('1'));
  const admission = new Admission();
  const listener = await listen(app, { admission, guard: new RequestGuard(), host: '127.0.0.1', port: 0 });
  listeners.push(listener);
  return { app, admission, logged, url: `${listener.url}/v1/numbers`, origin: listener.url };
}

async function* count(to: number) {
  for (let n = 1; n <= to; n++) yield { n };
}

function fakeTicket() {
  const calls: string[] = [];
  const record = (name: string) => () => void calls.push(name);
  const ticket = { pause: record('pause'), resume: record('resume') } as unknown as Ticket;
  return { ticket, calls };
}

describe('an endpoint that streams', () => {
  it.each([
    ['lines', 'application/x-ndjson', '{"n":1}\n{"n":2}\n'],
    ['events', 'text/event-stream', 'data: {"n":1}\n\nevent: last\nid: 7\ndata: {"n":2}\n\n'],
  ] as const)('sends %s', async (format, type, text) => {
    const events = async function* () {
      yield { data: { n: 1 } };
      yield { event: 'last', id: '7', data: { n: 2 } };
    };
    const { url } = await served(() => (format === 'lines' ? count(2) : events()), format);
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toBe(type);
    expect(await response.text()).toBe(text);
  });

  it.each([
    ['lines', 'application/x-ndjson'],
    ['events', 'text/event-stream'],
  ] as const)('says in openapi.json that it answers %s', (format, type) => {
    const document = openApiDocument([streaming(() => count(1), format)]) as {
      paths: Record<string, { get: { responses: Record<string, { content: object }> } }>;
    };
    const { content } = document.paths['/v1/numbers'].get.responses[200];
    expect(content).toEqual({ [type]: { schema: expect.objectContaining({ type: 'object' }) } });
  });

  it('breaks the answer off where an item fails, and logs why', async () => {
    const failing = async function* () {
      yield* count(1);
      throw new Error('the disk is gone');
    };
    const { url, logged } = await served(failing);
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow();
    expect(logged.map(({ err }) => err.message)).toEqual(['the disk is gone']);
  });

  it('ends its work when the client hangs up, and logs nothing', async () => {
    let isEnded = () => {};
    const end = new Promise<void>((resolve) => (isEnded = resolve));
    const endless = async function* ({ signal }: RequestContext) {
      try {
        yield { n: 1 };
        await once(signal, 'abort');
        signal.throwIfAborted();
      } finally {
        isEnded();
      }
    };
    const { url, logged, origin } = await served(endless);
    const client = new AbortController();
    const response = await fetch(url, { signal: client.signal });
    await response.body!.getReader().read();
    client.abort();
    await end;
    expect(await (await fetch(`${origin}/v1/one`)).text()).toBe('1');
    expect(logged).toEqual([]);
  });

  it('makes the next item when the client has room for it, and not before', async () => {
    let made = 0;
    const items = async function* () {
      for (;;) yield ++made;
    };
    const reader = streamOf(items(), 'lines', { ticket: undefined, onError: () => {} }).getReader();
    for (let read = 1; read <= 3; read++) {
      await reader.read();
      expect(made).toBe(read);
    }
    await reader.cancel();
  });
});

describe('the slot of a stream', () => {
  const read = async (stream: ReadableStream<Uint8Array>) => {
    for await (const _ of stream);
  };

  it('is held while a line is made, and not while the client reads or has all', async () => {
    const { ticket, calls } = fakeTicket();
    const items = async function* () {
      calls.push('work');
      yield 1;
    };
    const stream = streamOf(items(), 'lines', { ticket, onError: () => {} });
    expect(calls).toEqual(['pause']);
    await read(stream);
    expect(calls).toEqual(['pause', 'resume', 'work', 'pause', 'resume', 'pause']);
  });

  it('is free while events are awaited', async () => {
    const { ticket, calls } = fakeTicket();
    const items = async function* () {
      yield { data: 1 };
    };
    await read(streamOf(items(), 'events', { ticket, onError: () => {} }));
    expect(calls).not.toContain('resume');
  });

  it('is given back when an item fails, and when the stream is cancelled', async () => {
    const onError = vi.fn();
    const failed = fakeTicket();
    const failing = async function* () {
      yield* [];
      throw new Error('no');
    };
    await expect(read(streamOf(failing(), 'lines', { ticket: failed.ticket, onError }))).rejects.toThrow(
      'no',
    );
    expect(failed.calls.at(-1)).toBe('pause');
    const cancelled = fakeTicket();
    const reader = streamOf(count(9), 'lines', { ticket: cancelled.ticket, onError }).getReader();
    await reader.read();
    await reader.cancel();
    expect(cancelled.calls.at(-1)).toBe('pause');
    expect(onError).toHaveBeenCalledOnce();
  });

  it('lets others in: as many streams with idle clients as there are slots keep no request waiting', async () => {
    const idle = async function* ({ signal }: RequestContext) {
      yield { data: 0 };
      await once(signal, 'abort');
    };
    const { url, origin } = await served(idle, 'events');
    const clients = Array.from({ length: 40 }, () => new AbortController());
    for (const { signal } of clients) {
      const response = await fetch(url, { signal });
      await response.body!.getReader().read();
    }
    expect(await (await fetch(`${origin}/v1/one`)).text()).toBe('1');
    for (const client of clients) client.abort();
  });
});
