import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import { packageRoot } from '../../config/package-root.ts';
import { ApiClient } from './api-client.ts';
import { type DemoQuery, type Measurement, measure, playQueries } from './demo-run.ts';
import { settingsWith, wholeNumber } from './options.ts';
import { sampleTools, startServer } from './serve.ts';
import { table } from './terminal.ts';

interface DemoOptions {
  readonly url?: string;
  readonly seed: number;
}

/** A catalog of the demo's own, so that it changes no other. */
const CATALOG = 'demo';

export function demoCommand(): Command {
  return new Command('demo')
    .description('watch it learn: a simulated agent plays 480 queries and reports what became of them')
    .option(
      '--url <url>',
      'play against this running service, in a catalog `demo` that is deleted afterwards',
    )
    .option('--seed <number>', 'another agent, another order of queries', wholeNumber(0, 999_999_999), 1)
    .addHelpText(
      'after',
      `
Without --url the demo starts a service of its own on a free port, with a data folder that is deleted afterwards.

Examples:
  bandolier demo
  bandolier demo --seed 7 --url http://127.0.0.1:8787`,
    )
    .action(demo);
}

async function demo({ url, seed }: DemoOptions): Promise<void> {
  if (url !== undefined) return play(new ApiClient(url), seed);
  const folder = await mkdtemp(join(tmpdir(), 'bandolier-demo-'));
  try {
    const { settings } = settingsWith({ port: '0', dataDir: folder });
    const server = await startServer({ ...settings, logLevel: 'error' });
    await play(new ApiClient(server.listener.url), seed).finally(() => server.stop());
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function play(api: ApiClient, seed: number): Promise<void> {
  const [learn, unseen] = [
    await readQueries('queries.learn.jsonl'),
    await readQueries('queries.unseen.jsonl'),
  ];
  const tools = await sampleTools();
  await api.put(`/v1/catalogs/${CATALOG}`, {});
  try {
    await api.put(`/v1/catalogs/${CATALOG}/tools`, { tools });
    process.stdout.write(
      `A simulated agent plays ${learn.length} queries on ${tools.length} tools at ${api.url}.\n` +
        'It calls what fits of the five tools it is shown, and reports, some decisions later, what became of it.\n\n',
    );
    const before = await measure(api, CATALOG, unseen);
    const bar = new SingleBar({ format: ' {bar} {value}/{total} queries', clearOnComplete: true });
    bar.start(learn.length, 0);
    const recalls = await playQueries(api, CATALOG, learn, seed, () => bar.increment()).finally(() =>
      bar.stop(),
    );
    const after = await measure(api, CATALOG, unseen);
    process.stdout.write(await demoReport(api, { before, after, recalls }));
  } finally {
    await api.delete(`/v1/catalogs/${CATALOG}`);
  }
}

async function readQueries(file: string): Promise<DemoQuery[]> {
  const text = await readFile(join(packageRoot(), 'examples', 'sample-catalog', file), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as DemoQuery);
}

export interface DemoResult {
  /** The same queries in the same order, before and after. */
  readonly before: readonly Measurement[];
  readonly after: readonly Measurement[];
  /** Recall of the queries it learned from, in the order in which they were asked. */
  readonly recalls: readonly number[];
}

interface Explanation {
  readonly candidates: readonly ExplainedTool[];
}

interface ExplainedTool {
  readonly name: string;
  /** Places by the description alone, and in the slate. */
  readonly retrievalRank: number;
  readonly rank: number;
  /** How many remembered outcomes near the query speak for or against it. */
  readonly trials: number;
  readonly sentence: string;
}

const BLOCKS = 24;

/** What the demo found, for people: figures, a sparkline, and the decision that improved most, explained. */
export async function demoReport(api: ApiClient, { before, after, recalls }: DemoResult): Promise<string> {
  const figures = table([
    [`On ${after.length} queries it never saw`, 'before', 'after', 'gain'],
    row('Recall@5', mean(before.map(({ recall }) => recall)), mean(after.map(({ recall }) => recall))),
    row('all tools found', completeShare(before), completeShare(after)),
  ]);
  return `${figures}
While it learned, Recall@5 of ${Math.ceil(recalls.length / BLOCKS)} queries a bar:  ${sparkline(recalls)}

${await improvedMost(api, before, after)}`;
}

/** Means of equal shares of the values, each as a bar between 0 and 1. */
export function sparkline(values: readonly number[]): string {
  const size = Math.ceil(values.length / BLOCKS);
  const bars = Array.from({ length: Math.ceil(values.length / size) }, (_, block) => {
    const share = mean(values.slice(block * size, (block + 1) * size));
    return '▁▂▃▄▅▆▇█'[Math.min(7, Math.floor(share * 8))];
  });
  return bars.join('');
}

/** Of the queries that gained most, the one that most outcomes speak for. */
async function improvedMost(
  api: ApiClient,
  before: readonly Measurement[],
  after: readonly Measurement[],
): Promise<string> {
  const gains = after.map(({ recall }, index) => recall - before[index].recall);
  const most = Math.max(...gains);
  if (!(most > 0)) return 'No query got better.\n';
  let best: { index: number; found: readonly ExplainedTool[]; trials: number } | null = null;
  for (const [index, gain] of gains.entries()) {
    if (gain < most) continue;
    const found = await newlyFound(api, before[index], after[index]);
    const trials = Math.max(...found.map((tool) => tool.trials));
    if (best === null || trials > best.trials) best = { index, found, trials };
  }
  const { index, found } = best as NonNullable<typeof best>;
  return `Improved most: "${after[index].query.query}"
  before  ${before[index].slate.join(', ')}
  after   ${after[index].slate.join(', ')}
${found.map(rise).join('')}`;
}

function rise({ name, retrievalRank, rank, sentence }: ExplainedTool): string {
  return `  ${name}: from place ${retrievalRank} to ${rank}. ${sentence}\n`;
}

/** Fitting tools that only the second slate has, explained. */
async function newlyFound(api: ApiClient, before: Measurement, after: Measurement): Promise<ExplainedTool[]> {
  const isNew = (name: string) => after.slate.includes(name) && !before.slate.includes(name);
  const found = after.query.relevant.filter(isNew);
  const { candidates } = await api.get<Explanation>(`/v1/decisions/${after.decisionId}`);
  return candidates.filter(({ name }) => found.includes(name));
}

function signed(value: number, digits: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`;
}

function row(name: string, before: number, after: number): string[] {
  return [`  ${name}`, before.toFixed(3), after.toFixed(3), `${signed((after - before) * 100, 1)} points`];
}

function completeShare(measurements: readonly Measurement[]): number {
  return mean(measurements.map(({ recall }) => (recall === 1 ? 1 : 0)));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
