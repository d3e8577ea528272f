/**
 * What do decision and reward cost together? One embedded service with log and fsync, 464 tools: as many pairs a second as it
 * answers to 16 clients, in its first seconds, while V8 compiles, and when it is warm; then a steady 200 routes and 200 rewards a
 * second, each reward 50 ms after its decision.
 *
 *   npx tsx bench/pairs.ts [--data ../shared/data] [--tools 464] [--clients 16] [--seconds 10] [--warm-up 4000]
 *                          [--rate 200] [--steady 120] [--main dist/bundle/main.js] [--folder .]
 *
 * Latencies are taken from when a request was sent, which no answer delays. The lag of a reward runs from its 202 until its status is `applied`; one in
 * twenty is asked for. Every figure has the load average of its end beside it. The folder must lie on the disk that is meant.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { RouteAnswer } from '../src/routing/route-answer.ts';
import { LabelledSet } from './labelled-set.ts';
import { measuredOn } from './measured-on.ts';
import { HttpLoad, latencyOf, onSchedule } from './route/http-load.ts';
import { PinnedProcess, pinThisProcess } from './route/pinned-process.ts';
import { distinctQueries } from './route/workload.ts';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    set: { type: 'string', default: 'toollens' },
    tools: { type: 'string', default: '464' },
    clients: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '10' },
    'warm-up': { type: 'string', default: '4000' },
    rate: { type: 'string', default: '200' },
    steady: { type: 'string', default: '120' },
    main: { type: 'string', default: 'dist/bundle/main.js' },
    folder: { type: 'string', default: '.' },
  },
});
const REWARD_AFTER_MS = 50;
const ASKED_SHARE = 20;

const folder = await mkdtemp(join(options.folder, '.bench-pairs-'));
const figures: Record<string, unknown> = {};

class Pairs {
  readonly #service: PinnedProcess;
  readonly load: HttpLoad;
  readonly #query: () => string;

  constructor(service: PinnedProcess, query: () => string) {
    this.#service = service;
    this.load = new HttpLoad(service.url, 256);
    this.#query = query;
  }

  async route(): Promise<{ readonly decisionId: string; readonly tool: string }> {
    const body = JSON.stringify({ query: this.#query(), k: 5 });
    const { decisionId, tools }: RouteAnswer = JSON.parse(await this.load.send('/v1/route', body));
    return { decisionId, tool: tools[0].name };
  }

  async reward({ decisionId, tool }: { decisionId: string; tool: string }): Promise<string> {
    const body = JSON.stringify({ tool, outcome: 'success' });
    return JSON.parse(await this.load.send(`/v1/decisions/${decisionId}/rewards`, body)).rewardId;
  }

  async applied(rewardId: string): Promise<void> {
    while (JSON.parse(await this.load.send(`/v1/rewards/${rewardId}`, '', 'GET')).status !== 'applied') {
      await wait(2);
    }
  }

  async settled(): Promise<void> {
    while (JSON.parse(await this.load.send('/v1/rewards/health', '', 'GET')).pending > 0) await wait(20);
  }

  used() {
    const io = readFileSync(`/proc/${this.#service.pid}/io`, 'utf8');
    const written = Number(/^write_bytes: (\d+)/m.exec(io)?.[1]);
    return {
      cpu: this.#service.cpuSeconds,
      written,
      decisions: sizeOf('decisions'),
      ledger: sizeOf('ledger'),
    };
  }

  get megabytes(): number {
    return Math.round(this.#service.memory.now);
  }
}

/** Bytes of the files in the folders of this name. */
function sizeOf(name: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const own = files.filter((file) => file.includes(`/${name}/`));
  return own.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

/** So many pairs, or as many as there is time for, one after the other by each of the clients. @returns how many */
async function asked(pairs: Pairs, most: number, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let count = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end && count < most) {
      count++;
      await pairs.reward(await pairs.route());
    }
  };
  await Promise.all(Array.from({ length: Number(options.clients) }, client));
  return count;
}

async function closedLoop(pairs: Pairs, when: string): Promise<void> {
  const before = pairs.used();
  const start = performance.now();
  const count = await asked(pairs, Number.POSITIVE_INFINITY, Number(options.seconds));
  const answered = performance.now() - start;
  await pairs.settled();
  const learned = performance.now() - start;
  const after = pairs.used();
  say(`pairs/s at c = ${options.clients}, ${when}`, {
    answered: (1000 * count) / answered,
    learned: (1000 * count) / learned,
    'processor ms each': (1000 * (after.cpu - before.cpu)) / count,
    'bytes written each': (after.written - before.written) / count,
    'bytes of the decision log each': (after.decisions - before.decisions) / count,
    'bytes of the ledger each': (after.ledger - before.ledger) / count,
    'memory MB': pairs.megabytes,
  });
}

async function openLoop(pairs: Pairs): Promise<void> {
  const [perSecond, seconds] = [Number(options.rate), Number(options.steady)];
  const [routes, rewards, lags, memory]: [number[], number[], number[], number[]] = [[], [], [], []];
  const before = pairs.used();
  const late = await onSchedule(perSecond, seconds, async (n) => {
    if (n % (perSecond * 10) === 0) memory.push(pairs.megabytes);
    const sent = performance.now();
    const made = await pairs.route();
    routes.push(performance.now() - sent);
    await wait(REWARD_AFTER_MS);
    const reported = performance.now();
    const rewardId = await pairs.reward(made);
    const accepted = performance.now();
    rewards.push(accepted - reported);
    if (n % ASKED_SHARE !== 0) return;
    await pairs.applied(rewardId);
    lags.push(performance.now() - accepted);
  });
  await pairs.settled();
  const after = pairs.used();
  const { length } = routes;
  say(`${perSecond} routes and ${perSecond} rewards a second for ${seconds} s`, {
    route: latencyOf(routes),
    reward: latencyOf(rewards),
    lag: latencyOf(lags),
    'sent late': late,
    'processor ms a pair': (1000 * (after.cpu - before.cpu)) / length,
    'bytes written a pair': (after.written - before.written) / length,
    'memory MB every 10 s': [...memory, pairs.megabytes],
  });
}

function say(name: string, figure: Record<string, unknown>): void {
  figures[name] = { ...figure, 'load average': loadavg()[0] };
  console.log(name);
  for (const [key, value] of Object.entries(figures[name] as object)) {
    const rounded = JSON.stringify(value, (_, one) =>
      typeof one === 'number' ? Number(one.toPrecision(4)) : one,
    );
    console.log(`    ${key.padEnd(34)}${rounded}`);
  }
}

try {
  pinThisProcess();
  const set = new LabelledSet(options.data, options.set, null);
  const tools = (await set.tools()).map(({ tool }) => tool).slice(0, Number(options.tools));
  const queries = await set.queries('test');
  const environment = { BANDOLIER_LOG_LEVEL: 'error', BANDOLIER_MAX_WAIT_MS: '60000' };
  const words = [options.main, 'serve', '--port', '0', '--data-dir', folder];
  const service = await PinnedProcess.start(words, environment);
  const pairs = new Pairs(service, distinctQueries([...new Set(queries.map(({ text }) => text))]));
  try {
    await pairs.load.send('/v1/catalogs/default/tools', JSON.stringify({ tools }), 'PUT');
    if (Number(options.seconds) > 0) await closedLoop(pairs, 'from its start');
    await asked(pairs, Number(options['warm-up']), Number.POSITIVE_INFINITY);
    if (Number(options.seconds) > 0) await closedLoop(pairs, 'warm');
    if (Number(options.steady) > 0) await openLoop(pairs);
  } finally {
    pairs.load.close();
    await service.stop();
  }
} finally {
  await rm(folder, { recursive: true });
}
mkdirSync('bench/results', { recursive: true });
const report = { ...measuredOn(`npx tsx bench/pairs.ts ${process.argv.slice(2).join(' ')}`.trim()), figures };
writeFileSync('bench/results/pairs.json', `${JSON.stringify(report, null, 2)}\n`);
