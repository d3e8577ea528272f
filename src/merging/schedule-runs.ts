import { z } from 'zod';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { Problem } from '../errors/problem.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import { LedgerRemovedError } from '../ledger/ledger.ts';
import { AUTOMATIC } from '../ledger/merge-definition.ts';
import type { MergeRunRequest } from '../ledger/merge-run.ts';
import { type Job, JobElsewhereError, type JobQueue, UnrecoverableJobError } from '../queue/job-queue.ts';
import { every, type Repeated } from '../scheduling/every.ts';
import type { MergeRun } from '../state/merge-runs.ts';
import type { MergeFindings } from './merge-findings.ts';
import { startRun } from './request-runs.ts';
import { type MergeRunParts, Run } from './run-merge.ts';

const MERGE_JOB = 'merge-run';

/** How often runs without a job, and catalogs that changed, are looked for. */
const LOOK_EVERY_MS = 1_000;

/** An automatic run comes so long after the one before, so that many small changes are looked at together; after one that failed, later. */
const AUTOMATIC_AFTER_MS = 10_000;

const AFTER_FAILURE_MS = 10 * 60_000;

const mergeJob = z.object({ catalog: z.string(), position: z.int() });

/** Returns the job of a run. While it waits or runs there is none other for its catalog, in any process. */
export function mergeJobOf(catalog: string, { position }: MergeRun): Job {
  return { name: MERGE_JOB, id: `${MERGE_JOB}/${catalog}`, payload: { catalog, position } };
}

/** Runs what looks for merges as jobs of the queue, one at a time in each process that has replicas. Returns what looks for work. */
export function startMergeRuns(parts: MergeRunParts): Repeated {
  const { queue, catalogs, onError } = parts;
  /** What the last pass found, for the next one in this process. */
  const known = new WeakMap<Catalog, MergeFindings>();
  const handler = async (job: Job, stop: AbortSignal): Promise<void> => {
    const { success, data } = mergeJob.safeParse(job.payload);
    if (!success) throw new UnrecoverableJobError(`job ${job.id} has a payload of another version`);
    if (!catalogs.serves(data.catalog)) {
      throw new JobElsewhereError(`catalog "${data.catalog}" is not served here`);
    }
    const catalog = catalogs.find(data.catalog);
    // It was deleted, or is being opened: a run without a job gets one.
    if (catalog === undefined) return;
    try {
      await catalog.replica.reached(data.position, AbortSignal.any([stop, catalog.closed]));
      await new Run(catalog, parts, stop, known).run();
    } catch (error) {
      if (!catalog.closed.aborted && !(error instanceof LedgerRemovedError)) throw error;
    }
  };
  queue.process(MERGE_JOB, handler, { concurrency: 1 });
  return every(LOOK_EVERY_MS, () => addMissingJobs(parts), {
    // While the store is away nothing runs, and /readyz says that it is.
    onError: (error) => isStoreAway(error) || onError('tools that changed could not be compared', error),
  });
}

/** @throws what failed first, once every catalog had its turn */
export async function addMissingJobs({
  catalogs,
  queue,
}: {
  readonly catalogs: Pick<Catalogs, 'all'>;
  readonly queue: Pick<JobQueue, 'add'>;
}): Promise<void> {
  const failures: unknown[] = [];
  for (const catalog of catalogs.all()) {
    try {
      let { run } = catalog.state.mergeRuns;
      if (isDue(catalog))
        run = await startRun(catalog, automaticRequest(catalog), AUTOMATIC).catch(unlessGone);
      if (run !== null && run.endedAt === null) await queue.add([mergeJobOf(catalog.name, run)]);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** A catalog that was deleted meanwhile is none of its business, and a run that another process has just begun is one. */
function unlessGone(error: unknown): null {
  if (error instanceof LedgerRemovedError || error instanceof Problem) return null;
  throw error;
}

function automaticRequest({ state }: Catalog): MergeRunRequest {
  const { automatic: _, ...settings } = state.settings.merging;
  return { ...settings, touched: 'changed' };
}

/** Whether a catalog wants to be looked at by itself: something has changed since it was, and that is a while ago. */
function isDue(catalog: Catalog): boolean {
  const { mergeRuns, settings, revision, tools, fingerprint } = catalog.state;
  if (!settings.merging.automatic || tools.size < 2) return false;
  const { run } = mergeRuns;
  if (run === null) return true;
  if (run.endedAt === null || mergeRuns.covers(automaticRequest(catalog), revision, fingerprint))
    return false;
  const wait = run.status === 'succeeded' ? AUTOMATIC_AFTER_MS : AFTER_FAILURE_MS;
  return run.endedAt + wait <= catalog.now();
}
