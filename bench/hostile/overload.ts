/**
 * What becomes of requests when more come than can be answered? Routes are offered at 1, 2 and 5 times what the service
 * answers in the same run, whether or not earlier ones were answered, over as many connections as that takes. Beside
 * them `/livez` is asked 20 times a second, and one reward, one read. Afterwards: how soon is a route answered as before?
 *
 *   npx tsx bench/hostile/overload.ts [--seconds 6] [--rounds 3] [--tools 1000] [--main dist/bundle/main.js]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { measuredOn } from '../measured-on.ts';
import { type Latency, latencyOf } from '../route/http-load.ts';
import { PinnedProcess, pinning, pinThisProcess } from '../route/pinned-process.ts';
import { distinctQueries, readWorkload } from '../route/workload.ts';
import { OpenLoop } from './open-loop.ts';

const CLIENTS = 8;
const TIMES = [1, 2, 5];
/** A route that is answered within this is answered as before. */
const RECOVERED_MS = 50;

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    tools: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '6' },
    rounds: { type: 'string', default: '3' },
    main: { type: 'string', default: 'dist/bundle/main.js' },
  },
});
const seconds = Number(options.seconds);

interface Row {
  readonly round: number;
  readonly times: number;
  readonly offeredPerSecond: number;
  readonly acceptedPerSecond: number;
  readonly accepted: Latency;
  readonly refused: Latency;
  readonly livez: Latency;
  readonly read: Latency;
  readonly reads: string;
  readonly broken: number;
  readonly others: Readonly<Record<number, number>>;
  readonly recoverySeconds: number;
}

/** Asks for something 20 times a second until it is told to stop. */
function probe(
  load: OpenLoop,
  path: string,
): () => Promise<{ readonly latency: Latency; readonly ok: string }> {
  let isOver = false;
  const asked = (async () => {
    const times: number[] = [];
    let ok = 0;
    while (!isOver) {
      const { status, ms } = await load.send('GET', path);
      times.push(ms);
      if (status === 200) ok++;
      await wait(50);
    }
    return { latency: latencyOf(times), ok: `${ok}/${times.length}` };
  })();
  return () => {
    isOver = true;
    return asked;
  };
}

/** From the end of the load to the first of three routes in a row that are answered as before. */
async function recovery(load: OpenLoop, body: () => string, since: number): Promise<number> {
  for (let inARow = 0, first = since; ; await wait(10)) {
    const start = performance.now();
    const { status, ms } = await load.send('POST', '/v1/route', body());
    if (status !== 200 || ms > RECOVERED_MS) inARow = 0;
    else if (inARow++ === 0) first = start;
    if (inARow === 3) return (first - since) / 1000;
  }
}

async function measure(
  url: string,
  body: () => string,
  perSecond: number,
  times: number,
  round: number,
): Promise<Row> {
  const load = new OpenLoop(url);
  const bystander = new OpenLoop(url);
  const stopLivez = probe(bystander, '/livez');
  const stopRead = probe(bystander, '/v1/catalogs');
  const offeredPerSecond = Math.round(perSecond * times);
  const start = performance.now();
  const ended = wait(seconds * 1000).then(() => recovery(bystander, body, start + seconds * 1000));
  const { accepted, refused, broken, others } = await load.atRate(
    '/v1/route',
    body,
    offeredPerSecond,
    seconds,
  );
  const [recoverySeconds, livez, read] = [await ended, await stopLivez(), await stopRead()];
  load.close();
  bystander.close();
  return {
    ...{ round, times, offeredPerSecond, broken, others, recoverySeconds },
    acceptedPerSecond: Math.round(accepted.length / seconds),
    accepted: latencyOf([...accepted]),
    refused: latencyOf([...refused]),
    livez: livez.latency,
    read: read.latency,
    reads: read.ok,
  };
}

const cell = (value: number | string, digits = 1): string =>
  (typeof value === 'string'
    ? value
    : Number.isNaN(value) || value === undefined
      ? '–'
      : value.toFixed(digits)
  ).padStart(11);

function print(row: Row): void {
  const { times, offeredPerSecond, acceptedPerSecond, accepted, refused, livez, read, broken } = row;
  const figures = [
    ...[cell(`${times} ×`), cell(offeredPerSecond, 0), cell(acceptedPerSecond, 0)],
    ...[cell(accepted.p50), cell(accepted.p99), cell(refused.p50), cell(refused.p99), cell(livez.p99)],
    ...[cell(read.p99), cell(row.reads), cell(broken, 0), cell(row.recoverySeconds, 2)],
  ];
  console.log(
    figures.join('') + (Object.keys(row.others).length > 0 ? ` ${JSON.stringify(row.others)}` : ''),
  );
}

async function main(): Promise<void> {
  pinThisProcess();
  const workload = await readWorkload(options.data);
  const next = distinctQueries(workload.oneNeed);
  const body = (): string => JSON.stringify({ query: next(), k: 5 });
  const folder = mkdtempSync(join(tmpdir(), 'bandolier-overload-'));
  const words = [options.main, 'serve', '--port', '0', '--data-dir', folder];
  const server = await PinnedProcess.start(words, { BANDOLIER_LOG_LEVEL: 'error' });
  const rows: Row[] = [];
  const capacities: number[] = [];
  try {
    const load = new OpenLoop(server.url);
    const put = JSON.stringify({ put: workload.tools(Number(options.tools)) });
    await load.send('PATCH', '/v1/catalogs/default/tools', put);
    await load.saturate('/v1/route', body, CLIENTS, 4);
    console.log(`${workload.source}, ${options.tools} tools; ${pinning}; times in ms\n`);
    const heads = [
      'offered',
      'a second',
      'accepted',
      'p50',
      'p99',
      'refused p50',
      'p99',
      'livez p99',
      'read p99',
    ];
    console.log([...heads, 'reads', 'resets', 'recovery s'].map((head) => cell(head)).join(''));
    for (let round = 0; round < Number(options.rounds); round++) {
      const capacity = await load.saturate('/v1/route', body, CLIENTS, 3);
      capacities.push(Math.round(capacity));
      console.log(`${Math.round(capacity)} routes/s with ${CLIENTS} clients that wait for their answers`);
      for (const times of TIMES) {
        const row = await measure(server.url, body, capacity, times, round);
        print(row);
        rows.push(row);
      }
    }
    load.close();
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
  mkdirSync('bench/results', { recursive: true });
  const measured = measuredOn(`npx tsx bench/hostile/overload.ts ${process.argv.slice(2).join(' ')}`.trim());
  const json = {
    ...measured,
    source: workload.source,
    tools: Number(options.tools),
    pinning,
    capacities,
    rows,
  };
  writeFileSync('bench/results/overload.json', `${JSON.stringify(json, null, 2)}\n`);
}

await main();
