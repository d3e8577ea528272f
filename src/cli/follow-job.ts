import { setTimeout as wait } from 'node:timers/promises';
import { SingleBar } from 'cli-progress';

const LOOK_EVERY_MS = 300;

/** A job of the service, as its endpoints show it. */
interface ShownJob {
  readonly id: string;
  /** 0…1. */
  readonly progress: number;
  readonly endedAt: string | null;
}

/**
 * Waits until a job has ended, with a bar where there is a terminal. Returns what was seen last: the job, or the one that has begun since
 * and of which alone the service tells now.
 */
export async function followJob<Job extends ShownJob | null>(
  job: Job & ShownJob,
  look: () => Promise<Job>,
): Promise<Job> {
  const bar = new SingleBar({ format: ' {bar} {percentage} %, {eta_formatted} left', noTTYOutput: false });
  bar.start(1, 0);
  try {
    let seen: Job = job;
    while (seen !== null && seen.id === job.id && seen.endedAt === null) {
      bar.update(seen.progress);
      await wait(LOOK_EVERY_MS);
      seen = await look();
    }
    if (seen !== null) bar.update(seen.progress);
    return seen;
  } finally {
    bar.stop();
  }
}
