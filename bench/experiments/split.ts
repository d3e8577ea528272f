import { lnGamma } from '../../bandit/statistics/gamma.ts';
import { sampleRatio } from '../../bandit/statistics/sample-ratio.ts';
import { Draws } from './draws.ts';

export interface FalseAlarms {
  readonly units: number;
  readonly share: number;
  /** Exact probability of an alarm at one look, summed over all possible counts. */
  readonly once: number;
}

/** False alarms of one look, without simulation: the binomial probabilities of all counts that alarm. */
export function falseAlarmsOnce(units: number, share: number): FalseAlarms {
  let once = 0;
  for (let count = 0; count <= units; count++) {
    const z = (count - units * share) / Math.sqrt(units * share * (1 - share));
    if (Math.abs(z) < 3 || sampleRatio([{ counts: [count, units - count], shares: [share, 1 - share] }]).ok)
      continue;
    const ways = lnGamma(units + 1) - lnGamma(count + 1) - lnGamma(units - count + 1);
    once += Math.exp(ways + count * Math.log(share) + (units - count) * Math.log(1 - share));
  }
  return { units, share, once };
}

export interface SplitResult {
  readonly trueShare: number;
  readonly units: number;
  readonly runs: number;
  /** Alarm of χ² at the end, of χ² at any look, of the anytime test at any look. */
  readonly once: number;
  readonly peeking: number;
  readonly anytime: number;
  /** Units at which half of the runs had been alarmed by the anytime test, null if fewer than half were. */
  readonly medianUnits: number | null;
}

/** Shares of 50/50 were asked for, and this is what comes. Looked at after every unit. */
export function split(trueShare: number, runs: number, units: number): SplitResult {
  let once = 0;
  let peeking = 0;
  const alarmed: number[] = [];
  for (let run = 0; run < runs; run++) {
    const draws = new Draws(`split ${trueShare} ${run}`);
    const counts = [0, 0];
    let seen = false;
    let anytime = 0;
    for (let unit = 1; unit <= units; unit++) {
      counts[1 - draws.coin(trueShare)] += 1;
      // Nearer than 3.2 standard errors neither test alarms.
      if ((counts[0] - counts[1]) ** 2 < 3.2 ** 2 * unit) continue;
      if (seen && anytime > 0 && unit < units) continue;
      const found = sampleRatio([{ counts, shares: [1, 1] }]);
      if (!found.ok) seen = true;
      if (!found.anytimeOk && anytime === 0) anytime = unit;
      if (unit === units && !found.ok) once += 1;
    }
    if (seen) peeking += 1;
    if (anytime > 0) alarmed.push(anytime);
  }
  alarmed.sort((a, b) => a - b);
  return {
    trueShare,
    units,
    runs,
    once: once / runs,
    peeking: peeking / runs,
    anytime: alarmed.length / runs,
    medianUnits: alarmed[Math.floor(runs / 2)] ?? null,
  };
}
