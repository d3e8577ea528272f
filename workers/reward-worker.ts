import type { DecisionLogs } from '../src/decisions/decision-log.ts';
import { SETTLEMENT_JOB, settlementJob } from '../src/decisions/settlements.ts';
import type { OpenLedgers } from '../src/ledger/open-ledgers.ts';
import { type Job, type JobQueue, UnrecoverableJobError } from '../src/queue/job-queue.ts';
import {
  applyRewards,
  endDecisions,
  type RewardStores,
  settleDecision,
} from '../src/rewards/apply-reward.ts';
import { REWARDS_JOB, rewardsJob, TASK_END_JOB, taskEndJob } from '../src/rewards/reward-job.ts';

/** Jobs of one kind that run at the same time; joining waits for the disk, not for the processor. */
const CONCURRENCY = 8;

export interface RewardWorkerParts {
  readonly queue: JobQueue;
  /** Returns the stores of a catalog; null when there is no such catalog (any more). */
  storesOf(catalog: string): Promise<RewardStores | null>;
  /** ms since the epoch. */
  now(): number;
}

/**
 * Takes the jobs of rewards and settlements from the queue and appends what they become to the ledger. It has no state
 * of the catalog, so it can run in a process without a replica.
 */
export function startRewardWorker({ queue, storesOf, now }: RewardWorkerParts): void {
  const existing = async (catalog: string): Promise<RewardStores> => {
    const stores = await storesOf(catalog);
    if (stores === null) throw new UnrecoverableJobError(`catalog "${catalog}" was deleted`);
    return stores;
  };
  const process = <Payload extends { readonly catalog: string }>(
    name: string,
    schema: PayloadSchema<Payload>,
    apply: (payload: Payload, stores: RewardStores) => Promise<void>,
  ): void => {
    const handler = async (job: Job): Promise<void> => {
      const payload = parsed(job, schema);
      await apply(payload, await existing(payload.catalog));
    };
    queue.process(name, handler, { concurrency: CONCURRENCY });
  };
  process(REWARDS_JOB, rewardsJob, applyRewards);
  process(TASK_END_JOB, taskEndJob, endDecisions);
  process(SETTLEMENT_JOB, settlementJob, (payload, stores) => settleDecision(payload, stores, now()));
}

/** Returns the `storesOf` of a reward worker, from the open ledgers and the decision logs. */
export function rewardStores(
  ledgers: OpenLedgers,
  { decisionLogs }: { readonly decisionLogs: DecisionLogs },
): RewardWorkerParts['storesOf'] {
  return async (catalog) => {
    const ledger = await ledgers.get(catalog);
    return ledger === null ? null : { ledger, decisions: await decisionLogs.find(catalog) };
  };
}

interface PayloadSchema<Payload> {
  safeParse(value: unknown): { success: boolean; data?: Payload };
}

/** @throws UnrecoverableJobError for a payload of another version */
function parsed<Payload>(job: Job, schema: PayloadSchema<Payload>): Payload {
  const { success, data } = schema.safeParse(job.payload);
  if (success && data !== undefined) return data;
  throw new UnrecoverableJobError(`job ${job.id} (${job.name}) has a payload of another version`);
}
