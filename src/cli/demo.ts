import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SingleBar } from 'cli-progress';
import { Command, InvalidArgumentError } from 'commander';
import { packageRoot } from '../../config/package-root.ts';
import { ApiClient } from './api-client.ts';
import { demoReport } from './demo-report.ts';
import { type DemoQuery, measure, playQueries } from './demo-run.ts';
import { sampleTools, startServer } from './serve.ts';
import { settingsWith } from './setting-options.ts';

interface DemoOptions {
  readonly url?: string;
  readonly seed: number;
}

/** The demo's own catalog, so that nobody's is touched. */
const CATALOG = 'demo';

export function demoCommand(): Command {
  return new Command('demo')
    .description('watch it learn: a simulated agent plays 480 queries and reports what became of them')
    .option(
      '--url <url>',
      'play against this running service, in a catalog `demo` that is deleted afterwards',
    )
    .option('--seed <number>', 'another agent, another order of queries', seedOf, 1)
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

function seedOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It has to be a whole number.');
  return Number(text);
}
