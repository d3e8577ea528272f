import { confidenceSequence } from '../../bandit/statistics/confidence-sequence.ts';
import { fixedHorizonInterval } from '../../bandit/statistics/fixed-horizon.ts';
import { lineChart } from '../line-chart.ts';
import { Draws } from './draws.ts';
import { ALPHA, type PeekingResult } from './peeking.ts';
import type { PowerResult } from './power.ts';
import { TwoVariants } from './two-variants.ts';

/** Share of equal variants that have been called different by then. */
export function peekingChart(
  { firstFixed, firstAnytime }: PeekingResult,
  runs: number,
  units: number,
): string {
  const x = Array.from({ length: 101 }, (_, i) => (i * units) / 100);
  const by = (first: readonly number[]) =>
    x.map((at) => (100 * first.filter((unit) => unit <= at).length) / runs);
  return lineChart(
    [
      { label: 'fixed-horizon test', x, y: by(firstFixed) },
      { label: 'anytime-valid', x, y: by(firstAnytime) },
      { label: '5 %', x, y: x.map(() => 5), dashed: true },
    ],
    {
      title: 'Equal variants called different, by somebody who looks after every unit',
      xLabel: 'units so far',
      yLabel: '% of experiments',
    },
  );
}

/** Share of experiments with a real lift that have found it by then. */
export function stoppingChart({ stops, fixedUnits }: PowerResult): string {
  const end = stops[Math.floor(stops.length * 0.99)];
  const x = Array.from({ length: 101 }, (_, i) => (i * end) / 100);
  return lineChart(
    [
      {
        label: 'anytime-valid',
        x,
        y: x.map((at) => (100 * stops.filter((unit) => unit <= at).length) / stops.length),
      },
      { label: 'fixed horizon: its only look', x: [fixedUnits, fixedUnits], y: [0, 80], dashed: true },
    ],
    {
      title: 'A lift from 49 % to 51 %: when is it found?',
      xLabel: 'units of both variants',
      yLabel: '% of experiments',
    },
  );
}

/** Both intervals of one experiment with equal variants: the first one in which the fixed one clearly misleads. */
export function intervalChart(units: number): string {
  for (let run = 0; ; run++) {
    const draws = new Draws(`interval ${run}`);
    const variants = new TwoVariants();
    const x: number[] = [];
    const rows: [number, number, number, number][] = [];
    let misled = false;
    for (let unit = 1; unit <= units; unit++) {
      variants.add(draws.coin(0.5), draws.coin(0.5));
      if (unit < 300 || unit % 25 !== 0) continue;
      const found = variants.everything();
      if (found === null) continue;
      const fixed = fixedHorizonInterval(found, ALPHA);
      const anytime = confidenceSequence(found, { alpha: ALPHA, tightestAt: units });
      misled ||= fixed.lower > CLEARLY;
      x.push(unit);
      rows.push(
        [anytime.upper, fixed.upper, fixed.lower, anytime.lower].map((y) => 100 * y) as [
          number,
          number,
          number,
          number,
        ],
      );
    }
    if (!misled) continue;
    const labels = [
      'anytime-valid, upper',
      'fixed horizon, upper',
      'fixed horizon, lower',
      'anytime-valid, lower',
    ];
    return lineChart(
      [
        ...labels.map((label, i) => ({ label, x, y: rows.map((row) => row[i]) })),
        { label: 'the truth', x, y: x.map(() => 0), dashed: true },
      ],
      { title: 'One experiment with equal variants', xLabel: 'units so far', yLabel: 'difference in points' },
    );
  }
}

/** The fixed-horizon interval says at some look that there are at least two points of difference. */
const CLEARLY = 0.02;
