/**
 * How much longer does a route take that names a user: how long is the choice among what the user has, with 32 items, 100, 1,000 and the most
 * that are allowed? Asked: p50 of at most 1 ms with 1,000.
 *
 *   npx tsx bench/context-latency.ts [--rounds 5]
 *
 * Users are those of bench/context.ts, put together until they have as many items. The choice is that of the service, with the
 * model that ships, in one thread; reading a user from the store is not in it. Wall time follows the load; processor time is the mean.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { TreeScorer } from '../bandit/ranking/tree-scorer.ts';
import { packageRoot } from '../config/package-root.ts';
import { chooseContext } from '../src/context/choose-context.ts';
import { MAX_ITEMS, type StoredItem } from '../src/context/item.ts';
import { ItemCosines } from '../src/context/item-cosines.ts';
import { ItemIndex } from '../src/context/item-index.ts';
import { noVectors, vectorsOf } from '../src/context/item-record.ts';
import { UserKey } from '../src/context/seals.ts';
import { shippedContextRanker } from '../src/context/shipped-ranker.ts';
import type { LoadedContext } from '../src/context/user-contexts.ts';
import { UserSignals } from '../src/context/user-signals.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { bundledModelFolder, openModelFolder } from '../src/models/open-embedder.ts';
import { tokenise } from '../src/retrieval/tokenise.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { type Persona, simulatedWorld } from './context/world.ts';
import { measuredOn } from './measured-on.ts';

const kernels = await loadKernels();
const cosines = new ItemCosines(kernels);
const scorer = new TreeScorer(kernels);

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });

const SIZES = [32, 100, 1000, MAX_ITEMS];
const ITEMS = 3;
const QUERIES = 200;

/** A user with the first items of these personas, used as they used them. */
async function userOf(
  personas: readonly Persona[],
  size: number,
  embedder: Embedder,
): Promise<LoadedContext> {
  const place = { catalog: 'bench', user: 'bench' };
  const own = personas.flatMap(({ items }, at) => items.map((item) => ({ ...item, id: `${at} ${item.id}` })));
  const items = own.slice(0, size).map(
    ({ id, text, store, kind, put, at }): StoredItem => ({
      ...{ id, text, store, kind, putAt: put * 1000 },
      ...(Number.isNaN(at) ? {} : { at: at * 1000 }),
    }),
  );
  const made = await embedder.embedDocuments(items.map(({ text }) => text));
  const fresh = new Map(items.map(({ text }, at) => [text, made[at]]));
  const { fingerprint, dimensions } = embedder;
  const before = { items: [], vectors: noVectors(0) };
  const ids = new Set(items.map(({ id }) => id));
  const signals = new UserSignals();
  for (const [of, { past }] of personas.entries()) {
    const asked = await embedder.embedQueries(past.map(({ query }) => query));
    for (const [at, use] of past.entries()) {
      const used = use.items.map((id) => `${of} ${id}`).filter((id) => ids.has(id));
      const noted = {
        key: `${of} ${at}`,
        items: used,
        tool: use.tools[0],
        place: use.place,
        at: use.time * 1000,
      };
      signals.add({ ...noted, query: { fingerprint, embedding: asked[at] } }, use.time * 1000);
    }
  }
  const vectors = vectorsOf(items, { fingerprint, dimensions }, fresh, before);
  return {
    items,
    vectors,
    signals,
    place,
    index: new ItemIndex({ items, vectors }, cosines),
    key: new UserKey(place, randomBytes(32)),
  };
}

async function main(): Promise<void> {
  const embedder = await openModelFolder(bundledModelFolder());
  const ranker = await shippedContextRanker();
  const { test } = simulatedWorld(1);
  const queries = test.flatMap((one) => one.queries).slice(0, QUERIES);
  const embeddings = await embedder.embedQueries(queries.map(({ text }) => text));
  const asked = queries.map(({ text, now, place, tools }, at) => ({
    query: { embedding: embeddings[at], fingerprint: embedder.fingerprint, tokens: tokenise(text) },
    moment: {
      ...{ now: now * 1000, utcOffsetMinutes: 0, place },
      tools: new Map(tools.map((tool) => [tool, 1 / tools.length])),
    },
  }));
  console.log('| items | p50 ms | p99 ms | processor ms | items that are chosen |\n|--:|--:|--:|--:|--:|');
  const results: unknown[] = [];
  for (const size of SIZES) {
    const user = await userOf(test.slice(0, Math.ceil(size / 20)), size, embedder);
    // Two of them take turns, so that what is kept of the user who asked last is of no use, as in a service.
    const vectors = { ...user.vectors };
    const twin = { ...user, vectors, index: new ItemIndex({ items: user.items, vectors }, cosines) };
    const round = (): { times: number[]; chosen: number } => {
      let chosen = 0;
      const times = asked.map(({ query, moment }, at) => {
        const begun = performance.now();
        chosen += chooseContext(at % 2 === 0 ? user : twin, query, moment, ITEMS, ranker, scorer).length;
        return performance.now() - begun;
      });
      return { times, chosen: chosen / times.length };
    };
    for (let warm = 0; warm < 3; warm++) round();
    const begun = process.cpuUsage();
    const rounds = Array.from({ length: Number(options.rounds) }, round);
    const { user: mine, system } = process.cpuUsage(begun);
    const times = rounds.flatMap((one) => one.times).sort((a, b) => a - b);
    const at = (share: number): number => times[Math.floor(share * times.length)];
    const found = {
      ...{ items: user.items.length, p50: at(0.5), p99: at(0.99) },
      ...{ processor: (mine + system) / 1000 / times.length, chosen: rounds[0].chosen },
    };
    results.push(found);
    console.log(
      `| ${Object.values(found)
        .map((one, i) => one.toFixed(i === 0 ? 0 : 2))
        .join(' | ')} |`,
    );
  }
  await embedder.close();
  const about = measuredOn(`npx tsx bench/context-latency.ts --rounds ${options.rounds}`);
  const to = join(packageRoot(), 'bench', 'results', 'context-latency.json');
  writeFileSync(to, `${JSON.stringify({ ...about, load: loadavg()[0], results }, null, 1)}\n`);
}

await main();
