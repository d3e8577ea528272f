import type { ExperimentReportView } from '../experiments/experiment-report.ts';
import { table } from './table.ts';

/** A report for a terminal: the answer first, then the numbers behind it. */
export function reportText(report: ExperimentReportView): string {
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
      `Shadow ${name}: ranked ${decisions} decisions, would have shown ${number(overlap)} of what was served; ` +
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
  ].join('\n');
}

function number(value: number | null): string {
  return value === null ? '–' : String(Number(value.toPrecision(4)));
}
