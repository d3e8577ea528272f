import { confidenceSequence, tightestFor } from '../../bandit/statistics/confidence-sequence.ts';
import { fixedHorizonUnits } from '../../bandit/statistics/fixed-horizon.ts';
import { Draws } from './draws.ts';
import { ALPHA, excludesZero } from './peeking.ts';
import { TwoVariants } from './two-variants.ts';

export interface PowerResult {
  readonly lift: number;
  readonly tightestAt: number;
  readonly covariate: boolean;
  /** Units of both variants that a fixed-horizon test with 80 % power needs. */
  readonly fixedUnits: number;
  readonly meanUnits: number;
  readonly medianUnits: number;
  readonly p90Units: number;
  readonly ratio: number;
  /** Share of runs that had found it by the time the fixed-horizon test would have been read. */
  readonly foundByThen: number;
  /** Share of runs that decided for the wrong variant. */
  readonly wrong: number;
  readonly stops: readonly number[];
}

const BASE = 0.5;

/**
 * How many units until a lift at a 50 % base rate is found by somebody who looks after every unit? Every run goes on
 * until it is. With a covariate the queries differ in difficulty, which is known beforehand and explains a part of it.
 */
export function power(lift: number, runs: number, tightestAt: number, covariate = false): PowerResult {
  const plan = { lift, standardDeviation: Math.sqrt(BASE * (1 - BASE)), alpha: ALPHA, power: 0.8 };
  const fixedUnits = fixedHorizonUnits(plan);
  const stops: number[] = [];
  let wrong = 0;
  for (let run = 0; run < runs; run++) {
    const draws = new Draws(`power ${lift} ${covariate} ${run}`);
    const variants = new TwoVariants(covariate);
    for (let unit = 1; ; unit++) {
      const variant = draws.coin(0.5);
      const ease = covariate ? draws.uniform() : 0.5;
      const success = draws.coin(BASE - lift / 2 + lift * variant + DIFFICULTY * (ease - 0.5));
      variants.add(variant, success, ease);
      // With a covariate every look is a whole comparison; one in ten is enough for the picture.
      if (covariate && unit % 10 !== 0) continue;
      // Where it is narrowest, the interval reaches 3.03 standard errors.
      const found = variants.look(3);
      if (found === null) continue;
      const interval = confidenceSequence(found, { alpha: ALPHA, tightestAt });
      if (!excludesZero(interval)) continue;
      stops.push(unit);
      if (found.estimate < 0) wrong += 1;
      break;
    }
  }
  stops.sort((a, b) => a - b);
  const meanUnits = stops.reduce((sum, units) => sum + units, 0) / runs;
  return {
    lift,
    tightestAt,
    covariate,
    fixedUnits,
    meanUnits,
    medianUnits: stops[Math.floor(runs / 2)],
    p90Units: stops[Math.floor(runs * 0.9)],
    ratio: meanUnits / fixedUnits,
    foundByThen: stops.filter((units) => units <= fixedUnits).length / runs,
    wrong: wrong / runs,
    stops,
  };
}

/** Success rises from 10 % for the hardest queries to 90 % for the easiest: about a fifth of the variance. */
const DIFFICULTY = 0.8;

/** The tuning that suits a lift at this base rate. */
export function tunedFor(lift: number): number {
  return tightestFor(lift, Math.sqrt(BASE * (1 - BASE)), ALPHA);
}
