import { guardrailState } from '../../bandit/statistics/guardrail.ts';
import { Draws } from './draws.ts';
import { ALPHA } from './peeking.ts';
import { TwoVariants } from './two-variants.ts';

export interface GuardrailResult {
  readonly harm: number;
  readonly units: number;
  readonly runs: number;
  /** Share of runs in which the guardrail broke at any look, and units until half of the runs had. */
  readonly breached: number;
  readonly medianUnits: number | null;
  /** Share of runs in which it was at some look shown to be kept. */
  readonly kept: number;
}

/** Latencies of 100 ms and more with a tail (standard deviation 57 ms), and a variant that adds `harm` ms to each. */
export function guardrail(
  harm: number,
  tolerance: number,
  runs: number,
  tightestAt: number,
): GuardrailResult {
  const units = 5000;
  const rail = { metric: 'latencyMs', harm: 'rise', tolerance } as const;
  const breaches: number[] = [];
  let kept = 0;
  for (let run = 0; run < runs; run++) {
    const draws = new Draws(`guardrail ${harm} ${run}`);
    const variants = new TwoVariants();
    let breached = 0;
    let shown = false;
    for (let unit = 1; unit <= units && !(breached > 0 && shown); unit++) {
      const variant = draws.coin(0.5);
      variants.add(variant, 100 + harm * variant - 57 * Math.log(draws.uniform()));
      if (unit % 5 !== 0) continue;
      const { state } = guardrailState(rail, variants.look(0), { alpha: ALPHA, tightestAt });
      if (state === 'breached' && breached === 0) breached = unit;
      if (state === 'kept') shown = true;
    }
    if (breached > 0) breaches.push(breached);
    if (shown) kept += 1;
  }
  breaches.sort((a, b) => a - b);
  return {
    harm,
    units,
    runs,
    breached: breaches.length / runs,
    medianUnits: breaches[Math.floor(runs / 2)] ?? null,
    kept: kept / runs,
  };
}
