import { confidenceSequence, type Interval } from '../../bandit/statistics/confidence-sequence.ts';
import { fixedHorizonInterval } from '../../bandit/statistics/fixed-horizon.ts';
import { Draws } from './draws.ts';
import { TwoVariants } from './two-variants.ts';

export const ALPHA = 0.05;

export interface World {
  readonly name: string;
  /** Share of the traffic that the second variant gets. */
  readonly share: number;
  readonly value: (draws: Draws) => number;
}

/** What the metric may look like: fair coins, rare successes, costs with a heavy tail; equal halves and small starts. */
export const WORLDS: readonly World[] = [0.5, 0.1].flatMap((share) => [
  { name: `success rate 50 %, ${100 * share} % new`, share, value: (draws: Draws) => draws.coin(0.5) },
  { name: `success rate 5 %, ${100 * share} % new`, share, value: (draws: Draws) => draws.coin(0.05) },
  { name: `success rate 1 %, ${100 * share} % new`, share, value: (draws: Draws) => draws.coin(0.01) },
  {
    name: `cost, log-normal σ 1.5, ${100 * share} % new`,
    share,
    value: (draws: Draws) => Math.exp(1.5 * draws.normal()),
  },
]);

export interface PeekingResult {
  readonly world: string;
  /** Share of runs in which the interval excluded 0 at any look, by `tightestAt`. */
  readonly anytime: Readonly<Record<number, number>>;
  /** The same for the fixed-horizon interval, and for one single look at the end. */
  readonly fixedPeeking: number;
  readonly fixedOnce: number;
  /** Units at the first false positive of each run, for the curves. */
  readonly firstFixed: readonly number[];
  readonly firstAnytime: readonly number[];
}

/** A/A: the variants are the same, so every difference that is found is false. Looked at after every unit. */
export function peek(world: World, runs: number, units: number, tunings: readonly number[]): PeekingResult {
  const anytime = tunings.map((): number[] => []);
  const fixed: number[] = [];
  let once = 0;
  for (let run = 0; run < runs; run++) {
    const draws = new Draws(`a/a ${world.name} ${run}`);
    const variants = new TwoVariants();
    const first = tunings.map(() => 0);
    let firstFixed = 0;
    for (let unit = 1; unit <= units; unit++) {
      variants.add(draws.coin(world.share), world.value(draws));
      // Welch's interval reaches 1.96 standard errors at least, the others more.
      const found = variants.look(1.9);
      if (found === null) continue;
      tunings.forEach((tightestAt, i) => {
        if (first[i] === 0 && excludesZero(confidenceSequence(found, { alpha: ALPHA, tightestAt })))
          first[i] = unit;
      });
      if (firstFixed > 0 && unit < units) continue;
      const excluded = excludesZero(fixedHorizonInterval(found, ALPHA));
      if (excluded && firstFixed === 0) firstFixed = unit;
      if (excluded && unit === units) once += 1;
    }
    first.forEach((unit, i) => {
      if (unit > 0) anytime[i].push(unit);
    });
    if (firstFixed > 0) fixed.push(firstFixed);
  }
  return {
    world: world.name,
    anytime: Object.fromEntries(tunings.map((tightestAt, i) => [tightestAt, anytime[i].length / runs])),
    fixedPeeking: fixed.length / runs,
    fixedOnce: once / runs,
    firstFixed: fixed,
    firstAnytime: anytime[0],
  };
}

export function excludesZero({ lower, upper }: Interval): boolean {
  return lower > 0 || upper < 0;
}
