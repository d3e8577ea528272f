import { Command } from 'commander';
import type { ExperimentReportView } from '../experiments/experiment-report.ts';
import type { ExperimentView } from '../experiments/experiment-view.ts';
import { ApiClient } from './api-client.ts';
import { type AskOptions, asking, serviceUrl } from './options.ts';
import { readJson } from './read-text.ts';
import { counted, print, table } from './terminal.ts';

type ExperimentOptions = AskOptions;

export function experimentCommand(): Command {
  const command = new Command('experiment').description('prove that a change of policy is better');
  const sub = (name: string, description: string): Command =>
    asking(command.command(name).description(description));

  sub('list', 'all experiments of a catalog').action(async (options: ExperimentOptions) => {
    const { experiments } = await api(options).get<{ experiments: ExperimentView[] }>(pathOf(options));
    const rows = experiments.map(({ name, status, unit, variants }) => [
      name,
      status,
      unit,
      variants.map((variant) => `${variant.name} ${variant.share} %`).join(', '),
    ]);
    const found =
      rows.length === 0 ? 'There are none.\n' : table([['NAME', 'STATUS', 'UNIT', 'VARIANTS'], ...rows]);
    print(options.json, { experiments }, found);
  });

  sub('create', 'create an experiment from a JSON file; - for standard input')
    .argument(
      '<file>',
      '{name, unit, variants: [{name, share, policy?, detail?, mode?}], metric?, guardrails?}',
    )
    .action(async (file: string, options: ExperimentOptions) => {
      const view = await api(options).post<ExperimentView>(pathOf(options), await readJson(file));
      const { name, variants } = view;
      const alike = variants.every(({ policy }) => policy == null);
      const note = alike
        ? 'No variant names a policy: if nothing else differs, this tests the experiment itself (A/A).\n'
        : '';
      print(
        options.json,
        view,
        `${note}Experiment ${name} is a draft. Start it: bandolier experiment start ${name}\n`,
      );
    });

  for (const [action, description] of [
    ['start', 'let units in'],
    ['stop', 'end it: all units get the active policy again'],
  ] as const) {
    sub(action, description)
      .argument('<name>')
      .action((name: string, options: ExperimentOptions) => move(name, action, {}, options));
  }
  sub('promote', 'make the winner (or the variant that is named) the active policy')
    .argument('<name>')
    .argument('[variant]')
    .action((name: string, variant: string | undefined, options: ExperimentOptions) =>
      move(name, 'promote', variant === undefined ? {} : { variant }, options),
    );
  sub('report', 'is a variant better?')
    .argument('<name>')
    .action(async (name: string, options: ExperimentOptions) => {
      const report = await api(options).get<ExperimentReportView>(pathOf(options, name, 'report'));
      print(options.json, report, reportText(report));
    });
  return command;
}

async function move(name: string, action: string, body: object, options: ExperimentOptions): Promise<void> {
  const view = await api(options).post<ExperimentView>(pathOf(options, name, action), body);
  print(options.json, view, `${view.history.at(-1)?.note}\n`);
}

function api({ url }: ExperimentOptions): ApiClient {
  return new ApiClient(serviceUrl(url));
}

function pathOf({ catalog }: ExperimentOptions, ...more: string[]): string {
  return ['/v1/catalogs', encodeURIComponent(catalog), 'experiments', ...more.map(encodeURIComponent)].join(
    '/',
  );
}

/** A report for a terminal: the answer first, then the numbers behind it. */
function reportText(report: ExperimentReportView): string {
  const { experiment, status, decision, reason, metric, srm, variants, differences, shadows } = report;
  const answer = { true: 'YES', false: 'NO', null: 'NOT KNOWN YET' }[String(decision)];
  const numbers = table([
    [
      'VARIANT',
      'UNITS',
      'DECISIONS',
      'REWARDS',
      'MEAN REWARD',
      'SUCCESS RATE',
      'TOKENS',
      'LATENCY MS',
      'COST',
    ],
    ...variants.map((variant) => [
      variant.name,
      String(variant.units),
      String(variant.decisions),
      String(variant.rewards),
      number(variant.meanReward),
      number(variant.successRate),
      number(variant.tokens),
      number(variant.latencyMs),
      number(variant.cost),
    ]),
  ]);
  const known = differences.filter(({ estimate }) => estimate !== null);
  const compared = table([
    ['DIFFERENCE IN', 'OF', 'ESTIMATE', 'SURELY BETWEEN', 'FOR ONE PLANNED LOOK'],
    ...known.map(({ metric: of, variant, against, estimate, lower, upper, fixedHorizon }) => [
      of,
      `${variant} − ${against}`,
      number(estimate),
      `${number(lower)} … ${number(upper)}`,
      fixedHorizon === null ? '' : `${number(fixedHorizon.lower)} … ${number(fixedHorizon.upper)}`,
    ]),
  ]);
  const dark = shadows.map(
    ({ name, decisions, overlap, hitRate, servedHitRate }) =>
      `Shadow ${name}: ranked ${counted(decisions, 'decision')}, would have shown ${number(overlap)} of what was served; ` +
      `had ${number(hitRate)} of the tools that worked, the served slates ${number(servedHitRate)}.\n`,
  );
  return [
    `Experiment ${experiment} is ${status}. Is a variant better in ${metric}? ${answer}\n${reason}\n`,
    numbers,
    ...(known.length > 0 ? [compared] : []),
    ...dark,
    ...(srm.ok
      ? []
      : [`The split is not the one asked for (p = ${number(srm.pValue)}): trust no number here.\n`]),
    ...(report.withoutUnit > 0
      ? [`${report.withoutUnit} requests named no ${report.unit} and were left out.\n`]
      : []),
    ...(report.ownDetail > 0
      ? [
          `${report.ownDetail} requests said themselves how much of each definition they want, and were left out.\n`,
        ]
      : []),
  ].join('\n');
}

function number(value: number | null): string {
  return value === null ? '–' : String(Number(value.toPrecision(4)));
}
