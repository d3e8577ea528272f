/**
 * For how long does one request hold everybody else up? Each hostile request goes to a service of its own, over HTTP,
 * while another connection asks for /livez and a third one routes. Printed: what the request was answered and after how
 * long, the longest hold of the event loop (processor time of the main thread; by the clock it counts the rest of the
 * machine as well), the slowest of the other two, and the most memory.
 *
 *   npx tsx bench/hostile/large-requests.ts [--main dist/bundle/main.js] [--only <part of a name>]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { measuredOn } from '../measured-on.ts';
import { type Answer, WatchedService } from './watched-service.ts';

const { values: options } = parseArgs({
  options: {
    main: { type: 'string', default: 'dist/bundle/main.js' },
    only: { type: 'string', default: '' },
  },
});

const TOOLS = '/v1/catalogs/default/tools';

interface Case {
  readonly what: string;
  /** Before anything is measured. */
  readonly before?: (service: WatchedService) => Promise<unknown>;
  readonly ask: (service: WatchedService) => Promise<Answer>;
}

const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, i) => `w${(seed * 7919 + i * i * 31) % 4001}`).join(' ');

const tool = (i: number, more: object = {}) => ({
  name: `tool_${i}`,
  description: words(i, 60),
  inputSchema: {
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 12 }, (_, p) => [`p${p}`, { type: 'string', description: words(i + p, 8) }]),
    ),
  },
  ...more,
});
const tools = (count: number, first = 0, more: object = {}): string =>
  Array.from({ length: count }, (_, i) => JSON.stringify(tool(first + i, more))).join();

const put = (body: string | (() => string)) => async (service: WatchedService) =>
  service.send('PUT', TOOLS, typeof body === 'string' ? body : body());
const patch = (body: () => string) => async (service: WatchedService) => service.send('PATCH', TOOLS, body());
const post = (path: string, body: () => string) => async (service: WatchedService) =>
  service.send('POST', path, body());
const get = (path: string) => (service: WatchedService) => service.send('GET', path);
const numbered = (count: number, member: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => member(i)).join();

const fifteenThousand = async (service: WatchedService): Promise<void> => {
  for (let first = 0; first < 15_000; first += 5000) {
    const { status, text } = await service.send('PATCH', TOOLS, `{"put":[${tools(5000, first)}]}`);
    // It may have taken longer than a command is waited for.
    if (status !== 200 && status !== 503) throw new Error(text);
  }
};

const CASES: readonly Case[] = [
  { what: 'nothing', ask: get('/livez') },
  {
    what: '2.4 million keys in a schema',
    ask: put(
      () =>
        `{"tools":[{"name":"a","description":"","inputSchema":{${numbered(2.4e6, (i) => `"k${i}":1`)}}}]}`,
    ),
  },
  { what: '2.4 million unknown keys', ask: put(() => `{"tools":[],${numbered(2.4e6, (i) => `"k${i}":1`)}}`) },
  {
    what: '9,000 unknown keys in a tool',
    ask: put(
      () =>
        `{"tools":[{"name":"a","description":"","inputSchema":{},${numbered(9000, (i) => `"k${i}":1`)}}]}`,
    ),
  },
  { what: '10 million empty lists as tools', ask: put(() => `{"tools":[${'[],'.repeat(1e7)}[]]}`) },
  { what: '10,000 empty lists as tools', ask: put(() => `{"tools":[${'[],'.repeat(9999)}[]]}`) },
  { what: '9,900 invalid tools', ask: put(() => `{"tools":[${tools(9900, 0, { tags: [1], x: 2 })}]}`) },
  {
    what: '10,000 tools, each with 10,000 bad tags, 32 MB',
    ask: put(() => `{"tools":[${numbered(1000, () => `{"tags":[${'1,'.repeat(9990)}1]}`)}]}`),
  },
  { what: '10 million levels', ask: put(() => `{"tools":[${'['.repeat(1e7)}`) },
  {
    what: '5 million escapes in a description',
    ask: put(() => `{"tools":[{"description":"${'\\u0041'.repeat(5e6)}"}]}`),
  },
  { what: 'a number of 30 million digits', ask: put(() => `{"tools":[${'1'.repeat(3e7)}]}`) },
  { what: 'a number of a million digits', ask: put(() => `{"tools":[${'1'.repeat(1e6)}]}`) },
  { what: 'the same list 300,000 times', ask: put(() => `{${numbered(3e5, () => '"tools":[]')}}`) },
  {
    what: 'the same key 9,000 times in 200 tools',
    ask: put(
      () =>
        `{"tools":[${numbered(200, (i) => `{"name":"t${i}","description":"","inputSchema":{${numbered(9000, () => '"a":{}')}}}`)}]}`,
    ),
  },
  {
    what: '1,900 loops of $refs in 400 schemas',
    ask: put(
      () =>
        `{"tools":[${numbered(400, (i) => `{"name":"t${i}","description":"","inputSchema":{"$defs":{${numbered(1900, (d) => `"d${d}":{"$ref":"#/$defs/d${d + 1}"}`)}}}}`)}]}`,
    ),
  },
  { what: '200,000 rewards', ask: post('/v1/rewards', () => `{"rewards":[${numbered(2e5, () => '{}')}]}`) },
  {
    what: '1,000 rewards of unknown decisions',
    ask: post(
      '/v1/rewards',
      () => `{"rewards":[${numbered(1000, (i) => `{"decisionId":"default.${i}","value":1}`)}]}`,
    ),
  },
  {
    what: '2,000 messages, 1 MB',
    ask: post(
      '/v1/route',
      () => `{"messages":[${numbered(2000, (i) => `{"role":"user","content":"${words(i, 80)}"}`)}]}`,
    ),
  },
  {
    what: 'one message of 1 MB',
    ask: post('/v1/route', () => `{"messages":[{"role":"user","content":"${words(1, 170_000)}"}]}`),
  },
  {
    what: 'a query of 32,000 characters',
    ask: post('/v1/route', () => `{"query":"${words(1, 6000).slice(0, 32_000)}"}`),
  },
  { what: '9,900 valid tools, 15 MB', ask: put(() => `{"tools":[${tools(9900)}]}`) },
  {
    what: 'the same 9,900 tools again',
    before: put(() => `{"tools":[${tools(9900)}]}`),
    ask: put(() => `{"tools":[${tools(9900)}]}`),
  },
  {
    what: '9,900 tools of which all changed',
    before: put(() => `{"tools":[${tools(9900)}]}`),
    ask: put(() => `{"tools":[${tools(9900, 0, { server: 's' })}]}`),
  },
  { what: 'PUT of none in place of 15,000', before: fifteenThousand, ask: put('{"tools":[]}') },
  {
    what: '9,900 removals',
    before: put(() => `{"tools":[${tools(9900)}]}`),
    ask: patch(() => `{"remove":[${numbered(9900, (i) => `"tool_${i}"`)}]}`),
  },
  { what: 'the digest of 15,000 tools', before: fifteenThousand, ask: get('/v1/catalogs/default/digest') },
  { what: 'a page of 1,000 of 15,000 tools', before: fifteenThousand, ask: get(`${TOOLS}?limit=1000`) },
  {
    what: 'a page of 900 tools of 60 KB',
    before: async (service) => {
      for (let first = 0; first < 900; first += 300) {
        const schema = { inputSchema: { type: 'object', description: 'x'.repeat(60_000) } };
        await service.send('PATCH', TOOLS, `{"put":[${tools(300, first, schema)}]}`);
      }
    },
    ask: get(`${TOOLS}?limit=1000`),
  },
  {
    what: 'ten digests at once',
    before: fifteenThousand,
    ask: async (service) =>
      (await Promise.all(Array.from({ length: 10 }, () => get('/v1/catalogs/default/digest')(service))))[9],
  },
  {
    what: 'a route in 15,000 tools',
    before: fifteenThousand,
    ask: post('/v1/route', () => '{"query":"w1 w2 w3","k":50}'),
  },
  {
    what: 'an evaluation among 15,000 tools',
    before: fifteenThousand,
    ask: async (service) => {
      const path = '/v1/catalogs/default/evaluations';
      const created = await service.send('POST', path, '{"candidates":[{"policy":{"name":"sc-linucb"}}]}');
      const { id } = JSON.parse(created.text) as { id: string };
      for (;;) {
        const answer = await service.send('GET', `${path}/${id}`);
        if (!/"status":"(queued|running)"/.test(answer.text)) return answer;
        await wait(50);
      }
    },
  },
  {
    what: 'an experiment among 15,000 tools, and its report',
    before: fifteenThousand,
    ask: async (service) => {
      const path = '/v1/catalogs/default/experiments';
      const variants = [
        { name: 'a', share: 50 },
        { name: 'b', share: 50, policy: { name: 'sc-linucb' } },
      ];
      await service.send('POST', path, JSON.stringify({ name: 'e', unit: 'unitId', variants }));
      await service.send('POST', `${path}/e/start`);
      return service.send('GET', `${path}/e/report`);
    },
  },
  { what: '1,100 connections that send {', ask: (service) => halfSent(service, 1100, 1) },
  { what: '30 bodies of 30 MB that never end', ask: (service) => halfSent(service, 30, 30e6) },
];

/** Connections that announce 31 MB, send less, and stay. Answers what a request beside them is answered. */
async function halfSent(service: WatchedService, connections: number, bytes: number): Promise<Answer> {
  const head = `PUT ${TOOLS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 31000000\r\n\r\n`;
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => {
      const socket = connect(Number(service.url.port), '127.0.0.1');
      socket.on('error', () => {});
      return new Promise<Socket>((resolve) => socket.once('connect', () => resolve(socket)));
    }),
  );
  const piece = Buffer.from('{"a":1},'.repeat(8192));
  await Promise.race([
    Promise.all(
      sockets.map(async (socket) => {
        socket.write(head);
        socket.write('{"tools":[');
        for (let sent = 11; sent < bytes && !socket.destroyed; sent += piece.length) {
          if (!socket.write(piece))
            await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
        }
      }),
    ),
    wait(20_000),
  ]);
  const answer = await service.send('POST', '/v1/route', '{"query":"w1"}');
  for (const socket of sockets) socket.destroy();
  return answer;
}

/** Asks again and again until `until` is over. Answers the longest that it took, in ms. */
async function beside(ask: () => Promise<Answer>, until: Promise<unknown>): Promise<number> {
  let isOver = false;
  until.finally(() => (isOver = true));
  let longest = 0;
  while (!isOver) {
    longest = Math.max(longest, (await ask()).seconds * 1000);
    await wait(5);
  }
  return longest;
}

const rows = [];
for (const { what, before, ask } of CASES.filter((one) => one.what.includes(options.only))) {
  const service = await WatchedService.start(options.main);
  try {
    await service.send('PATCH', TOOLS, `{"put":[${tools(20, 100_000)}]}`);
    await before?.(service);
    for (let i = 0; i < 20; i++) await service.send('POST', '/v1/route', '{"query":"w1 w2"}');
    await wait(300);
    await service.hold();
    const start = performance.now();
    const answering = ask(service);
    let seconds = 0;
    answering.finally(() => {
      seconds = (performance.now() - start) / 1000;
    });
    const [answer, livezMs, routeMs] = await Promise.all([
      answering,
      beside(() => service.send('GET', '/livez'), answering),
      beside(() => service.send('POST', '/v1/route', '{"query":"w1 w2"}'), answering),
    ]);
    await wait(300);
    const { processorMs, clockMs } = await service.hold();
    const code = /"code":"([\w-]+)"/.exec(answer.text)?.[1] ?? '';
    rows.push({
      what,
      status: answer.status,
      code,
      seconds: Number(seconds.toFixed(2)),
      'hold, processor ms': Math.round(processorMs),
      'by the clock': Math.round(clockMs),
      'livez ms': Math.round(livezMs),
      'route ms': Math.round(routeMs),
      'peak MB': Math.round(service.peakMegabytes),
    });
    console.log(JSON.stringify(rows.at(-1)));
  } finally {
    await service.stop();
  }
}
console.table(rows);
if (options.only === '') {
  mkdirSync('bench/results', { recursive: true });
  const results = { ...measuredOn('npx tsx bench/hostile/large-requests.ts'), rows };
  writeFileSync('bench/results/large-requests.json', `${JSON.stringify(results, null, 2)}\n`);
}
