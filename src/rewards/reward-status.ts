import type { Catalogs } from '../catalog/catalogs.ts';
import { catalogOf } from '../decisions/decision-id.ts';
import type { DecisionLogs } from '../decisions/decision-log.ts';
import { rewardDeadline } from '../decisions/reward-deadline.ts';
import { Problem } from '../problem.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { RewardOutcome, RewardStatus } from '../state/outcome.ts';
import { isRewardId } from './reward-id.ts';
import { REWARDS_JOB, rewardsJob } from './reward-job.ts';

export interface RewardState {
  readonly rewardId: string;
  readonly status: 'queued' | 'dead' | RewardStatus;
  readonly reason?: string;
}

/** Of the rewards that were given up, so many are looked through. */
const MOST_DEAD = 1000;

/** What became of a reward. @throws Problem reward-not-found when nothing is known of it (any more). */
export async function rewardStatus(
  rewardId: string,
  catalogs: Catalogs,
  { queue, decisionLogs }: { readonly queue: JobQueue; readonly decisionLogs: DecisionLogs },
): Promise<RewardState> {
  const decisionId = rewardId.slice(0, rewardId.lastIndexOf('.'));
  const name = catalogOf(decisionId);
  if (name !== null && !catalogs.serves(name)) catalogs.get(name);
  const catalog = name === null ? undefined : catalogs.find(name);
  if (catalog !== undefined) {
    const folded = outcomeOf(catalog.state, decisionId, rewardId);
    if (folded !== undefined) return folded;
    if (isRewardId(rewardId)) {
      // In this order: what has left the queue is in the ledger, and what is folded has left the ledger.
      const onItsWay = (await queue.pending([REWARDS_JOB])) + (await catalog.replica.lag()) > 0;
      const arrived = outcomeOf(catalog.state, decisionId, rewardId);
      if (arrived !== undefined) return arrived;
      const dead = await deadReward(queue, rewardId);
      if (dead !== null) return dead;
      const decision = onItsWay
        ? await catalogs.holding(catalog.name, async () =>
            (await decisionLogs.open(catalog.name)).head(decisionId),
          )
        : null;
      // Of one whose record was let go, the end was known long ago.
      const deadline = decision === null ? 0 : rewardDeadline(decision);
      if (!catalog.state.decisions.mayBeDropped({ id: decisionId, deadline }) && decision !== null) {
        return { rewardId, status: 'queued' };
      }
    }
  }
  throw new Problem(
    'reward-not-found',
    `Nothing is known of reward "${rewardId}".`,
    'Use the rewardId from the answer to your report. Rewards are remembered for about an hour after their window.',
  );
}

function outcomeOf(state: CatalogState, decisionId: string, rewardId: string): RewardOutcome | undefined {
  return state.decisions.get(decisionId)?.rewards.get(rewardId) ?? state.refused.get(rewardId);
}

async function deadReward(queue: JobQueue, rewardId: string): Promise<RewardState | null> {
  for (const { job, error } of await queue.deadJobs(MOST_DEAD)) {
    const decisions = rewardsJob.safeParse(job.payload).data?.decisions ?? [];
    if (decisions.some(({ reports }) => reports.some((report) => report.rewardId === rewardId))) {
      return { rewardId, status: 'dead', reason: error };
    }
  }
  return null;
}
