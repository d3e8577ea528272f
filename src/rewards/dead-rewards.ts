import { z } from 'zod';
import type { DeadJob, JobQueue } from '../queue/job-queue.ts';
import { rewardsJob } from './reward-job.ts';

/** Rewards, or a settlement, that could not be brought to their decisions, in spite of all attempts. */
export interface DeadRewards {
  /** To name it when it is put back. */
  readonly id: string;
  readonly kind: string;
  readonly catalog: string | null;
  readonly decisions: readonly string[];
  readonly failedAt: string;
  readonly attempts: number;
  /** What went wrong at the last attempt. */
  readonly error: string;
}

/** Newest first. */
export async function deadRewards(queue: JobQueue, limit: number): Promise<DeadRewards[]> {
  return (await queue.deadJobs(limit)).map(viewOf);
}

const ofCatalog = z.object({ catalog: z.string() });
const ofDecision = z.object({ decisionId: z.string() });

function viewOf({ job, failedAt, attempts, error }: DeadJob): DeadRewards {
  const batch = rewardsJob.safeParse(job.payload).data?.decisions ?? [];
  const single = ofDecision.safeParse(job.payload).data;
  return {
    id: job.id,
    kind: job.name,
    catalog: ofCatalog.safeParse(job.payload).data?.catalog ?? null,
    decisions: single === undefined ? batch.map(({ decisionId }) => decisionId) : [single.decisionId],
    failedAt: new Date(failedAt).toISOString(),
    attempts,
    error,
  };
}
