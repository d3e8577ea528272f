/**
 * What do many processes over Redis carry? Two routers, two workers, one Redis (AOF) and whoever asks, all on the
 * cores of this machine: rewards accepted and learned a second, how far learning lags behind, how soon a reward
 * shows on another router, routes a second, and how much memory of Redis it all takes.
 *
 *   npx tsx bench/redis.ts [--data ../shared/data] [--tools 1000] [--decisions 4000] [--seconds 3]
 *                          [--fsync everysec] [--routers 2] [--workers 2] [--main dist/bundle/main.js]
 *
 * Every decision shows 5 tools; a reward names one of them. Queries are all different. The processor time of each
 * kind of process is printed beside every figure: that is what stays true on a machine that does other things too.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { RouteAnswer } from '../src/routing/route-answer.ts';
import { redisProgram } from '../tests/redis/redis-server.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';
import { Fleet } from './redis/fleet.ts';
import { RedisMemory } from './redis/memory.ts';
import { type HttpLoad, type Latency, latencyOf } from './route/http-load.ts';
import { distinctQueries, readWorkload, type Workload } from './route/workload.ts';

const CATALOG = 'bench';
const BATCH = 100;
const CLIENTS = 8;
const STEADY_REWARDS = 1_000;
const STEADY_ROUTES = 500;
const EFFECTS = 200;
const ROUNDS = 9;
/** After them the code of routers and workers is compiled. */
const WARM_ROUNDS = 4;

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    tools: { type: 'string', default: '1000' },
    decisions: { type: 'string', default: '4000' },
    seconds: { type: 'string', default: '3' },
    fsync: { type: 'string', default: 'everysec' },
    routers: { type: 'string', default: '2' },
    workers: { type: 'string', default: '2' },
    main: { type: 'string', default: 'dist/bundle/main.js' },
  },
});
const seconds = Number(options.seconds);

interface Made {
  readonly decisionId: string;
  readonly tool: string;
}

class Bench {
  readonly fleet: Fleet;
  readonly memory: RedisMemory;
  readonly #query: () => string;
  readonly figures: Record<string, unknown> = {};

  constructor(fleet: Fleet, workload: Workload) {
    this.fleet = fleet;
    this.memory = new RedisMemory(fleet.redis.url);
    this.#query = distinctQueries(workload.oneNeed);
  }

  routeBody(more: object = {}): string {
    return JSON.stringify({ catalog: CATALOG, query: this.#query(), k: 5, ...more });
  }

  async route(router: HttpLoad): Promise<Made> {
    const { decisionId, tools }: RouteAnswer = JSON.parse(await router.send('/v1/route', this.routeBody()));
    return { decisionId, tool: tools[0].name };
  }

  async makeDecisions(count: number): Promise<Made[]> {
    const made: Made[] = [];
    let begun = 0;
    const client = async (_: unknown, n: number): Promise<void> => {
      const router = this.fleet.routers[n % this.fleet.routers.length];
      while (begun++ < count) made.push(await this.route(router));
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    return made;
  }

  async settled(): Promise<void> {
    for (const router of this.fleet.routers) {
      for (let pending = 1; pending > 0; ) {
        const health = await router.send(`/v1/rewards/health?catalog=${CATALOG}`, '', 'GET');
        pending = JSON.parse(health).pending;
        if (pending > 0) await wait(20);
      }
    }
  }

  /** Runs it, and says what it took of the processors. */
  async timed<T>(name: string, work: () => Promise<T>): Promise<{ result: T; elapsed: number }> {
    const cpu = this.fleet.cpuSeconds();
    const start = performance.now();
    const result = await work();
    const elapsed = (performance.now() - start) / 1000;
    const now = this.fleet.cpuSeconds();
    const used = Object.entries(now).map(
      ([kind, value]) => `${kind} ${(value - cpu[kind as keyof typeof cpu]).toFixed(2)}`,
    );
    console.log(`    ${name}: ${elapsed.toFixed(2)} s; processor seconds: ${used.join(', ')}`);
    return { result, elapsed };
  }

  say(name: string, value: unknown, text = String(Math.round(value as number))): void {
    this.figures[name] = value;
    console.log(`${name.padEnd(52)}${text}`);
  }
}

function rewardsBody(made: readonly Made[]): string {
  return JSON.stringify({ rewards: made.map((one) => ({ ...one, outcome: 'success' })) });
}

async function putTools(bench: Bench, workload: Workload): Promise<void> {
  const count = Number(options.tools);
  const [router] = bench.fleet.routers;
  await router.send(`/v1/catalogs/${CATALOG}`, '{}', 'PUT');
  const before = await bench.memory.used();
  await router.send(`/v1/catalogs/${CATALOG}/tools`, JSON.stringify({ tools: workload.tools(count) }), 'PUT');
  const bytes = (await bench.memory.used()) - before;
  bench.say('bytes of Redis per tool', bytes / count, `${Math.round(bytes / count)} (${count} tools)`);
  for (const other of bench.fleet.routers) {
    for (let known = 0; known < count; ) {
      const { catalogs } = JSON.parse(await other.send('/v1/catalogs', '', 'GET'));
      known = catalogs.find(({ name }: { name: string }) => name === CATALOG)?.tools ?? 0;
    }
  }
}

async function measureDecisions(bench: Bench, count: number): Promise<Made[]> {
  const made: Made[] = [];
  for (const part of [count / 4, (3 * count) / 4]) {
    const before = await bench.memory.used();
    const { result } = await bench.timed(`${part} routes`, () => bench.makeDecisions(part));
    const each = ((await bench.memory.used()) - before) / result.length;
    made.push(...result);
    bench.say(`bytes of Redis per decision, up to ${made.length}`, each);
  }
  return made;
}

/** Each decision is reported on once: it closes, and every tool it showed is learned. */
async function measureLearning(bench: Bench, made: readonly Made[]): Promise<void> {
  for (const [from, to] of [
    [0, made.length / 4],
    [made.length / 4, made.length],
  ]) {
    const some = made.slice(from, to);
    const streamBefore = await bench.memory.of(CATALOG, 'ledger');
    const { elapsed } = await bench.timed(`${some.length} rewards until both routers know them`, () =>
      learn(bench, some),
    );
    bench.say(`rewards learned a second, up to ${to}`, some.length / elapsed);
    // Afterwards the stream may have been trimmed.
    if (from === 0) {
      const stream = (await bench.memory.of(CATALOG, 'ledger')) - streamBefore;
      bench.say('bytes of Redis per reward in the ledger', stream / some.length);
    }
  }
  const snapshots = await bench.memory.snapshots(CATALOG);
  bench.say('bytes of Redis for snapshots', snapshots, snapshots.join(', '));
}

/** The same with further decisions, in rounds: in processes that have learned some thousands, as most have. */
async function measureWarmLearning(bench: Bench, count: number): Promise<void> {
  const speeds: number[] = [];
  for (let round = 1; round <= WARM_ROUNDS; round++) {
    const made = await bench.makeDecisions(count);
    const { elapsed } = await bench.timed(`round ${round}, ${count} further decisions learned`, () =>
      learn(bench, made),
    );
    speeds.push(count / elapsed);
  }
  sayRounds(bench, 'further decisions learned a second', speeds);
}

async function learn(bench: Bench, made: readonly Made[]): Promise<void> {
  const { routers } = bench.fleet;
  const sent: Promise<string>[] = [];
  for (let from = 0; from < made.length; from += BATCH) {
    const router = routers[(from / BATCH) % routers.length];
    sent.push(router.send('/v1/rewards', rewardsBody(made.slice(from, from + BATCH))));
  }
  await Promise.all(sent);
  await bench.settled();
}

/** Many reports on the same decisions, so that taking them in is all there is to do for a router. */
async function measureIntake(bench: Bench, made: readonly Made[]): Promise<void> {
  for (const workers of ['standing still', 'at work']) {
    if (workers === 'standing still') bench.fleet.signalWorkers('SIGSTOP');
    const { result: accepted, elapsed } = await bench.timed(`intake, workers ${workers}`, () =>
      reportFor(bench, made, seconds),
    );
    bench.fleet.signalWorkers('SIGCONT');
    bench.say(`accepted a second, workers ${workers}`, accepted / elapsed);
    const rest = await bench.timed('until the rest is learned', () => bench.settled());
    if (workers === 'at work')
      bench.say('the same ones learned a second', accepted / (elapsed + rest.elapsed));
  }
}

/** As many as can be answered. */
async function reportFor(bench: Bench, made: readonly Made[], duration: number): Promise<number> {
  let next = 0;
  let accepted = 0;
  const end = performance.now() + duration * 1000;
  const client = async (_: unknown, n: number): Promise<void> => {
    const router = bench.fleet.routers[n % bench.fleet.routers.length];
    while (performance.now() < end) {
      const batch = Array.from({ length: BATCH }, () => made[next++ % made.length]);
      await router.send('/v1/rewards', rewardsBody(batch));
      accepted += batch.length;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return accepted;
}

/** From the answer 202 of one router until another one has folded the last reward of a batch. */
async function measureLag(bench: Bench, made: readonly Made[]): Promise<void> {
  const times: number[] = [];
  const [first, other = first] = bench.fleet.routers;
  const start = performance.now();
  const deliver = async (n: number): Promise<void> => {
    await wait(Math.max(0, start + (n * 1000 * BATCH) / STEADY_REWARDS - performance.now()));
    const batch = Array.from({ length: BATCH }, (_, at) => made[(n * BATCH + at) % made.length]);
    const answer = await first.send('/v1/rewards', rewardsBody(batch));
    const accepted = performance.now();
    await applied(other, JSON.parse(answer).results.at(-1).rewardId);
    times.push(performance.now() - accepted);
  };
  const batches = Array.from({ length: (STEADY_REWARDS / BATCH) * seconds }, (_, n) => n);
  await bench.timed(`${STEADY_REWARDS} rewards a second`, () => Promise.all(batches.map(deliver)));
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p95, max] = [0.5, 0.95, 1].map((share) => sorted[Math.ceil(share * sorted.length) - 1]);
  const words = `p50 ${p50.toFixed(0)}, p95 ${p95.toFixed(0)}, max ${max.toFixed(0)} (${times.length} batches)`;
  bench.say(`lag at ${STEADY_REWARDS} rewards a second, ms`, { p50, p95, max }, words);
}

async function applied(router: HttpLoad, rewardId: string): Promise<void> {
  for (;;) {
    const { status } = JSON.parse(await router.send(`/v1/rewards/${rewardId}`, '', 'GET'));
    if (status === 'applied') return;
    await wait(2);
  }
}

/** From sending a reward to one router until another one has learned it; one at a time. */
async function measureEffect(bench: Bench): Promise<Latency> {
  const times: number[] = [];
  const [first, other = first] = bench.fleet.routers;
  for (let n = 0; n < EFFECTS; n++) {
    const { decisionId, tool } = await bench.route(first);
    const start = performance.now();
    const body = JSON.stringify({ tool, outcome: 'success' });
    const { rewardId } = JSON.parse(await first.send(`/v1/decisions/${decisionId}/rewards`, body));
    await applied(other, rewardId);
    times.push(performance.now() - start);
  }
  return latencyOf(times);
}

/** In rounds, of which the middle one counts: the machine has its moods, and one of them fills a round. */
async function measureRouting(bench: Bench): Promise<void> {
  const [router] = bench.fleet.routers;
  const post = { path: '/v1/route', body: () => bench.routeBody() };
  const throughputs: number[] = [];
  const latencies: Latency[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const { result } = await bench.timed(`round ${round}, as many routes as one router answers`, () =>
      router.saturate(post, 32, seconds),
    );
    throughputs.push(result.perSecond);
    const { result: latency } = await bench.timed(`round ${round}, ${STEADY_ROUTES} routes a second`, () =>
      router.atRate(post, STEADY_ROUTES, seconds),
    );
    latencies.push(latency);
  }
  sayRounds(bench, 'routes a second of one router', throughputs);
  for (const quantile of ['p50', 'p99'] as const) {
    const times = latencies.map((latency) => latency[quantile]);
    sayRounds(bench, `routes at ${STEADY_ROUTES} a second, ${quantile}, ms`, times);
  }
}

function sayRounds(bench: Bench, name: string, rounds: readonly number[]): void {
  const [middle, least, most] = [median(rounds), Math.min(...rounds), Math.max(...rounds)];
  const digits = middle < 100 ? 1 : 0;
  const [shown, from, to] = [middle, least, most].map((value) => value.toFixed(digits));
  bench.say(name, { median: middle, least, most }, `${shown} (${from} to ${to} in ${rounds.length} rounds)`);
}

/** Where silence teaches, every open decision has a job that waits for its deadline. */
async function measureSettlements(bench: Bench): Promise<void> {
  const [router] = bench.fleet.routers;
  await router.send(`/v1/catalogs/${CATALOG}`, JSON.stringify({ rewards: { defaultReward: 0 } }), 'PUT');
  const before = await bench.memory.used();
  const { length } = await bench.makeDecisions(1000);
  const each = ((await bench.memory.used()) - before) / length;
  bench.say('bytes of Redis per decision with a default reward', each);
}

function inWords({ p50, p99, max, count }: Latency): string {
  return `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${max.toFixed(1)} (${count})`;
}

async function main(): Promise<void> {
  if (redisProgram.path === null) return console.log(`No measurement${redisProgram.missing}`);
  const workload = await readWorkload(options.data);
  const { routers, workers } = options;
  console.log(`${workload.source}; ${routers} routers, ${workers} workers, appendfsync ${options.fsync}\n`);
  const fleet = await Fleet.start(options.main, options.fsync, Number(routers), Number(workers));
  const bench = new Bench(fleet, workload);
  try {
    await putTools(bench, workload);
    const made = await measureDecisions(bench, Number(options.decisions));
    await measureLearning(bench, made);
    await measureWarmLearning(bench, (3 * made.length) / 4);
    await measureIntake(bench, made);
    await measureLag(bench, made);
    const effect = await measureEffect(bench);
    bench.say('reward to effect on another router, ms', effect, inWords(effect));
    await measureRouting(bench);
    await measureSettlements(bench);
  } finally {
    bench.memory.close();
    await fleet.stop();
  }
  mkdirSync('bench/results', { recursive: true });
  const measured = measuredOn(`npx tsx bench/redis.ts ${process.argv.slice(2).join(' ')}`.trim());
  const { data: _, ...shown } = options;
  const json = { ...measured, source: workload.source, options: shown, figures: bench.figures };
  writeFileSync('bench/results/redis.json', `${JSON.stringify(json, null, 2)}\n`);
}

await main();
