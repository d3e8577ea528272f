import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Admission, type Ticket } from '../../src/http/admission.ts';
import { type Listener, listen } from '../../src/http/listen.ts';
import { RequestGuard } from '../../src/http/request-guard.ts';
import { appWith } from './fake-nouns.ts';
import { type RawAnswer, rawBytes, rawRequest } from './raw-request.ts';

let listener: Listener;
const reached: string[] = [];

beforeAll(async () => {
  const { app, admission } = appWith({
    catalogs: { list: () => ({ catalogs: [], failed: [] }) },
    experiments: {
      change: async (_catalog, name) => {
        reached.push(name);
        return {} as never;
      },
    },
  });
  listener = await listen(app, { admission, guard: new RequestGuard(), host: '127.0.0.1', port: 0 });
});
afterAll(() => listener.close(0));

const ask = (...lines: string[]) => rawRequest(listener.url, ...lines, 'Connection: close');
const HOST = 'Host: localhost';

function expectProblem(answer: RawAnswer, status: number, code: string): void {
  expect(answer).toMatchObject({
    ...{ status, code, contentType: 'application/problem+json' },
    suggestedFix: expect.stringMatching(/\w/),
  });
}

describe('what Node cannot read is answered as a problem', () => {
  it.each([
    ['no HTTP', ['hello there']],
    ['TLS', ['\u0016\u0003\u0001\u0002']],
    ['a broken header', ['GET /livez HTTP/1.1', HOST, 'a b: c']],
    ['two lengths', ['POST /v1/route HTTP/1.1', HOST, 'Content-Length: 1', 'Content-Length: 2']],
    ['length and chunks', ['POST / HTTP/1.1', HOST, 'Content-Length: 1', 'Transfer-Encoding: chunked']],
    ['another version', ['GET /livez HTTP/3.7', HOST]],
  ])('%s: 400', async (_, lines) => {
    expectProblem(await ask(...lines), 400, 'malformed-request');
  });

  it('too many headers: 431, also when more comes than a socket holds', async () => {
    for (const length of [20_000, 2_000_000]) {
      const answer = await ask('GET /livez HTTP/1.1', HOST, `X-Long: ${'x'.repeat(length)}`);
      expectProblem(answer, 431, 'headers-too-large');
    }
  });

  it('too long chunk extensions: 413', async () => {
    const head = [
      'POST /v1/route HTTP/1.1',
      HOST,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ];
    const bytes = `${head.join('\r\n')}\r\n\r\n1;${'x'.repeat(40_000)}\r\n`;
    expectProblem(await rawBytes(listener.url, bytes), 413, 'body-too-large');
  });

  it('expectations that nobody can meet: 417', async () => {
    expectProblem(await ask('GET /livez HTTP/1.1', HOST, 'Expect: miracles'), 417, 'expectation-failed');
  });

  it('CONNECT: 405', async () => {
    expectProblem(await ask('CONNECT evil.example:443 HTTP/1.1', HOST), 405, 'method-not-allowed');
  });
});

describe('Host and target', () => {
  it.each([
    ['none', ['GET /v1/catalogs HTTP/1.1'], 400, 'malformed-request'],
    ['none in HTTP/1.0', ['GET /v1/catalogs HTTP/1.0'], 400, 'malformed-request'],
    ['two', ['GET /v1/catalogs HTTP/1.1', HOST, 'Host: evil.example'], 400, 'malformed-request'],
    ['two alike', ['GET /v1/catalogs HTTP/1.1', HOST, HOST], 400, 'malformed-request'],
    ['a user', ['GET /v1/catalogs HTTP/1.1', 'Host: a@localhost'], 400, 'malformed-request'],
    ['somebody else', ['GET /v1/catalogs HTTP/1.1', 'Host: evil.example'], 403, 'host-not-allowed'],
    ['another target', ['GET http://evil.example/ HTTP/1.1', HOST], 400, 'malformed-request'],
    ['no path', ['OPTIONS * HTTP/1.1', HOST], 400, 'malformed-request'],
    ['a probe in disguise', ['GET /v1/livez HTTP/1.1', 'Host: a.b'], 403, 'host-not-allowed'],
    ['another probe', ['GET /livez/../v1/catalogs HTTP/1.1', 'Host: a.b'], 403, 'host-not-allowed'],
  ])('%s: refused', async (_, lines, status, code) => {
    expectProblem(await ask(...lines), status, code);
  });

  it('in absolute form reaches the same endpoint', async () => {
    const answer = await ask('GET http://localhost/v1/catalogs HTTP/1.1', HOST);
    expect(answer.text).toContain('{"catalogs":[],"failed":[]}');
  });

  it('probes answer under any host and none', async () => {
    for (const lines of [['HTTP/1.0'], ['HTTP/1.1'], ['HTTP/1.1', 'Host: 10.0.0.3:8787']]) {
      expect((await ask(`GET /livez ${lines[0]}`, ...lines.slice(1))).status).toBe(200);
    }
  });
});

describe('a POST without a body', () => {
  const post = 'POST /v1/catalogs/default/experiments/e/kill HTTP/1.1';

  it('is done once it shows that no page sent it', async () => {
    expectProblem(await ask(post, HOST, 'Content-Length: 0'), 415, 'unsupported-media-type');
    expect(reached).toEqual([]);
    expect((await ask(post, HOST, 'X-Bandolier: 1', 'Content-Length: 0')).status).toBe(200);
    expect((await ask(post, HOST, 'Content-Type: application/json', 'Content-Length: 0')).status).toBe(200);
    expect(reached).toEqual(['e', 'e']);
  });
});

describe('admission over HTTP', () => {
  let release = () => {};
  const released = new Promise<never[]>((resolve) => {
    release = () => resolve([]);
  });
  const admission = new Admission({ maxWaitMs: 0 });
  // As many places as in the beginning, however fast this machine is.
  admission.turnTook = () => {};
  const { app: slow } = appWith({ evaluations: { list: () => released } }, admission);
  let busy: Listener;
  beforeAll(async () => {
    busy = await listen(slow, { admission, guard: new RequestGuard(), host: '127.0.0.1', port: 0 });
  });
  afterAll(() => busy.close(0));
  const raw = (...lines: string[]) => rawRequest(busy.url, ...lines, HOST, 'Connection: close');

  it('answers 429 before the body is there, and others as always', async () => {
    // More than may be in progress: each is answered in the end or refused now.
    const asked = Array.from({ length: 100 }, () => fetch(`${busy.url}/v1/catalogs/default/evaluations`));
    const first = await Promise.any(
      asked.map(async (answer) => ((await answer).status === 429 ? answer : Promise.reject())),
    );
    expect(first.headers.get('retry-after')).toBe('1');
    expect(await first.json()).toMatchObject({ code: 'too-many-requests', suggestedFix: expect.any(String) });
    expect((await raw('GET /livez HTTP/1.1')).status).toBe(200);
    expect((await raw('GET /nowhere HTTP/1.1')).status).toBe(429);
    // Of another class, and never any body.
    const lines = ['POST /v1/nowhere HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 2000000'];
    expect((await raw(...lines)).status).toBe(404);
    release();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect((await raw('GET /v1/catalogs/default/evaluations HTTP/1.1')).status).toBe(200);
  });

  it('does not count requests whose bodies are on their way', async () => {
    const { app } = appWith({
      routing: { route: async () => ({ decisionId: 'default.1', tools: [] }) as never },
    });
    const open = { admission: new Admission({ maxWaitMs: 0 }), guard: new RequestGuard() };
    const { url, close } = await listen(app, { ...open, host: '127.0.0.1', port: 0 });
    const head = ['POST /v1/route HTTP/1.1', HOST, 'Content-Type: application/json', 'Connection: close'];
    const begun = ['Content-Length: 13', '', '{"query"'];
    const sockets = Array.from({ length: 100 }, () => connect(Number(new URL(url).port), '127.0.0.1'));
    for (const socket of sockets) socket.write([...head, ...begun].join('\r\n'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    const whole = [...head, ...begun].join('\r\n').concat(':"q"}');
    expect((await rawBytes(url, whole)).status).toBe(200);
    const answers = sockets.map(async (socket) => String(await once(socket, 'data')));
    for (const socket of sockets) socket.write(':"q"}');
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1.1 200/);
    await close(0);
  });

  it('does nothing for a client that went away while it waited', async () => {
    let answerAll = () => {};
    const answered = new Promise<never[]>((resolve) => {
      answerAll = () => resolve([]);
    });
    let begun = 0;
    const list = () => {
      begun++;
      return answered;
    };
    const crowded = new Admission();
    crowded.turnTook = () => {};
    const entered = new EventEmitter<{ ticket: [Ticket | null] }>();
    crowded.enter = (kind) => {
      const ticket = Admission.prototype.enter.call(crowded, kind);
      entered.emit('ticket', ticket);
      return ticket;
    };
    const { app } = appWith({ evaluations: { list } }, crowded);
    const open = { admission: crowded, guard: new RequestGuard() };
    const { url, close } = await listen(app, { ...open, host: '127.0.0.1', port: 0 });
    const request = ['GET /v1/catalogs/default/evaluations HTTP/1.1', HOST, 'Connection: close', '', ''];
    const sockets: Socket[] = [];
    let last: Ticket | null;
    do {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      sockets.push(socket);
      socket.write(request.join('\r\n'));
      [last] = await once(entered, 'ticket');
    } while (last?.isWaiting === false);
    sockets.pop()?.destroy();
    expect(await last?.turn).toBe(false);
    const answers = sockets.map(async (socket) => String(await once(socket, 'data')));
    answerAll();
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1.1 200/);
    expect(begun).toBe(sockets.length);
    await close(0);
  });

  it('answers 503 while shutting down, but lets probes through', async () => {
    admission.drain();
    const refused = await rawRequest(busy.url, 'GET /v1/catalogs HTTP/1.1', HOST);
    expectProblem(refused, 503, 'shutting-down');
    expect(refused.text).toMatch(/^connection: close$/im);
    expect((await raw('GET /livez HTTP/1.1')).status).toBe(200);
  });

  it('tells a client to go on that asked first, and one that is refused not to', async () => {
    const head = [
      'POST /v1/route HTTP/1.1',
      'Content-Length: 2',
      'Expect: 100-continue',
      'Connection: close',
    ];
    const refused = await rawRequest(listener.url, ...head, HOST);
    expectProblem(refused, 415, 'unsupported-media-type');
    const bytes = [...head, HOST, 'Content-Type: application/json', '', '{}'].join('\r\n');
    expect((await rawBytes(listener.url, bytes)).text).toMatch(
      /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 422 /,
    );
  });
});
