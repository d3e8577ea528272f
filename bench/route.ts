/**
 * How many routes a second does one core answer, how long does one take, and how soon does a reward show in them?
 * A real server process on one core, the load on the other, over loopback; decision log and fsync on, k 5. Beside
 * it, in the same rounds, the least that the framework could do: a validated POST that answers the same bytes.
 *
 *   npx tsx bench/route.ts [--data ../shared/data] [--tools 1000,5000] [--seconds 1] [--rounds 12]
 *                          [--warm-up 6000] [--main dist/bundle/main.js] [--against <main.js of another build>]
 *
 * On a machine that does other things as well, many short rounds are taken: the best one is the least disturbed.
 * Being interrupted costs processor time, too: whoever comes back finds other things in the caches. Whether another build is
 * faster is therefore said by the ratios of rounds that follow each other (60 of them tell 3 % apart, at any load).
 *
 * Latency is that of a schedule that does not wait for answers, from when a request was sent: 200 and 500 a second, alone
 * and while 100 decisions a second are rewarded and learned from. Each has the load average of its end beside it.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { RouteAnswer } from '../src/routing/route-answer.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';
import { HttpLoad, type Latency, latencyOf, type SteadyLatency } from './route/http-load.ts';
import { PinnedProcess, pinning, pinThisProcess } from './route/pinned-process.ts';
import { distinctQueries, readWorkload, repeatedQueries, type Workload } from './route/workload.ts';

const ROUTER = 'router';
const AGAINST = 'against';
const CLIENTS = 32;
const RATES = [200, 500];
/** Rewards a second beside the routes, each of another decision, which it closes. */
const REWARD_RATES = [0, 100];
const STEADY_SECONDS = 5;
const REPEATED = 50;
const EFFECTS = 200;
const TOOLS_PER_REQUEST = 1000;

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    tools: { type: 'string', default: '1000,5000' },
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '12' },
    'warm-up': { type: 'string', default: '6000' },
    main: { type: 'string', default: 'dist/bundle/main.js' },
    against: { type: 'string' },
  },
});

interface Contender {
  readonly label: string;
  readonly server: PinnedProcess;
  readonly load: HttpLoad;
  readonly bodies: Readonly<Record<Stream, () => string>>;
}

/** New queries that ask for one thing, new ones that ask for several, and the same few over and over. */
type Stream = 'one need' | 'several' | 'repeated';
const STREAMS: readonly Stream[] = ['one need', 'several', 'repeated'];

interface Row {
  readonly tools: number;
  readonly contender: string;
  readonly stream: Stream;
  readonly perSecond: Spread;
  readonly cpuMicroseconds: Spread;
  /** Processor time of a route in units of that of the build it is compared with; absent: it is that build, or there is none. */
  readonly againstBuild?: Ratio;
}

/** Median of the ratios of the two rounds that followed each other, and its standard error. */
interface Ratio {
  readonly median: number;
  readonly error: number;
}

interface LatencyRow extends SteadyLatency {
  readonly tools: number;
  readonly contender: string;
  readonly stream: Stream;
  readonly perSecond: number;
  readonly rewardsPerSecond: number;
  readonly loadAverage: number;
}

/** Over the rounds. */
interface Spread {
  readonly best: number;
  readonly median: number;
}

function routeBody(query: string, more: object = {}): string {
  return JSON.stringify({ query, k: 5, ...more });
}

function streamsOf({ oneNeed, severalNeeds }: Workload): Contender['bodies'] {
  const simple = distinctQueries(oneNeed);
  const complex = distinctQueries(severalNeeds);
  const repeated = repeatedQueries(oneNeed, REPEATED);
  return {
    'one need': () => routeBody(simple()),
    several: () => routeBody(complex()),
    repeated: () => routeBody(repeated()),
  };
}

async function startRouter(
  label: string,
  main: string,
  dataDir: string,
  workload: Workload,
  count: number,
): Promise<Contender> {
  const words = [main, 'serve', '--port', '0', '--data-dir', dataDir];
  const server = await PinnedProcess.start(words, {
    BANDOLIER_LOG_LEVEL: 'error',
    BANDOLIER_MAX_WAIT_MS: '60000',
  });
  const load = new HttpLoad(server.url);
  const tools = workload.tools(count);
  for (let from = 0; from < count; from += TOOLS_PER_REQUEST) {
    const put = tools.slice(from, from + TOOLS_PER_REQUEST);
    await load.send('/v1/catalogs/default/tools', JSON.stringify({ put }), 'PATCH');
  }
  // A router that has learned from every query once: memory is what a query costs most by.
  for (let from = 0; from < workload.queries.length; from += CLIENTS) {
    const queries = workload.queries.slice(from, from + CLIENTS);
    const answers = await Promise.all(queries.map((query) => load.send('/v1/route', routeBody(query))));
    const rewards = answers.map((answer) => {
      const { decisionId, tools: slate }: RouteAnswer = JSON.parse(answer);
      return { decisionId, tool: slate[0].name, outcome: 'success' };
    });
    await load.send('/v1/rewards', JSON.stringify({ rewards }));
  }
  await settled(load);
  return { label, server, load, bodies: streamsOf(workload) };
}

async function settled(load: HttpLoad): Promise<void> {
  for (let pending = 1; pending > 0; ) {
    pending = JSON.parse(await load.send('/v1/rewards/health', '', 'GET')).pending;
  }
}

async function startBare(folder: string, router: Contender, workload: Workload): Promise<Contender> {
  const file = join(folder, 'answer.json');
  writeFileSync(file, await router.load.send('/v1/route', router.bodies['one need']()));
  const server = await PinnedProcess.start(['--import', 'tsx', 'bench/route/bare-hono.ts', file]);
  return { label: 'bare Hono', server, load: new HttpLoad(server.url), bodies: streamsOf(workload) };
}

/** Alternating, so that whatever else the machine does hits all alike. */
async function measure(contenders: readonly Contender[], tools: number): Promise<Row[]> {
  const seconds = Number(options.seconds);
  const rounds = Array.from({ length: Number(options.rounds) }, (_, round) => round);
  const rows: Row[] = [];
  // The compiler works on the same core: it has to be done with this code before anything is measured.
  for (const { load, bodies } of contenders) {
    for (const stream of STREAMS) {
      const count = Math.ceil(Number(options['warm-up']) / STREAMS.length);
      await load.sendMany({ path: '/v1/route', body: bodies[stream] }, CLIENTS, count);
    }
  }
  for (const stream of STREAMS) {
    const perSecond = new Map<Contender, number[]>(contenders.map((contender) => [contender, []]));
    const cpu = new Map<Contender, number[]>(contenders.map((contender) => [contender, []]));
    for (const round of rounds) {
      for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const { server, load, bodies } = contender;
        const before = server.cpuSeconds;
        const post = { path: '/v1/route', body: bodies[stream] };
        const throughput = await load.saturate(post, CLIENTS, seconds);
        perSecond.get(contender)!.push(throughput.perSecond);
        cpu.get(contender)!.push((1e6 * (server.cpuSeconds - before)) / throughput.count);
      }
    }
    const before = contenders.find(({ label }) => label === AGAINST);
    for (const contender of contenders) {
      rows.push({
        tools,
        contender: contender.label,
        stream,
        perSecond: {
          best: Math.max(...perSecond.get(contender)!),
          median: median(perSecond.get(contender)!),
        },
        cpuMicroseconds: { best: Math.min(...cpu.get(contender)!), median: median(cpu.get(contender)!) },
        ...(before !== undefined &&
          contender.label === ROUTER && { againstBuild: ratioOf(cpu.get(contender)!, cpu.get(before)!) }),
      });
    }
  }
  return rows;
}

/** The standard error is that of a median of normally distributed ratios, whose spread the quartiles say. */
function ratioOf(ours: readonly number[], theirs: readonly number[]): Ratio {
  const ratios = ours.map((time, round) => time / theirs[round]).sort((a, b) => a - b);
  const quartiles = ratios[Math.floor(ratios.length * 0.75)] - ratios[Math.floor(ratios.length * 0.25)];
  return { median: median(ratios), error: (1.253 * (quartiles / 1.349)) / Math.sqrt(ratios.length) };
}

async function measureLatencies(contenders: readonly Contender[], tools: number): Promise<LatencyRow[]> {
  const rows: LatencyRow[] = [];
  for (const stream of ['one need', 'several'] as const) {
    for (const perSecond of RATES) {
      for (const rewardsPerSecond of REWARD_RATES) {
        for (const { label, load, bodies } of contenders) {
          const routes = { path: '/v1/route', body: bodies[stream] };
          const rewards = { path: '/v1/rewards', body: await rewardsOf(load, bodies, rewardsPerSecond) };
          const [latency] = await Promise.all([
            load.atRate(routes, perSecond, STEADY_SECONDS),
            load.atRate(rewards, rewardsPerSecond, STEADY_SECONDS),
          ]);
          await settled(load);
          const measured = { tools, contender: label, stream, perSecond, rewardsPerSecond };
          rows.push({ ...measured, ...latency, loadAverage: loadavg()[0] });
        }
      }
    }
  }
  return rows;
}

/** Reports of success, one for each of the decisions that are made for them now. */
async function rewardsOf(
  load: HttpLoad,
  bodies: Contender['bodies'],
  perSecond: number,
): Promise<() => string> {
  const reports: string[] = [];
  while (reports.length < perSecond * STEADY_SECONDS) {
    const sent = Array.from({ length: CLIENTS }, () => load.send('/v1/route', bodies['one need']()));
    for (const answer of await Promise.all(sent)) {
      const { decisionId, tools: slate }: RouteAnswer = JSON.parse(answer);
      reports.push(JSON.stringify({ rewards: [{ decisionId, tool: slate[0].name, outcome: 'success' }] }));
    }
  }
  return () => reports.pop()!;
}

/** From sending a reward to the first answer that shows it; the same greedy request is sent over and over. */
async function measureEffect({ load }: Contender, { queries }: Workload): Promise<Latency> {
  const times: number[] = [];
  for (const query of queries.slice(0, EFFECTS)) {
    const ask = async (): Promise<RouteAnswer> =>
      JSON.parse(await load.send('/v1/route', routeBody(query, { explore: false })));
    const { decisionId, tools } = await ask();
    const outcome = JSON.stringify({ tool: tools.at(-1)?.name, outcome: 'success' });
    const start = performance.now();
    await load.send(`/v1/decisions/${decisionId}/rewards`, outcome);
    while (JSON.stringify((await ask()).tools) === JSON.stringify(tools));
    times.push(performance.now() - start);
  }
  return latencyOf(times);
}

const cell = (value: number | string, digits = 0): string =>
  (typeof value === 'string' ? value : value.toFixed(digits)).padStart(14);

function print(rows: readonly Row[]): void {
  const spread = ({ best, median: middle }: Spread): string => `${best.toFixed(0)} (${middle.toFixed(0)})`;
  const heads = ['tools', 'queries', 'routes/s', 'µs CPU', 'CPU of bare'];
  console.log(`${'best (median)'.padEnd(14)}${heads.map((head) => cell(head)).join('')}`);
  for (const row of rows) {
    const { contender, tools, stream, perSecond, cpuMicroseconds } = row;
    const bare = rows.find((other) => other.contender === 'bare Hono' && other.stream === stream)!;
    const figures = [
      ...[cell(tools), cell(stream), cell(spread(perSecond)), cell(spread(cpuMicroseconds))],
      cell(`${(cpuMicroseconds.best / bare.cpuMicroseconds.best).toFixed(1)} ×`),
    ];
    const ratio = row.againstBuild;
    const paired =
      ratio === undefined ? '' : `   ${ratio.median.toFixed(3)} ± ${ratio.error.toFixed(3)} of against`;
    console.log(`${contender.padEnd(14)}${figures.join('')}${paired}`);
  }
}

function printLatencies(rows: readonly LatencyRow[]): void {
  const heads = [
    'queries',
    'routes/s',
    'rewards/s',
    'p50 ms',
    'p99 ms',
    'max ms',
    'sent late p99',
    'load average',
  ];
  console.log(`${'latency'.padEnd(14)}${heads.map((head) => cell(head)).join('')}`);
  for (const { contender, stream, perSecond, rewardsPerSecond, p50, p99, max, late, loadAverage } of rows) {
    const figures = [
      cell(stream),
      cell(perSecond),
      cell(rewardsPerSecond),
      cell(p50, 1),
      cell(p99, 1),
      cell(max, 1),
      cell(late, 1),
    ];
    console.log(`${contender.padEnd(14)}${figures.join('')}${cell(loadAverage, 1)}`);
  }
}

async function main(): Promise<void> {
  pinThisProcess();
  const workload = await readWorkload(options.data);
  const counts = options.tools.split(',').map(Number);
  console.log(
    `${workload.source}: ${workload.oneNeed.length} queries with one need, ${workload.severalNeeds.length} with ` +
      `several (a number is added from the second time round, so that all are new), ${REPEATED} repeated ones;\n` +
      `${pinning}\n`,
  );
  const results = [];
  for (const count of counts) {
    const folder = mkdtempSync(join(tmpdir(), 'bandolier-route-'));
    const builds = [[ROUTER, options.main], ...(options.against ? [[AGAINST, options.against]] : [])];
    const routers: Contender[] = [];
    for (const [label, file] of builds) {
      routers.push(await startRouter(label, file, join(folder, label), workload, count));
    }
    const bare = await startBare(folder, routers[0], workload);
    const contenders = [...routers, bare];
    try {
      const rows = await measure(contenders, count);
      print(rows);
      const latencies = await measureLatencies(routers, count);
      printLatencies(latencies);
      const effects = [];
      for (const router of routers) {
        const effect = await measureEffect(router, workload);
        const memory = router.server.memory;
        const shown = `p50 ${effect.p50.toFixed(1)} ms, p99 ${effect.p99.toFixed(1)} ms`;
        console.log(`${router.label}: reward to effect ${shown}; ${Math.round(memory.peak)} MB at most\n`);
        effects.push({ tools: count, contender: router.label, effect, memory });
      }
      results.push({ rows, latencies, effects });
    } finally {
      for (const { load, server } of contenders) {
        load.close();
        await server.stop();
      }
      rmSync(folder, { recursive: true });
    }
  }
  mkdirSync('bench/results', { recursive: true });
  const measured = measuredOn(`npx tsx bench/route.ts ${process.argv.slice(2).join(' ')}`.trim());
  const { source, oneNeed, severalNeeds } = workload;
  const queries = { oneNeed: oneNeed.length, severalNeeds: severalNeeds.length, repeated: REPEATED };
  const json = { ...measured, source, queries, pinning, results };
  writeFileSync('bench/results/route.json', `${JSON.stringify(json, null, 2)}\n`);
}

await main();
