import type { Catalogs } from '../src/catalog/catalogs.ts';
import { Problem } from '../src/problem.ts';
import { type Job, type JobQueue, UnrecoverableJobError } from '../src/queue/job-queue.ts';
import { applyRewards, settleDecision } from '../src/rewards/apply-reward.ts';
import { REWARDS_JOB, rewardsJob } from '../src/rewards/reward-job.ts';
import type { DecisionLogs } from '../src/routing/decision-log.ts';
import { SETTLEMENT_JOB, settlementJob } from '../src/routing/settlement-job.ts';

/** Jobs of one kind that are worked on at the same time; joining waits for the disk, not for the processor. */
const CONCURRENCY = 8;

/** Joins rewards with their decisions and settles decisions at their deadline. */
export function startRewardWorker(queue: JobQueue, catalogs: Catalogs, logs: DecisionLogs): void {
  const options = { concurrency: CONCURRENCY };
  queue.process(
    REWARDS_JOB,
    async (job) => {
      const payload = parsed(job, rewardsJob);
      const catalog = served(catalogs, payload.catalog);
      await applyRewards(payload, catalog, await logs.open(catalog.name));
    },
    options,
  );
  queue.process(
    SETTLEMENT_JOB,
    async (job) => {
      const payload = parsed(job, settlementJob);
      const catalog = served(catalogs, payload.catalog);
      await settleDecision(payload, catalog, await logs.open(catalog.name));
    },
    options,
  );
}

function parsed<T>(job: Job, schema: { safeParse(value: unknown): { success: boolean; data?: T } }): T {
  const { success, data } = schema.safeParse(job.payload);
  if (success && data !== undefined) return data;
  throw new UnrecoverableJobError(`job ${job.id} (${job.name}) has a payload of another version`);
}

function served(catalogs: Catalogs, name: string): ReturnType<Catalogs['get']> {
  try {
    return catalogs.get(name);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new UnrecoverableJobError(`catalog "${name}" was deleted`);
  }
}
