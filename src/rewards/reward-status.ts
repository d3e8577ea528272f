import type { Catalogs } from '../catalog/catalogs.ts';
import { Problem } from '../problem.ts';
import { catalogOf } from '../routing/decision-id.ts';
import type { DecisionLogs } from '../routing/decision-log.ts';
import type { RewardReason, RewardStatus } from '../state/outcome.ts';

export interface RewardState {
  readonly rewardId: string;
  readonly status: 'queued' | RewardStatus;
  readonly reason?: RewardReason;
}

/** What became of a reward. @throws Problem reward-not-found when nothing is known of it (any more). */
export async function rewardStatus(
  rewardId: string,
  catalogs: Catalogs,
  logs: DecisionLogs,
): Promise<RewardState> {
  const decisionId = rewardId.slice(0, rewardId.lastIndexOf('.'));
  const name = catalogOf(decisionId);
  if (name !== null && !catalogs.serves(name)) catalogs.get(name);
  if (name !== null && catalogs.find(name) !== undefined) {
    const folded = catalogs.get(name).state.decisions.get(decisionId)?.rewards.get(rewardId);
    if (folded !== undefined) return folded;
    const decision = await (await logs.open(name)).get(decisionId);
    if (decision !== null) return { rewardId, status: 'queued' };
  }
  throw new Problem(
    'reward-not-found',
    `Nothing is known of reward "${rewardId}".`,
    'Use the rewardId from the answer to your report. Rewards are remembered for about an hour after their window.',
  );
}
