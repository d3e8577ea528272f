/**
 * Does the service stay as it is while agents work over /mcp for an hour? Agents of both eras of the protocol search, call and
 * report at a modest rate; every answer is checked. Each minute shows latencies, and what the service holds: memory, descriptors,
 * handles, rewards that are not folded yet. In the end all decisions have to be known, also after a restart.
 *
 *   npx tsx bench/mcp-hold.ts [--minutes 60] [--rate 4] [--agents 8]
 *
 * The rate is of rounds a second by all agents together; a round is a search, a call of a tool of a server behind, and, where
 * that tool was shown, a report every other time. A conversation has twenty rounds; half of those of the older era end without
 * saying so. Ends with 1 if an answer was wrong.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { randomFor } from '../bandit/random.ts';
import { packageRoot } from '../config/package-root.ts';
import { RunningService, temporaryFolder, until } from '../tests/e2e/running-service.ts';
import { clientOf, ERAS, httpTransport, type McpClient } from '../tests/set-up/mcp-clients.ts';
import { measuredOn } from './measured-on.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '4' },
    agents: { type: 'string', default: '8' },
  },
});
const minutes = Number(values.minutes);
const agents = Number(values.agents);
const betweenRoundsMs = (1000 * agents) / Number(values.rate);
const ROUNDS_OF_CONVERSATION = 20;
const SETTINGS = { BANDOLIER_LOCAL_SOURCES: 'true' };
const JOBS = [
  'send back what was said',
  'the customer wants their money back',
  'does echo',
  'book a flight to Rome',
];

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly text?: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly _meta?: Record<string, unknown>;
}

const STEPS = ['search', 'call', 'report'] as const;
type Step = (typeof STEPS)[number];
/** Of this minute, ms. */
const latencies: Record<Step, number[]> = { search: [], call: [], report: [] };
const wrong: string[] = [];
let wrongAnswers = 0;
let searches = 0;
let searchesFailed = 0;

/** Asks, and keeps how long that took. */
async function ask(
  client: McpClient,
  step: Step,
  name: string,
  args: Record<string, unknown>,
): Promise<Result> {
  const start = performance.now();
  const result = (await client.callTool({ name, arguments: args })) as unknown as Result;
  latencies[step].push(performance.now() - start);
  return result;
}

/** What is not so is counted and kept, and the others go on. */
function check(isSo: boolean, what: string, seen: unknown): void {
  if (isSo) return;
  wrongAnswers++;
  if (wrong.length < 20)
    wrong.push(`${new Date().toISOString()} ${what}: ${String(JSON.stringify(seen)).slice(0, 400)}`);
}

async function round(client: McpClient, id: string): Promise<void> {
  const random = randomFor(`bench/mcp-hold ${id}`);
  const [job, kind, length, reports] = [0, 1, 2, 3].map((at) => random.uniform(at));
  const query = JOBS[Math.floor(job * JOBS.length)];
  searches++;
  const found = await ask(client, 'search', 'find_tools', { query }).catch((error: unknown) => {
    searchesFailed++;
    throw error;
  });
  const { decisionId, tools } = (found.structuredContent ?? {}) as {
    decisionId?: string;
    tools?: readonly { readonly name: string; readonly inputSchema?: object }[];
  };
  const names = new Set(tools?.map(({ name }) => name));
  const isSlate = tools?.length === 5 && names.size === 5 && tools.every(({ inputSchema }) => inputSchema);
  check(found.isError !== true && decisionId !== undefined && isSlate === true, 'find_tools', found);

  const tool = kind < 0.8 ? 'echo' : 'fail';
  const shown = names.has(tool) ? { decisionId } : {};
  const text = `${id} ${'ä'.repeat(Math.floor(2000 * length))}`;
  const called = await ask(client, 'call', 'call_tool', { name: tool, arguments: { text }, ...shown });
  const isAsItShould =
    tool === 'echo'
      ? called.isError !== true && called.content[0].text === text
      : called.isError === true && called.content[0].text === 'it went wrong';
  const credited = called._meta?.['bandolier/decisionId'];
  check(isAsItShould && (!names.has(tool) || credited === decisionId), `call_tool ${tool}`, called);

  if (reports < 0.5 || !names.has(tool)) return;
  const outcome = tool === 'echo' ? 'success' : 'failure';
  const reported = await ask(client, 'report', 'report_outcome', { tool, outcome, decisionId });
  const { status, decisionId: of } = reported.structuredContent ?? {};
  check(status === 'queued' && of === decisionId, 'report_outcome', reported);
}

/** Has one conversation after the other until it is over. */
async function agent(url: string, number: number, isOver: () => boolean): Promise<void> {
  const era = ERAS[number % 2];
  await wait((betweenRoundsMs * number) / agents);
  for (let conversation = 0; !isOver(); conversation++) {
    const id = `${number}.${conversation}`;
    const client = clientOf(era);
    try {
      const headers: Record<string, string> =
        era === '2026-07-28' ? { 'x-bandolier-session': `agent ${id}` } : {};
      await client.connect(httpTransport(era, `${url}/mcp`, headers));
      const { tools } = await client.listTools();
      check(tools.some(({ name }) => name === 'find_tools') && tools.length === 4, 'tools/list', tools);
      for (let i = 0; i < ROUNDS_OF_CONVERSATION && !isOver(); i++) {
        const next = performance.now() + betweenRoundsMs;
        await round(client, `${id}.${i}`);
        await wait(Math.max(0, next - performance.now()));
      }
      if (era === '2025-11-25' && conversation % 2 === 0) {
        await (client.transport as unknown as StreamableHTTPClientTransport).terminateSession();
      }
    } catch (error) {
      check(false, `conversation ${id} broke off`, (error as Error).message);
      await wait(1000);
    } finally {
      await client.close().catch((error: Error) => check(false, 'closing a client', error.message));
    }
  }
}

interface Health {
  readonly pending: number;
  readonly decisions: { readonly routed: number };
  readonly reports: Readonly<Record<string, number>>;
}

/** What the last minute was like, and how the service is now. */
async function row(service: RunningService, minute: number) {
  const { pending, reports } = await service.ask<Health>('GET', '/v1/rewards/health');
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  const metric = (name: string): number => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(metrics)?.[1]);
  const times = STEPS.flatMap((step) => {
    const sorted = latencies[step].splice(0).sort((a, b) => a - b);
    const at = (share: number): number | null => {
      const time = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
      return time === undefined ? null : Number(time.toFixed(1));
    };
    return [
      [step, sorted.length],
      [`${step} p50 ms`, at(0.5)],
      [`${step} p99 ms`, at(0.99)],
    ];
  });
  return {
    minute,
    'RSS MB': Math.round(metric('process_resident_memory_bytes') / 2 ** 20),
    'heap MB': Math.round(metric('nodejs_heap_size_used_bytes') / 2 ** 20),
    descriptors: metric('process_open_fds'),
    handles: metric('nodejs_active_handles_total'),
    'processor s': Math.round(metric('process_cpu_seconds_total')),
    pending,
    learned: reports.applied,
    wrong: wrongAnswers,
    ...(Object.fromEntries(times) as Record<string, number | null>),
    load: Number(loadavg()[0].toFixed(1)),
  };
}

const folder = temporaryFolder();
let service = await RunningService.start(folder.path, ['--sample'], SETTINGS);
const source = '/v1/catalogs/default/sources/behind';
const server = join(packageRoot(), 'tests/set-up/mcp-servers/plain-server.mjs');
const args = [server, JSON.stringify({ names: ['echo', 'fail'] })];
await service.ask('PUT', source, { kind: 'mcp', command: process.execPath, args, refreshSeconds: null });
await until(async () => (await service.ask('GET', source)).status === 'ok');

const rows: Awaited<ReturnType<typeof row>>[] = [];
const file = new URL('results/mcp-hold.json', import.meta.url);
mkdirSync(new URL('.', file), { recursive: true });
const command = `npx tsx bench/mcp-hold.ts --minutes ${minutes} --rate ${values.rate} --agents ${agents}`;
const keep = (more: object = {}): void =>
  writeFileSync(file, `${JSON.stringify({ ...measuredOn(command), ...more, wrong, rows }, null, 2)}\n`);

const start = performance.now();
const isOver = (): boolean => performance.now() - start >= minutes * 60_000;
const { url } = service;
const working = Promise.all(Array.from({ length: agents }, (_, i) => agent(url, i, isOver)));
for (let minute = 1; minute <= minutes; minute++) {
  await wait(Math.max(0, start + minute * 60_000 - performance.now()));
  const now = await row(service, minute);
  rows.push(now);
  console.log(JSON.stringify(now));
  keep();
}
await working;
await service.settled();
const { decisions, reports } = await service.ask<Health>('GET', '/v1/rewards/health');
check(
  decisions.routed === searches - searchesFailed,
  `${searches} searches, ${searchesFailed} failed`,
  decisions,
);
check(reports.rejected === 0 && reports.unknownDecision === 0, 'reports', reports);
const code = await service.stop();
check(code === 0, 'the end of the service', code);
service = await RunningService.start(folder.path, [], SETTINGS);
const { decisions: after } = await service.ask<Health>('GET', '/v1/rewards/health');
check(after.routed === decisions.routed, `decisions after a restart, ${decisions.routed} before`, after);
await service.stop();
folder.remove();

const [first, last] = [rows[Math.min(4, rows.length - 1)], rows[rows.length - 1]];
keep({ searches, wrongAnswers, decisions, reports });
console.table(rows);
console.log(
  `${searches} searches, ${wrongAnswers} wrong answers. From minute ${first.minute} to ${last.minute}: RSS ${first['RSS MB']} to ${last['RSS MB']} MB, descriptors ${first.descriptors} to ${last.descriptors}, handles ${first.handles} to ${last.handles}.`,
);
for (const line of wrong) console.log(line);
process.exitCode = wrongAnswers === 0 ? 0 : 1;
