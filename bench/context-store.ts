/**
 * What does keeping the context of users cost, in a data folder and in Redis: disk or memory of Redis, starting with it, putting, and
 * loading a user for a route, cold and from the cache?
 *
 *   npx tsx bench/context-store.ts [--users 2000] [--items 50] [--stores files,redis] [--folder <on the disk that is meant>]
 *
 * Vectors are drawn and not embedded: how long embedding takes is a matter of the model. Everything else is what the service does.
 */

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import type { Catalogs } from '../src/catalog/catalogs.ts';
import type { ContextStore } from '../src/context/context-store.ts';
import { FileContextStore } from '../src/context/file-context-store.ts';
import { RedisContextStore } from '../src/context/redis-context-store.ts';
import { UserContexts } from '../src/context/user-contexts.ts';
import { RedisConnections } from '../src/redis/redis-connection.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { startRedis } from '../tests/redis/redis-server.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';
import { PinnedProcess } from './route/pinned-process.ts';

const kernels = await loadKernels();

const { values: options } = parseArgs({
  options: {
    users: { type: 'string', default: '2000' },
    items: { type: 'string', default: '50' },
    stores: { type: 'string', default: 'files,redis' },
    folder: { type: 'string', default: packageRoot() },
  },
});
const [users, items] = [Number(options.users), Number(options.items)];
const DIMENSIONS = 256;
const AT_ONCE = 32;
const LOADS = Math.min(users, 1_000);
const STARTS = 3;
const SECRET = 'a secret of sixteen characters or more';
const MAIN = join(packageRoot(), 'dist/bundle/main.js');

let state = 1;
const draw = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
const vectors = Array.from({ length: 1_000 }, () =>
  Float32Array.from({ length: DIMENSIONS }, () => draw() - 0.5),
);
const embedder = {
  fingerprint: 'drawn',
  dimensions: DIMENSIONS,
  embedDocuments: async (texts: readonly string[]) =>
    texts.map(() => vectors[Math.floor(draw() * vectors.length)]),
};
const catalog = { name: 'default', embedder };
const catalogs = {
  find: () => catalog,
  get: () => catalog,
  holding: async (_: string, work: (one: unknown) => unknown) => work(catalog),
} as unknown as Catalogs;

/** A store of users, and services that are started on it. */
interface Place {
  readonly store: ContextStore;
  /** How a service is started on it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
  /** What it takes, bytes. */
  size(): Promise<number>;
}

type Started = Readonly<Record<'wallMs' | 'cpuMs' | 'memoryMb', number>>;

const scratch = await mkdtemp(join(options.folder, '.bench-context-'));
const closing: (() => unknown)[] = [() => rm(scratch, { recursive: true })];
try {
  const rows: Record<string, object> = {};
  for (const kind of options.stores.split(',')) {
    const place = (name: string) => (kind === 'redis' ? redisPlace(name) : filePlace(name));
    rows[kind] = await measured(await place(`${kind}-empty`), await place(kind));
    console.log(kind, rows[kind]);
  }
  const results = join(packageRoot(), 'bench', 'results');
  await mkdir(results, { recursive: true });
  const report = { ...measuredOn(`npx tsx bench/context-store.ts --users ${users}`), users, items, ...rows };
  await writeFile(join(results, 'context-store.json'), `${JSON.stringify(report, null, 2)}\n`);
} finally {
  for (const close of closing.reverse()) await close();
}

async function measured(empty: Place, full: Place) {
  const without = await full.size();
  const writer = contextsOf(full.store, 0);
  const [wrote, cpu] = [performance.now(), process.cpuUsage()];
  for (let user = 0; user < users; user += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, users - user) }, (_, n) => user + n);
    await Promise.all(some.map((n) => writer.put('default', `user-${n}`, textsOf(n))));
  }
  const seconds = (performance.now() - wrote) / 1000;
  const used = process.cpuUsage(cpu);
  const bytes = (await full.size()) - without;
  const memoryBefore = process.memoryUsage().rss;
  const reader = contextsOf(full.store);
  const drawn = Array.from({ length: LOADS }, () => `user-${Math.floor(draw() * users)}`);
  const cold = await timed(reader, drawn);
  const warm = await timed(reader, drawn.slice(-200));
  const absent = await timed(
    reader,
    drawn.map((name) => `${name}-absent`),
  );
  const memoryMb = (process.memoryUsage().rss - memoryBefore) / 2 ** 20;
  const started: Record<'without' | 'with', Started[]> = { without: [], with: [] };
  for (let round = 0; round < STARTS; round++) {
    started.without.push(await start(empty));
    started.with.push(await start(full));
  }
  return {
    bytesPerUser: Math.round(bytes / users),
    megabytes: Math.round(bytes / 2 ** 20),
    put: {
      perSecond: Math.round(users / seconds),
      cpuMsEach: (used.user + used.system) / 1000 / users,
    },
    loadMs: { cold, warm, absent },
    /** What loading so many users added to this process, whose cache is bounded. */
    memoryMb: Math.round(memoryMb),
    start: { without: medians(started.without), with: medians(started.with) },
    loadAverage: Math.round(loadavg()[0]),
  };
}

function contextsOf(store: ContextStore, cacheBytes?: number): UserContexts {
  return new UserContexts({
    ...{ catalogs, store, secret: store.isPrivate ? undefined : SECRET, kernels, now: () => Date.now() },
    onError: (message, error) => console.error(message, error),
    ...(cacheBytes !== undefined && { cacheBytes }),
  });
}

async function filePlace(name: string): Promise<Place> {
  const folder = join(scratch, name);
  const environment = { BANDOLIER_DATA_DIR: folder };
  await start({ folder, environment });
  const size = async () => {
    const text = execFileSync('du', ['-sk', folder], { encoding: 'utf8' });
    return Number(text.split('\t')[0]) * 1024;
  };
  return { store: new FileContextStore(folder), environment, folder, size };
}

async function redisPlace(name: string): Promise<Place> {
  const folder = join(scratch, name);
  const server = await startRedis();
  closing.push(() => server.dispose());
  const environment = { BANDOLIER_DATA_DIR: folder, REDIS_URL: server.url, BANDOLIER_TOKEN_KEY: SECRET };
  await start({ folder, environment });
  const connections = await RedisConnections.open(server.url);
  closing.push(() => connections.close());
  const size = async () => {
    const [, used] = /used_memory:(\d+)/.exec(await connections.commands.info('memory'))!;
    return Number(used);
  };
  return { store: new RedisContextStore(connections), environment, folder, size };
}

/** Starts the service until it listens, and ends it. */
async function start({ folder, environment }: Pick<Place, 'folder' | 'environment'>): Promise<Started> {
  const from = performance.now();
  const words = [MAIN, 'serve', '--port', '0', '--data-dir', folder];
  const service = await PinnedProcess.start(words, { BANDOLIER_LOG_LEVEL: 'fatal', ...environment });
  const wallMs = performance.now() - from;
  const [cpuMs, memoryMb] = [service.cpuSeconds * 1000, service.memory.now];
  await service.stop();
  return { wallMs, cpuMs, memoryMb };
}

function medians(starts: readonly Started[]): Started {
  const of = (name: keyof Started): number => Math.round(median(starts.map((one) => one[name])));
  return { wallMs: of('wallMs'), cpuMs: of('cpuMs'), memoryMb: of('memoryMb') };
}

function textsOf(user: number) {
  return Array.from({ length: items }, (_, n) => ({
    ...{ id: `item-${n}`, store: 'notes' },
    text: `Note ${n} of user ${user}: ${Math.floor(draw() * 1e9)} words about it, and when`,
  }));
}

/** ms */
async function timed(contexts: UserContexts, names: readonly string[]) {
  const times: number[] = [];
  for (const name of names) {
    const from = performance.now();
    await contexts.load('default', name);
    times.push(performance.now() - from);
  }
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(times.length / 2)], p99: times[Math.floor(times.length * 0.99)] };
}
