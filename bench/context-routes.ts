/**
 * How much more does a route cost when its user has 50 items? The same requests without `userId`, for users of whom nothing is kept, for
 * users who are in memory, and for users who are read from the data folder each time, in alternating rounds of one real server process.
 *
 *   npx tsx bench/context-routes.ts [--data ../shared/data] [--tools 1000] [--users 2000] [--rounds 20] [--seconds 1]
 *                                   [--main dist/src/main.js]
 *
 * What is compared is processor time of all threads, a route, as ratios of rounds that follow each other.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';
import { HttpLoad } from './route/http-load.ts';
import { PinnedProcess, pinThisProcess } from './route/pinned-process.ts';
import { distinctQueries, readWorkload } from './route/workload.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    tools: { type: 'string', default: '1000' },
    users: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '1' },
    main: { type: 'string', default: 'dist/src/main.js' },
  },
});
const [users, rounds, seconds] = [Number(options.users), Number(options.rounds), Number(options.seconds)];
const ITEMS = 50;
const CLIENTS = 8;
const WARM_USERS = 50;
const WARM_UP = 2_000;
/** The cache of users holds about a thousand such, so that of two thousand in a row none is in it. */
const STREAMS = ['without', 'nobody', 'warm', 'cold'] as const;
type Stream = (typeof STREAMS)[number];

pinThisProcess();
const workload = await readWorkload(options.data);
const folder = mkdtempSync(join(tmpdir(), 'bench-context-routes-'));
const server = await PinnedProcess.start([options.main, 'serve', '--port', '0', '--data-dir', folder], {
  BANDOLIER_LOG_LEVEL: 'error',
  BANDOLIER_MAX_WAIT_MS: '60000',
});
try {
  const load = new HttpLoad(server.url);
  const tools = JSON.stringify({ put: workload.tools(Number(options.tools)) });
  await load.send('/v1/catalogs/default/tools', tools, 'PATCH');
  const { queries } = workload;
  let next = 0;
  const putSome = async (): Promise<void> => {
    while (next < users) {
      const user = next++;
      const items = Array.from({ length: ITEMS }, (_, n) => ({
        ...{ id: `item-${n}`, store: `store-${n % 7}` },
        text: `${queries[(user * ITEMS + n) % queries.length].slice(0, 100)}`,
      }));
      await load.send(`/v1/catalogs/default/users/user-${user}/context`, JSON.stringify({ items }), 'PUT');
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, putSome));
  const bodies = Object.fromEntries(STREAMS.map((stream) => [stream, bodiesOf(stream)])) as Record<
    Stream,
    () => string
  >;
  for (const stream of STREAMS)
    await load.sendMany({ path: '/v1/route', body: bodies[stream] }, CLIENTS, WARM_UP);
  const times: Record<Stream, number[]> = { without: [], nobody: [], warm: [], cold: [] };
  for (let round = 0; round < rounds; round++) {
    for (const stream of round % 2 === 0 ? STREAMS : [...STREAMS].reverse()) {
      const before = server.cpuSeconds;
      const { count } = await load.saturate({ path: '/v1/route', body: bodies[stream] }, CLIENTS, seconds);
      times[stream].push((1e6 * (server.cpuSeconds - before)) / count);
    }
  }
  const rows = STREAMS.map((stream) => {
    const ratios = times[stream].map((time, round) => time / times.without[round]).sort((a, b) => a - b);
    const quartiles = ratios[Math.floor(rounds * 0.75)] - ratios[Math.floor(rounds * 0.25)];
    return {
      stream,
      cpuMicroseconds: Math.round(median(times[stream])),
      ratio: Number(median(ratios).toFixed(3)),
      // Of a median of normally distributed ratios, whose spread the quartiles say.
      error: Number(((1.253 * (quartiles / 1.349)) / Math.sqrt(rounds)).toFixed(3)),
    };
  });
  console.table(rows);
  const report = {
    ...measuredOn(`npx tsx bench/context-routes.ts --users ${users} --rounds ${rounds}`),
    ...{
      tools: Number(options.tools),
      users,
      items: ITEMS,
      memoryMb: server.memory,
      loadAverage: loadavg()[0],
    },
    rows,
  };
  mkdirSync('bench/results', { recursive: true });
  writeFileSync('bench/results/context-routes.json', `${JSON.stringify(report, null, 2)}\n`);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}

function bodiesOf(stream: Stream): () => string {
  const query = distinctQueries(workload.queries);
  let next = 0;
  const userOf = (): string | undefined => {
    const n = next++;
    if (stream === 'nobody') return `nobody-${n}`;
    if (stream === 'warm') return `user-${n % Math.min(WARM_USERS, users)}`;
    return stream === 'cold' ? `user-${n % users}` : undefined;
  };
  // Not those of another stream, which are understood already.
  const own = STREAMS.indexOf(stream);
  return () => JSON.stringify({ query: `${query()} ${own}`, k: 5, userId: userOf() });
}
