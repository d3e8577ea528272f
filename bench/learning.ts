/**
 * Does the router learn, and does it stay good? A simulated agent plays public labelled queries against the
 * policies, through the code paths of the service; held-out queries are then asked without exploration.
 *
 *   npx tsx bench/learning.ts [--data ../shared/data] [--model <folder>] [--seeds 3] [--rows toollens,noise] [--without-version-1]
 *
 * Every row of the default policy is played twice: as it is, and as it was before it had taught vectors and a small ridge
 * (version 1). Recall@5 is the mean share of the fitting tools among the five best. Needs the compiled embedding
 * thread (npm run build).
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Kernels } from '../bandit/kernels/kernels.ts';
import { POLICY_KINDS } from '../bandit/policies/registry.ts';
import { packageRoot } from '../config/package-root.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../src/ledger/catalog-settings.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { CAREFUL_AGENT } from '../src/simulation/agent.ts';
import { NO_CHANGES } from '../src/simulation/catalog-changes.ts';
import {
  meanOf,
  type SimulationOptions,
  type SimulationResult,
  simulate,
} from '../src/simulation/simulate.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { lineChart, type Series } from './line-chart.ts';
import { measuredOn } from './measured-on.ts';
import { type Stream, type StreamName, streamOf } from './streams.ts';

/** Steps over which the online curve is averaged. */
const WINDOW = 1000;

const DEFAULT = DEFAULT_CATALOG_SETTINGS.policy;

type Setting = Partial<
  Pick<SimulationOptions, 'policy' | 'k' | 'agent' | 'unit' | 'changes' | 'passes' | 'evaluateAfter'>
>;

interface Row {
  readonly name: string;
  readonly stream: StreamName;
  readonly setting?: Setting;
  /** Recall@5 that a correct implementation does not fall below, with the bundled model and with MiniLM. */
  readonly reach?: readonly [bundled: number, minilm?: number];
  /** Shown in the chart. */
  readonly curve?: boolean;
  /** Played only when asked for with --rows. */
  readonly onDemand?: boolean;
}

const parameters = (values: Record<string, number>): Setting => ({
  policy: { ...DEFAULT, parameters: values },
});

/** After how many decisions the held-out queries are asked: what the first outcomes bring, and what many do. */
const FIRST_OUTCOMES = [0, 100, 300, 1000, 5000];

const ROWS: readonly Row[] = [
  {
    name: 'toollens',
    stream: 'toollens',
    setting: { evaluateAfter: FIRST_OUTCOMES },
    reach: [0.79],
    curve: true,
  },
  { name: 'unseen scenes', stream: 'unseen', reach: [0.43] },
  {
    name: 'seal-tools',
    stream: 'seal-tools',
    setting: { evaluateAfter: [0, 100, 300] },
    reach: [0.79, 0.79],
  },
  {
    name: 'repeat guard (seal-tools five times)',
    stream: 'seal-tools',
    setting: { passes: 5, evaluateAfter: [100, 300, 1000] },
    reach: [0.785],
  },
  {
    name: 'noise .2',
    stream: 'toollens',
    setting: { agent: { ...CAREFUL_AGENT, noise: 0.2 } },
    reach: [0.76],
  },
  {
    name: 'loss .5, delay 500',
    stream: 'toollens',
    setting: { agent: { ...CAREFUL_AGENT, loss: 0.5, delay: 500 } },
    reach: [0.73],
  },
  {
    name: 'drift: 20 % swap meaning at half',
    stream: 'toollens',
    setting: { changes: { ...NO_CHANGES, driftShare: 0.2 } },
    reach: [0.66],
  },
  { name: 'K = 3 shown', stream: 'toollens', setting: { k: 3 } },
  { name: 'K = 10 shown', stream: 'toollens', setting: { k: 10 } },
  { name: '8,000 cases', stream: 'toollens', setting: parameters({ cases: 8000 }) },
  { name: '20,000 cases', stream: 'toollens', setting: parameters({ cases: 20_000 }) },
  { name: 'full width (projection 0)', stream: 'toollens', setting: parameters({ projection: 0 }) },
  {
    name: 'no exploration',
    stream: 'toollens',
    setting: { policy: { ...DEFAULT, parameters: { alpha: 0, localBonus: 0 }, exploration: 'ucb' } },
  },
  { name: 'no embedder', stream: 'toollens without embedder', reach: [0.69] },
  {
    name: '30 % removed in the middle third',
    stream: 'toollens',
    setting: { changes: { ...NO_CHANGES, removedShare: 0.3 } },
  },
  {
    name: '100 new tools at half',
    stream: 'toollens',
    setting: { changes: { ...NO_CHANGES, newcomers: 100 } },
  },
  // Parts of train, for whoever wants to improve something: never choose by what test says.
  { name: 'validation, seen scenes', stream: 'seen validation', onDemand: true },
  { name: 'validation, unseen scenes', stream: 'unseen validation', onDemand: true },
  {
    name: 'validation, repeat guard',
    stream: 'seal-tools validation',
    setting: { passes: 5 },
    onDemand: true,
  },
  ...[0, 0.5].map(
    (finds): Row => ({
      name: `validation, tools found elsewhere ${finds}`,
      stream: 'seen validation',
      setting: { agent: { ...CAREFUL_AGENT, finds }, evaluateAfter: [1000, 5000] },
      onDemand: true,
    }),
  ),
  {
    name: 'validation, everything by one unit',
    stream: 'seen validation',
    setting: { unit: 'one', evaluateAfter: [1000, 5000] },
    onDemand: true,
  },
  // Every other policy of the registry, as it explores by itself.
  ...POLICY_KINDS.filter(({ name }) => name !== DEFAULT.name).map(
    ({ name, defaultExploration: exploration }): Row => ({
      name: `policy ${name}`,
      stream: 'toollens',
      setting: { policy: { name, parameters: {}, exploration, temperature: 0.03 } },
      curve: true,
    }),
  ),
];

/** The same row with what the default policy was before; none for other policies. */
function versionOneOf(row: Row): Row[] {
  const policy = row.setting?.policy ?? DEFAULT;
  if (policy.name !== DEFAULT.name || policy.parameters.projection !== undefined) return [];
  const before = { ...policy, parameters: { ...policy.parameters, taughtRate: 0, projection: 0 } };
  return [
    {
      ...row,
      name: `version 1 of ${row.name}`,
      setting: { ...row.setting, policy: before },
      reach: undefined,
    },
  ];
}

interface Measured {
  readonly row: string;
  readonly reach?: number;
  readonly seeds: number;
  /** Mean and standard deviation over seeds of Recall@5, and means of the others. */
  readonly recall: number;
  readonly deviation: number;
  readonly complete: number;
  readonly recall3: number;
  readonly recall10: number;
  readonly after: Readonly<Record<string, number>>;
  readonly firstThousand: number;
  readonly online: number;
  readonly lastTwoThousand: number;
  readonly newcomers?: Readonly<Record<string, number>>;
  readonly firstTwelfthBack?: number;
  readonly secondsPerPass: number;
  readonly cases: number;
  readonly megabytes: number;
}

function measured(row: Row, column: 0 | 1, results: readonly SimulationResult[], seconds: number): Measured {
  const final = results.map(({ evaluations }) => evaluations[evaluations.length - 1]);
  const recalls = final.map(({ recall }) => recall[5]);
  const recall = meanOf(recalls);
  const online = (from: number, to: number) =>
    meanOf(results.map((result) => meanOf(result.online.slice(from, to))));
  const { steps, size } = results[0];
  const marks = results[0].evaluations.slice(0, -1).map(({ after }, i) => {
    return [after, meanOf(results.map(({ evaluations }) => evaluations[i].recall[5]))] as const;
  });
  const classes = results[0].newcomers.map(({ impressions }, i) => {
    return [impressions ?? 'more', meanOf(results.map(({ newcomers }) => newcomers[i].share))] as const;
  });
  return {
    row: row.name,
    reach: row.reach?.[column],
    seeds: results.length,
    recall,
    deviation: Math.sqrt(meanOf(recalls.map((value) => (value - recall) ** 2))),
    complete: meanOf(final.map(({ complete }) => complete[5])),
    recall3: meanOf(final.map(({ recall }) => recall[3])),
    recall10: meanOf(final.map(({ recall }) => recall[10])),
    after: Object.fromEntries(marks),
    firstThousand: online(0, WINDOW),
    online: online(0, steps),
    lastTwoThousand: online(steps - 2000, steps),
    ...(classes.length > 0 ? { newcomers: Object.fromEntries(classes) } : {}),
    // The part of the stream in which removed tools have just come back; compare rows.
    firstTwelfthBack: online(Math.floor((2 * steps) / 3), Math.floor((2 * steps) / 3 + steps / 12)),
    secondsPerPass: seconds / results.length,
    cases: size.cases,
    megabytes: (size.matrices + size.perTool + size.memory) / 2 ** 20,
  };
}

function printed(one: Measured): string {
  const number = (value: number) => value.toFixed(3).padStart(7);
  const reached = one.reach === undefined ? '' : `${one.recall >= one.reach ? ' ok' : ' BELOW'} ${one.reach}`;
  const marks = Object.entries(one.after).map(([after, recall]) => `@${after} ${recall.toFixed(3)}`);
  const newcomers = Object.entries(one.newcomers ?? {}).map(([key, share]) => `≤${key} ${share.toFixed(3)}`);
  return [
    one.row.padEnd(50),
    number(one.recall),
    ` ±${one.deviation.toFixed(3)}`,
    number(one.complete),
    number(one.recall3),
    number(one.recall10),
    ` |${number(one.firstThousand)}${number(one.online)}${number(one.lastTwoThousand)}`,
    ` | ${one.secondsPerPass.toFixed(1)} s`,
    reached,
    marks.length + newcomers.length > 0 ? ` ${[...marks, ...newcomers].join(' ')}` : '',
  ].join('');
}

/** The online curve: mean over seeds and over a moving window. */
function curveOf(row: Row, results: readonly SimulationResult[]): Series {
  const { steps } = results[0];
  const x = Array.from({ length: Math.floor(steps / 250) }, (_, i) => (i + 1) * 250);
  const y = x.map((to) =>
    meanOf(results.map(({ online }) => meanOf(online.slice(Math.max(0, to - WINDOW), to)))),
  );
  return {
    label:
      row.reach === undefined && row.setting?.policy?.name === DEFAULT.name
        ? 'version 1'
        : (row.setting?.policy?.name ?? DEFAULT.name),
    x,
    y,
    dashed: row.setting?.policy !== undefined,
  };
}

/** Writes a row at once, because all of them take long; the other rows of the file stay. */
function write(file: string, one: Measured, how: Readonly<Record<string, unknown>>): void {
  const rows: { readonly row: string }[] = existsSync(file)
    ? JSON.parse(readFileSync(file, 'utf8')).rows
    : [];
  const row = { ...one, ...how };
  const at = rows.findIndex((each) => each.row === one.row);
  mkdirSync('bench/results', { recursive: true });
  const all = at < 0 ? [...rows, row] : rows.with(at, row);
  writeFileSync(file, `${JSON.stringify({ rows: all }, null, 2)}\n`);
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      data: { type: 'string', default: '../shared/data' },
      model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
      seeds: { type: 'string', default: '3' },
      rows: { type: 'string', default: '' },
      'without-version-1': { type: 'boolean', default: false },
    },
  });
  if (!existsSync(options.data)) {
    console.log(`No data sets in ${options.data}: nothing to measure. Give their folder with --data.`);
    return;
  }
  const bundled = options.model.endsWith('tool-static-256');
  const chosen =
    options.rows === ''
      ? ROWS.filter(({ onDemand }) => onDemand !== true)
      : ROWS.filter(({ name }) => options.rows.split(',').some((part) => name.includes(part)));
  const kernels: Kernels = await loadKernels();
  const embedder = await openModelFolder(options.model);
  const streams = new Map<string, Stream>();
  const rows = options['without-version-1'] ? chosen : chosen.flatMap((row) => [row, ...versionOneOf(row)]);
  const series: Series[] = [];
  console.log(`${''.padEnd(50)}    R@5          C@5    R@3   R@10 |  first online  last2k`);
  const file = `bench/results/learning${bundled ? '' : '-minilm'}.json`;
  const command = `npx tsx bench/learning.ts${bundled ? '' : ' --model <MiniLM>'}`;
  const how = { model: embedder.fingerprint, kernels: kernels.name, ...measuredOn(command) };
  for (const row of rows) {
    const stream = streams.get(row.stream) ?? (await streamOf(row.stream, options.data, embedder));
    streams.set(row.stream, stream);
    const results: SimulationResult[] = [];
    const start = performance.now();
    for (let seed = 0; seed < Number(options.seeds); seed++) {
      results.push(await simulate({ kernels, ...stream, policy: DEFAULT, k: 5, seed, ...row.setting }));
    }
    const one = measured(row, bundled ? 0 : 1, results, (performance.now() - start) / 1000);
    write(file, one, how);
    if (row.curve) series.push(curveOf(row, results));
    console.log(printed(one));
  }
  // The README shows it, and the package has docs/ and not bench/.
  if (bundled && options.rows === '') {
    const title = 'ToolLens: share of fitting tools in a slate of five, while learning';
    const chart = lineChart(series, { title, xLabel: 'decisions', yLabel: `recall, mean of ${WINDOW}` });
    writeFileSync('docs/learning.svg', chart);
  }
  await embedder.close();
}

await main();
