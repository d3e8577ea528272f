import { oneSidedSequence, type SequenceSettings } from './confidence-sequence.ts';
import type { Difference } from './difference.ts';

/** A metric that must not get worse by more than this, even if other metrics get better. */
export interface Guardrail {
  readonly metric: string;
  /** Which direction is harm: latency harms when it rises, a success rate when it falls. */
  readonly harm: 'rise' | 'fall';
  /** How much harm is accepted, ≥ 0, in the metric's own unit of measure. */
  readonly tolerance: number;
}

export interface GuardrailState {
  readonly metric: string;
  /** breached: the harm is larger than tolerated. kept: it is not. open: not known yet. */
  readonly state: 'breached' | 'kept' | 'open';
  /** The harm is at least and at most this; one-sided bounds, valid at every moment, each with probability 1 − α. */
  readonly atLeast: number;
  readonly atMost: number;
}

/** Returns the state of a guardrail. May be called after every unit: a good variant is stopped with probability ≤ α. */
export function guardrailState(
  { metric, harm, tolerance }: Guardrail,
  difference: Difference | null,
  settings: SequenceSettings,
): GuardrailState {
  if (!(tolerance >= 0)) throw new RangeError(`tolerance of guardrail "${metric}" is ${tolerance}: give ≥ 0`);
  if (difference === null) {
    return { metric, state: 'open', atLeast: Number.NEGATIVE_INFINITY, atMost: Number.POSITIVE_INFINITY };
  }
  const { lower, upper } = oneSidedSequence(difference, settings);
  const [atLeast, atMost] = harm === 'rise' ? [lower, upper] : [-upper, -lower];
  const state = atLeast > tolerance ? 'breached' : atMost <= tolerance ? 'kept' : 'open';
  return { metric, state, atLeast, atMost };
}
