/**
 * Can one look at an experiment all the time and still believe it? A/A with a look after every unit, power, sample
 * ratio, and what happens when assumptions are broken. Seeded; writes pictures for docs/experiments.md.
 *
 *   npx tsx bench/experiments.ts [--runs 2000] [--units 5000]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { changingShares, returningUsers } from './experiments/broken-assumptions.ts';
import { intervalChart, peekingChart, stoppingChart } from './experiments/charts.ts';
import { guardrail } from './experiments/guardrails.ts';
import { ALPHA, peek, WORLDS } from './experiments/peeking.ts';
import { power, tunedFor } from './experiments/power.ts';
import { falseAlarmsOnce, split } from './experiments/split.ts';
import { measuredOn } from './measured-on.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '2000' }, units: { type: 'string', default: '5000' } },
});
const runs = Number(values.runs);
const units = Number(values.units);
/** `tightestAt` of the A/A tables; the first is what an experiment of this length would be given. */
const TUNINGS = [units, 1000, 20_000];

mkdirSync('bench/results', { recursive: true });
const chart = (name: string, svg: string) => writeFileSync(`bench/results/experiments-${name}.svg`, svg);
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

console.log(
  `A/A, a look after every one of ${units} units, ${runs} runs: how often is a difference found? (≤ 5 %)`,
);
const peeking = WORLDS.map((world) => {
  const result = peek(world, runs, units, TUNINGS);
  console.log(
    `  ${world.name.padEnd(36)} anytime ${TUNINGS.map((t) => `${percent(result.anytime[t])} (${t})`).join(', ')}` +
      `; fixed-horizon ${percent(result.fixedPeeking)}, looked at once ${percent(result.fixedOnce)}`,
  );
  return result;
});
chart('peeking', peekingChart(peeking[0], runs, units));

console.log('\nPower at a 50 % base rate: units of both variants until the lift is found');
const lifts: [number, number, number][] = [
  [0.02, runs / 2, tunedFor(0.02)],
  [0.02, runs / 8, 10_000],
  [0.02, runs / 8, 50_000],
  [0.01, runs / 8, tunedFor(0.02)],
  [0.04, runs / 8, tunedFor(0.02)],
];
const powers = [
  ...lifts.map(([lift, count, tightestAt]) => power(lift, count, tightestAt)),
  power(0.02, runs / 8, tunedFor(0.02), true),
];
console.table(
  powers.map(({ stops, meanUnits, ratio, ...row }) => ({
    ...row,
    runs: stops.length,
    meanUnits: Math.round(meanUnits),
    ratio: Number(ratio.toFixed(2)),
  })),
);
chart('stopping', stoppingChart(powers[0]));
chart('interval', intervalChart(units));

console.log('\nSample ratio: false alarms of one look (exact), and of looking after every unit');
const alarms = [
  [1000, 0.5],
  [20_000, 0.5],
  [20_000, 0.1],
].map(([n, share]) => falseAlarmsOnce(n, share));
console.table(alarms);
const splits = [split(0.5, runs, 20_000), split(0.52, runs, 20_000)];
console.table(splits);

console.log(
  '\nGuardrail "latency must not rise by more than 20 ms": harm of exactly that, of 30 ms, of none',
);
const rails = [20, 30, 0].map((harm) => guardrail(harm, 20, runs / 4, units));
console.table(rails);

console.log('\nBroken assumptions, A/A: how often is a difference found? (≤ 5 %)');
const broken = [...returningUsers(runs / 4, units), ...changingShares(runs / 4, units)];
console.table(broken);

const result = {
  ...measuredOn('npx tsx bench/experiments.ts'),
  runs,
  units,
  alpha: ALPHA,
  peeking: peeking.map(({ firstFixed, firstAnytime, ...row }) => row),
  power: powers.map(({ stops, ...row }) => ({ ...row, runs: stops.length })),
  sampleRatio: { falseAlarmsOnce: alarms, splits },
  guardrails: rails,
  broken,
};
writeFileSync('bench/results/experiments.json', `${JSON.stringify(result, null, 2)}\n`);
