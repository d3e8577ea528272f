/**
 * How much more does a route cost when its user has 50 items? The same requests without `userId`, for users of whom nothing is kept, for
 * users who are in memory, and for users who are read from the data folder each time, in alternating rounds of one real server process.
 *
 *   npx tsx bench/context-routes.ts [--data ../shared/data] [--tools 1000] [--users 2000] [--rounds 20] [--seconds 1]
 *                                   [--main dist/bundle/main.js] [--stored 0]
 *
 * With `--stored 100000` the other question: how much more does a route *without* a user cost while so many users with 50 items are stored?
 * The same requests to two servers in turns, one of them with an empty data folder.
 *
 * What is compared is processor time of all threads, a route, as ratios of rounds that follow each other.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { storeUsers } from './context/stored-users.ts';
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
    main: { type: 'string', default: 'dist/bundle/main.js' },
    stored: { type: 'string', default: '0' },
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

/** A service with the tools of the workload, and who asks it. */
class Server {
  readonly process: PinnedProcess;
  readonly load: HttpLoad;
  readonly #folder: string;

  private constructor(process: PinnedProcess, folder: string) {
    this.process = process;
    this.load = new HttpLoad(process.url);
    this.#folder = folder;
  }

  static async start(folder: string): Promise<Server> {
    const words = [options.main, 'serve', '--port', '0', '--data-dir', folder];
    const environment = { BANDOLIER_LOG_LEVEL: 'error', BANDOLIER_MAX_WAIT_MS: '60000' };
    const server = new Server(await PinnedProcess.start(words, environment), folder);
    const tools = JSON.stringify({ put: workload.tools(Number(options.tools)) });
    await server.load.send('/v1/catalogs/default/tools', tools, 'PATCH');
    return server;
  }

  async stop(): Promise<void> {
    await this.process.stop();
    rmSync(this.#folder, { recursive: true });
  }
}

pinThisProcess();
const workload = await readWorkload(options.data);
const { queries } = workload;
const stored = Number(options.stored);
const report = stored > 0 ? await ofStored() : await ofUsers();
mkdirSync('bench/results', { recursive: true });
writeFileSync('bench/results/context-routes.json', `${JSON.stringify(report, null, 2)}\n`);

async function ofUsers() {
  const server = await Server.start(mkdtempSync(join(tmpdir(), 'bench-context-routes-')));
  try {
    let next = 0;
    const putSome = async (): Promise<void> => {
      while (next < users) {
        const user = next++;
        const items = textsOf(user).map((text, n) => ({ id: `item-${n}`, store: `store-${n % 7}`, text }));
        const path = `/v1/catalogs/default/users/user-${user}/context`;
        await server.load.send(path, JSON.stringify({ items }), 'PUT');
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, putSome));
    const asked = STREAMS.map((stream) => ({ name: stream, server, body: bodiesOf(stream) }));
    const rows = await inRounds(asked);
    return {
      ...measuredOn(`npx tsx bench/context-routes.ts --users ${users} --rounds ${rounds}`),
      ...{ tools: Number(options.tools), users, items: ITEMS, memoryMb: server.process.memory },
      ...{ loadAverage: loadavg()[0], rows },
    };
  } finally {
    await server.stop();
  }
}

async function ofStored() {
  const servers: Server[] = [];
  try {
    servers.push(await Server.start(mkdtempSync(join(tmpdir(), 'bench-context-routes-'))));
    const full = mkdtempSync(join(tmpdir(), 'bench-context-routes-'));
    let state = 1;
    const draw = (): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 32 - 0.5;
    };
    const vectors = textsOf(0).map(() => Float32Array.from({ length: 256 }, draw));
    await storeUsers(full, 'default', stored, textsOf(0), { fingerprint: 'drawn', vectors });
    servers.push(await Server.start(full));
    const names = ['without', `without, while ${stored} users are stored`];
    const asked = servers.map((server, at) => ({ name: names[at], server, body: bodiesOf('without') }));
    const rows = await inRounds(asked);
    return {
      ...measuredOn(`npx tsx bench/context-routes.ts --stored ${stored} --rounds ${rounds}`),
      ...{ tools: Number(options.tools), stored, items: ITEMS },
      ...{ memoryMb: servers.map(({ process }) => process.memory), loadAverage: loadavg()[0], rows },
    };
  } finally {
    for (const server of servers) await server.stop();
  }
}

interface Asked {
  readonly name: string;
  readonly server: Server;
  body(): string;
}

/** Processor time of each, and as ratios to the first in the same round. */
async function inRounds(all: readonly Asked[]) {
  for (const { server, body } of all)
    await server.load.sendMany({ path: '/v1/route', body }, CLIENTS, WARM_UP);
  const times = all.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const one of round % 2 === 0 ? all : [...all].reverse()) {
      const { server, body } = one;
      const before = server.process.cpuSeconds;
      const { count } = await server.load.saturate({ path: '/v1/route', body }, CLIENTS, seconds);
      times[all.indexOf(one)].push((1e6 * (server.process.cpuSeconds - before)) / count);
    }
  }
  const rows = all.map(({ name }, at) => {
    const ratios = times[at].map((time, round) => time / times[0][round]).sort((a, b) => a - b);
    const quartiles = ratios[Math.floor(rounds * 0.75)] - ratios[Math.floor(rounds * 0.25)];
    return {
      requests: name,
      cpuMicroseconds: Math.round(median(times[at])),
      ratio: Number(median(ratios).toFixed(3)),
      // Of a median of normally distributed ratios, whose spread the quartiles say.
      error: Number(((1.253 * (quartiles / 1.349)) / Math.sqrt(rounds)).toFixed(3)),
    };
  });
  console.table(rows);
  return rows;
}

function textsOf(user: number): string[] {
  const from = user * ITEMS;
  return Array.from({ length: ITEMS }, (_, n) => queries[(from + n) % queries.length].slice(0, 100));
}

function bodiesOf(stream: Stream): () => string {
  const query = distinctQueries(queries);
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
