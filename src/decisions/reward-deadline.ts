import type { Decision } from './decision.ts';

/** Until when rewards of a decision are learned, ms since the epoch: its window opens when the slate was shown. */
export function rewardDeadline(decision: Pick<Decision, 'deadline' | 'at' | 'activatedAt'>): number {
  return decision.deadline - decision.at + (decision.activatedAt ?? decision.at);
}
