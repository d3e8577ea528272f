import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningService, temporaryFolder } from '../e2e/running-service.ts';

const TOOLS = '/v1/catalogs/default/tools';
const OTHERS = 20;

const folder = temporaryFolder();
let service: RunningService;

beforeAll(async () => {
  service = await RunningService.start(folder.path, ['--sample']);
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

const numbered = (count: number, one: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => one(i)).join();
const tool = (i: number, more = ''): string =>
  `{"name":"large_${i}","description":"${'words '.repeat(20)}${i}","inputSchema":{"type":"object"}${more}}`;
const schemaKeys = (count: number): string =>
  `{"tools":[{"name":"a","description":"","inputSchema":{${numbered(count, (i) => `"k${i}":1`)}}}]}`;

interface Hostile {
  readonly what: string;
  readonly method?: string;
  readonly path?: string;
  readonly body: () => string;
  readonly status: number;
  readonly code: string;
}

const HOSTILE: readonly Hostile[] = [
  { what: '2.4 million schema keys', body: () => schemaKeys(2.4e6), status: 422, code: 'validation-failed' },
  {
    what: '2.4 million unknown keys',
    body: () => `{"tools":[],${numbered(2.4e6, (i) => `"k${i}":1`)}}`,
    status: 422,
    code: 'validation-failed',
  },
  {
    what: 'ten million lists as tools',
    body: () => `{"tools":[${'[],'.repeat(1e7)}[]]}`,
    status: 413,
    code: 'too-many-tools',
  },
  {
    what: '9,900 invalid tools',
    body: () => `{"tools":[${numbered(9900, (i) => tool(i, ',"tags":[1],"x":2'))}]}`,
    status: 422,
    code: 'validation-failed',
  },
  {
    what: 'ten million levels',
    body: () => `{"tools":[${'['.repeat(1e7)}`,
    status: 422,
    code: 'validation-failed',
  },
  {
    what: '200,000 rewards',
    method: 'POST',
    path: '/v1/rewards',
    body: () => `{"rewards":[${numbered(2e5, () => '{}')}]}`,
    status: 422,
    code: 'validation-failed',
  },
];

describe('a request that is too much', () => {
  it.each(HOSTILE)('of $what is refused while it comes', async ({ method, path, body, status, code }) => {
    const answer = await service.request(method ?? 'PUT', path ?? TOOLS, body());
    expect(answer).toMatchObject({ status, body: { code } });
    expect((answer.body.violations as unknown[] | undefined)?.length ?? 0).toBeLessThanOrEqual(100);
    expect(await service.request('GET', '/livez')).toMatchObject({ status: 200 });
  });
});

describe('a request that is large but right', () => {
  /** Sends it, and twenty others right after it, of which at least three have to be answered first. */
  async function letsOthersPass(method: string, path: string, body?: string): Promise<void> {
    const answered: string[] = [];
    const large = service.request(method, path, body).finally(() => answered.push('large'));
    const others = Array.from({ length: 20 }, (_, other) =>
      service.ask('POST', '/v1/route', { query: `refund ${other}` }).then(() => answered.push('other')),
    );
    await Promise.all(others);
    expect(await large).toMatchObject({ status: 200 });
    expect(answered.indexOf('large')).toBeGreaterThanOrEqual(3);
  }

  it('lets others pass: 9,000 tools that are put', async () => {
    await letsOthersPass('PATCH', TOOLS, `{"put":[${numbered(9000, (i) => tool(i))}]}`);
  });

  it('lets others pass: 9,000 tools that are removed', async () => {
    await letsOthersPass('PATCH', TOOLS, `{"remove":[${numbered(9000, (i) => `"large_${i}"`)}]}`);
  });
});

describe('bodies that never end', () => {
  const HEAD = `PUT ${TOOLS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 31000000\r\n\r\n`;

  async function halfSent(start: string): Promise<Socket> {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(HEAD + start);
    return socket;
  }

  it('keep nobody out, though there are more of them than requests may be in progress', async () => {
    const sockets = await Promise.all(Array.from({ length: 1100 }, () => halfSent('{')));
    for (let other = 0; other < OTHERS; other++) {
      expect(await service.request('POST', '/v1/route', { query: 'refund' })).toMatchObject({ status: 200 });
    }
    for (const socket of sockets) socket.destroy();
  });

  it('are given up, and told so', async () => {
    const socket = await halfSent('{"tools":[');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    await once(socket, 'close');
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer).toMatch(/^connection: close\r$/im);
    expect(answer).toMatch(/"code":"request-timeout"/);
  });
});
