/**
 * What does keeping the context of users cost, in a data folder: disk, and loading a user for a route, cold and from the cache?
 *
 *   npx tsx bench/context-store.ts --users 100000 --folder <a folder on the disk that is meant>
 */

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import type { Catalogs } from '../src/catalog/catalogs.ts';
import { FileContextStore } from '../src/context/file-context-store.ts';
import { UserContexts } from '../src/context/user-contexts.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({
  options: {
    users: { type: 'string', default: '100000' },
    items: { type: 'string', default: '50' },
    folder: { type: 'string', default: packageRoot() },
  },
});
const [users, items] = [Number(options.users), Number(options.items)];
const DIMENSIONS = 256;
const AT_ONCE = 32;
const LOADS = Math.min(users, 1_000);

let state = 1;
const draw = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
const embedder = {
  fingerprint: 'drawn',
  dimensions: DIMENSIONS,
  embedDocuments: async (texts: readonly string[]) =>
    texts.map(() => Float32Array.from({ length: DIMENSIONS }, () => draw() - 0.5)),
};
const catalog = { name: 'default', embedder };
const catalogs = {
  find: () => catalog,
  get: () => catalog,
  holding: async (_: string, work: (one: unknown) => unknown) => work(catalog),
} as unknown as Catalogs;

const folder = await mkdtemp(join(options.folder, '.bench-context-'));
try {
  const open = (cacheBytes?: number): UserContexts =>
    new UserContexts({
      ...{ catalogs, store: new FileContextStore(folder), secret: undefined, now: () => Date.now() },
      onError: (message, error) => console.error(message, error),
      ...(cacheBytes !== undefined && { cacheBytes }),
    });
  const writer = open(0);
  const wrote = performance.now();
  for (let user = 0; user < users; user += AT_ONCE) {
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, users - user) }, (_, n) =>
        writer.put('default', `user-${user + n}`, textsOf(user + n)),
      ),
    );
  }
  const putMs = (performance.now() - wrote) / users;
  const diskBytes = Number(execFileSync('du', ['-sk', folder], { encoding: 'utf8' }).split('\t')[0]) * 1024;
  const started = performance.now();
  const reader = open();
  await reader.load('default', 'user-0');
  const startMs = performance.now() - started;
  const drawn = Array.from({ length: LOADS }, () => `user-${Math.floor(draw() * users)}`);
  const cold = await timed(reader, drawn);
  const warm = await timed(reader, drawn.slice(-200));
  const row = {
    users,
    items,
    putMs,
    bytesPerUser: diskBytes / users,
    diskMb: diskBytes / 2 ** 20,
    startMs,
    cold,
    warm,
  };
  console.log(row);
  const results = join(packageRoot(), 'bench', 'results');
  await mkdir(results, { recursive: true });
  const report = { ...measuredOn(`npx tsx bench/context-store.ts --users ${users}`), files: row };
  await writeFile(join(results, 'context-store.json'), `${JSON.stringify(report, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true });
}

function textsOf(user: number) {
  return Array.from({ length: items }, (_, n) => ({
    ...{
      id: `item-${n}`,
      store: 'notes',
      text: `Note ${n} of user ${user}: ${Math.floor(draw() * 1e9)} words about it, and when`,
    },
  }));
}

/** ms */
async function timed(contexts: UserContexts, names: readonly string[]) {
  const times: number[] = [];
  for (const name of names) {
    const start = performance.now();
    await contexts.load('default', name);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(times.length / 2)], p99: times[Math.floor(times.length * 0.99)] };
}
