/**
 * How long until it serves? Cold: an empty start, then real tools and more of them under other names come in, and all
 * are embedded. Warm: vectors are in the ledger, so a start embeds nothing, with or without a cache. Time until the
 * first route is answered, texts that were embedded, memory. Real processes, fsync on.
 *
 *   npx tsx bench/start-up.ts [--data ../shared/data] [--tools 5000] [--decisions 2000] [--rounds 3]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { RouteAnswer } from '../src/routing/route-answer.ts';
import { measuredOn } from './measured-on.ts';
import { HttpLoad } from './route/http-load.ts';
import { PinnedProcess, pinning, pinThisProcess, pinTo } from './route/pinned-process.ts';
import { distinctQueries, readWorkload, type Workload } from './route/workload.ts';

const MAIN = 'dist/bundle/main.js';
const BATCH = 50;

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    tools: { type: 'string', default: '5000' },
    decisions: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '3' },
  },
});

interface Start {
  readonly what: string;
  readonly listeningMs: number;
  readonly firstRouteMs: number;
  readonly cpuSeconds: number;
  readonly embedded: number;
  readonly megabytes: number;
}

/** Starts the service, asks once, and hands it to `use` before it is stopped. */
async function start(
  what: string,
  dataDir: string,
  query: string,
  use: (server: PinnedProcess, load: HttpLoad) => Promise<void> = async () => {},
): Promise<Start> {
  const began = performance.now();
  const words = [MAIN, 'serve', '--port', '0', '--data-dir', dataDir];
  const server = await PinnedProcess.start(words, {
    BANDOLIER_LOG_LEVEL: 'error',
    BANDOLIER_MAX_WAIT_MS: '60000',
  });
  const listeningMs = performance.now() - began;
  const load = new HttpLoad(server.url);
  try {
    await load.send('/v1/route', JSON.stringify({ query }));
    const firstRouteMs = performance.now() - began;
    const { cpuSeconds } = server;
    const embedded = await documentsEmbedded(load);
    await use(server, load);
    return { what, listeningMs, firstRouteMs, cpuSeconds, embedded, megabytes: server.memory.peak };
  } finally {
    load.close();
    await server.stop();
  }
}

async function documentsEmbedded(load: HttpLoad): Promise<number> {
  const text = await load.send('/metrics', '', 'GET');
  return Number(/^bandolier_texts_embedded_total\{kind="document"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

interface Import {
  readonly tools: number;
  readonly seconds: number;
  /** Texts. */
  readonly embedded: number;
}

/** Takes in real tools by the command line, then the others in one request. */
async function importAll(
  { realTools, tools }: Workload,
  count: number,
  folder: string,
  { url }: PinnedProcess,
  load: HttpLoad,
): Promise<Import[]> {
  const real = realTools.slice(0, count);
  const file = join(folder, 'real.json');
  writeFileSync(file, JSON.stringify({ tools: real }));
  const seconds = await importTools(file, url);
  const first = { tools: real.length, seconds, embedded: await documentsEmbedded(load) };
  const rest = tools(count).slice(real.length);
  const began = performance.now();
  await load.send('/v1/catalogs/default/tools', JSON.stringify({ put: rest }), 'PATCH');
  const restSeconds = (performance.now() - began) / 1000;
  const embedded = (await documentsEmbedded(load)) - first.embedded;
  return [first, { tools: rest.length, seconds: restSeconds, embedded }];
}

/** The command that users type; its own start is part of what they wait for. */
async function importTools(file: string, url: string): Promise<number> {
  const began = performance.now();
  const [command, ...words] = [...pinTo('client'), process.execPath, MAIN, 'import', file, '--url', url];
  // Not synchronously: connections that the server closes meanwhile would be taken for open ones afterwards.
  const importing = spawn(command, words, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [status] = await once(importing, 'exit');
  if (status !== 0) throw new Error(`bandolier import ended with ${status}`);
  return (performance.now() - began) / 1000;
}

/** Decisions with outcomes, so that there is something to be read at the next start. */
async function use(load: HttpLoad, workload: Workload, decisions: number): Promise<void> {
  const next = distinctQueries(workload.queries);
  for (let made = 0; made < decisions; made += BATCH) {
    const routes = Array.from({ length: BATCH }, () =>
      load.send('/v1/route', JSON.stringify({ query: next() })),
    );
    const rewards = (await Promise.all(routes)).map((answer) => {
      const { decisionId, tools }: RouteAnswer = JSON.parse(answer);
      return { decisionId, tool: tools[0].name, outcome: 'success' };
    });
    await load.send('/v1/rewards', JSON.stringify({ rewards }));
  }
  for (let pending = 1; pending > 0; ) {
    pending = JSON.parse(await load.send('/v1/rewards/health', '', 'GET')).pending;
  }
}

async function main(): Promise<void> {
  pinThisProcess();
  const workload = await readWorkload(options.data);
  const count = Number(options.tools);
  const decisions = Number(options.decisions);
  const rounds = Number(options.rounds);
  const folder = mkdtempSync(join(tmpdir(), 'bandolier-start-'));
  const dataDir = join(folder, 'data');
  const [query] = workload.queries;
  const starts: Start[] = [];
  let imports: Import[] = [];
  try {
    starts.push(
      await start('empty', dataDir, query, async (server, load) => {
        imports = await importAll(workload, count, folder, server, load);
      }),
    );
    console.log(`${workload.source}, ${pinning}`);
    for (const { tools, seconds, embedded } of imports)
      console.log(`import of ${tools} tools: ${seconds.toFixed(1)} s, ${embedded} texts embedded`);
    const [{ firstRouteMs }] = starts;
    const seconds = imports.reduce((sum, one) => sum + one.seconds, firstRouteMs / 1000);
    console.log(`cold, from nothing to ${count} tools: ${seconds.toFixed(1)} s\n`);
    const fresh = `warm, ${count} tools`;
    for (let round = 0; round < rounds; round++) starts.push(await start(fresh, dataDir, query));
    await start('', dataDir, query, (_, load) => use(load, workload, decisions));
    const used = `warm, ${count} tools, ${decisions} outcomes`;
    for (let round = 0; round < rounds; round++) starts.push(await start(used, dataDir, query));
  } finally {
    rmSync(folder, { recursive: true });
  }
  print(starts);
  mkdirSync('bench/results', { recursive: true });
  const measured = measuredOn(`npx tsx bench/start-up.ts ${process.argv.slice(2).join(' ')}`.trim());
  const json = { ...measured, source: workload.source, pinning, imports, starts };
  writeFileSync('bench/results/start-up.json', `${JSON.stringify(json, null, 2)}\n`);
}

function print(starts: readonly Start[]): void {
  const heads = ['listens ms', '1st route ms', 'CPU s', 'embedded', 'peak MB'];
  console.log(`${''.padEnd(36)}${heads.map((head) => head.padStart(13)).join('')}`);
  for (const { what, listeningMs, firstRouteMs, cpuSeconds, embedded, megabytes } of starts) {
    const figures = [
      ...[listeningMs.toFixed(0), firstRouteMs.toFixed(0), cpuSeconds.toFixed(2)],
      ...[String(embedded), megabytes.toFixed(0)],
    ];
    console.log(`${what.padEnd(36)}${figures.map((figure) => figure.padStart(13)).join('')}`);
  }
}

await main();
