import type { DecisionLogs } from '../src/decisions/decision-log.ts';
import { SETTLEMENT_JOB, settlementJob } from '../src/decisions/settlements.ts';
import type { OpenLedgers } from '../src/ledger/open-ledgers.ts';
import { type Job, type JobQueue, UnrecoverableJobError } from '../src/queue/job-queue.ts';
import { applyRewards, type RewardPlace, settleDecision } from '../src/rewards/apply-reward.ts';
import { REWARDS_JOB, rewardsJob } from '../src/rewards/reward-job.ts';

/** Jobs of one kind that are worked on at the same time; joining waits for the disk, not for the processor. */
const CONCURRENCY = 8;

export interface RewardWorkerParts {
  readonly queue: JobQueue;
  /** Null when there is no such catalog (any more). */
  placeOf(catalog: string): Promise<RewardPlace | null>;
  /** ms since the epoch. */
  now(): number;
}

/**
 * Joins rewards with their decisions and settles decisions at their deadline. Knows nothing of what was learned:
 * it can run in a process that has no replica.
 */
export function startRewardWorker({ queue, placeOf, now }: RewardWorkerParts): void {
  const options = { concurrency: CONCURRENCY };
  const place = async (catalog: string): Promise<RewardPlace> => {
    const found = await placeOf(catalog);
    if (found === null) throw new UnrecoverableJobError(`catalog "${catalog}" was deleted`);
    return found;
  };
  queue.process(
    REWARDS_JOB,
    async (job) => {
      const payload = parsed(job, rewardsJob);
      await applyRewards(payload, await place(payload.catalog));
    },
    options,
  );
  queue.process(
    SETTLEMENT_JOB,
    async (job) => {
      const payload = parsed(job, settlementJob);
      await settleDecision(payload, await place(payload.catalog), now());
    },
    options,
  );
}

/** Places of rewards, from the open ledgers and the decision logs. */
export function rewardPlaces(
  ledgers: OpenLedgers,
  { decisionLogs }: { readonly decisionLogs: DecisionLogs },
): RewardWorkerParts['placeOf'] {
  return async (catalog) => {
    const ledger = await ledgers.get(catalog);
    return ledger === null ? null : { ledger, decisions: await decisionLogs.open(catalog) };
  };
}

function parsed<T>(job: Job, schema: { safeParse(value: unknown): { success: boolean; data?: T } }): T {
  const { success, data } = schema.safeParse(job.payload);
  if (success && data !== undefined) return data;
  throw new UnrecoverableJobError(`job ${job.id} (${job.name}) has a payload of another version`);
}
