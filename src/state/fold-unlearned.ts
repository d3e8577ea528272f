import type { OutcomeReport, UnlearnedEntry } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import type { FoldOutcome, RewardOutcome, RewardReason, RewardStatus } from './outcome.ts';

/** Reports whose decision nobody has: counted, with what became of those that had been accepted. */
export function foldUnlearned(state: CatalogState, entry: UnlearnedEntry): FoldOutcome {
  refuse(state, entry.rewards, 'rejected', 'decision-expired');
  for (const [code, count] of Object.entries(entry.refused)) {
    state.rewards.countRefused(state.clock, code, count);
  }
  return { kind: 'unlearned' };
}

/** Counts and remembers rewards of which nothing is learned, for want of their decision. */
export function refuse(
  state: CatalogState,
  reports: readonly OutcomeReport[],
  status: Extract<RewardStatus, 'late' | 'rejected'>,
  reason: RewardReason,
): RewardOutcome[] {
  return reports.map((report) => {
    const { rewardId } = report;
    const known = state.refused.get(rewardId);
    const outcome: RewardOutcome =
      known === undefined ? { rewardId, status, reason } : { ...known, status: 'duplicate' };
    if (known === undefined) state.refused.add(outcome);
    state.rewards.count(state.clock, report, outcome);
    return outcome;
  });
}
