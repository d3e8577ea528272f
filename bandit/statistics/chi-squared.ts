import { incompleteGamma } from './gamma.ts';

/** Probability that χ² with this many degrees of freedom (> 0) exceeds x. */
export function chiSquaredTail(x: number, degreesOfFreedom: number): number {
  return incompleteGamma(degreesOfFreedom / 2, x / 2).upper;
}
