import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import { LedgerRemovedError } from '../ledger/ledger.ts';
import { type Job, JobElsewhereError, type JobQueue, UnrecoverableJobError } from '../queue/job-queue.ts';
import { every, type Repeated } from '../scheduling/every.ts';
import { orAborted } from '../scheduling/or-aborted.ts';
import type { SourceRecord } from '../state/source-table.ts';
import { applySync } from './apply-sync.ts';
import { readSource, type ServerTools, type SourceReaderParts, whyUnreadable } from './read-source.ts';

export interface SyncParts extends SourceReaderParts {
  readonly queue: JobQueue;
  readonly catalogs: Pick<Catalogs, 'all' | 'find' | 'serves'>;
  /** The server of a source, if it runs already: what it says has changed need not be so in a second process of it. */
  running(catalog: string, source: string): ServerTools | null;
  /** Other processes take these jobs, too: one of them may have what is missing here. */
  readonly isShared: boolean;
  /** How long reading a source may take, ms. */
  readonly timeoutMs: number;
  /** A source could not be read; `why` is a sentence for people. */
  onUnreadable(catalog: string, source: string, why: string): void;
  /** Puts the names of variables in place of their values again. */
  hide(text: string): string;
  onError(message: string, error: unknown): void;
}

const SYNC_JOB = 'source-sync';
/** Sources wait for others most of the time. */
const CONCURRENCY = 4;
const LOOK_EVERY_MS = 1_000;

const syncJob = z.object({ catalog: z.string(), source: z.string() });

/** Returns the job that reads a source. While it waits or runs there is none other for this source, in any process. */
export function syncJobOf(catalog: string, source: string): Job {
  return { name: SYNC_JOB, id: `${SYNC_JOB}/${catalog}/${source}`, payload: { catalog, source } };
}

/** Starts jobs for sources that are due, and runs them. Returns what looks for them. */
export function startSyncs(parts: SyncParts): Repeated {
  const { queue, catalogs } = parts;
  const handler = async (job: Job, stop: AbortSignal): Promise<void> => {
    const { success, data } = syncJob.safeParse(job.payload);
    if (!success) throw new UnrecoverableJobError(`job ${job.id} has a payload of another version`);
    if (!catalogs.serves(data.catalog))
      throw new JobElsewhereError(`catalog "${data.catalog}" is not served here`);
    const catalog = catalogs.find(data.catalog);
    const record = catalog?.state.sources.get(data.source);
    // It was deleted; or it is being opened, and is due again when it is open.
    if (catalog === undefined || record === undefined) return;
    if (!isReadable(record, parts) && parts.isShared)
      throw new JobElsewhereError(`server "${data.source}" is configured elsewhere`);
    await syncSource(catalog, record, parts, stop);
  };
  queue.process(SYNC_JOB, handler, { concurrency: CONCURRENCY });
  return every(LOOK_EVERY_MS, () => addDueJobs(parts), {
    // While the store is away nothing is read, and /readyz says that it is.
    onError: (error) => isStoreAway(error) || parts.onError('sources that are due could not be read', error),
    firstMs: 0,
  });
}

async function addDueJobs({ catalogs, queue, ...parts }: SyncParts): Promise<void> {
  const due = catalogs.all().flatMap((catalog) => {
    const isDue = ({ nextAt }: SourceRecord): boolean => nextAt !== null && nextAt <= catalog.now();
    const records = [...catalog.state.sources.all()].filter((one) => isDue(one) && isReadable(one, parts));
    return records.map(({ name }) => syncJobOf(catalog.name, name));
  });
  if (due.length > 0) await queue.add(due);
}

/** Servers of a configuration are known to the process that was started with it. */
function isReadable(
  { name, definition }: SourceRecord,
  { configuredServer }: Pick<SyncParts, 'configuredServer'>,
): boolean {
  return !('configured' in definition) || configuredServer(name) !== undefined;
}

/**
 * Reads a source and makes what it offers the tools of that source; or notes why that failed, and all tools stay.
 * @throws what makes the job run again: the queue closes, or a store is away
 */
async function syncSource(
  catalog: Catalog,
  record: SourceRecord,
  parts: SyncParts,
  stop: AbortSignal,
): Promise<void> {
  const { name, definition, generation } = record;
  const startedAt = catalog.now();
  const deadline = AbortSignal.timeout(parts.timeoutMs);
  const over = new AbortController();
  const signal = AbortSignal.any([stop, catalog.closed, deadline, over.signal]);
  replaced(catalog, record, signal).then(
    () => over.abort(),
    () => {},
  );
  try {
    const running = parts.running(catalog.name, name);
    const reader = running === null ? parts : { ...parts, connect: async () => running };
    const offer = await orAborted(readSource(name, definition, reader, signal), signal);
    await applySync(catalog, { source: name, generation, startedAt, offer }, parts.faultsOf, signal);
  } catch (error) {
    if (catalog.closed.aborted || error instanceof LedgerRemovedError) return;
    if (stop.aborted) throw stop.reason;
    if (catalog.state.sources.get(name)?.generation !== generation) return;
    if (isStoreAway(error)) throw error;
    const why = deadline.aborted
      ? `It could not be read within ${parts.timeoutMs / 1000} s.`
      : whyUnreadable(error, parts.hide);
    parts.onUnreadable(catalog.name, name, why);
    const change = { action: 'failed', generation, startedAt, error: why } as const;
    const entry = { kind: 'source', key: `source/${randomUUID()}`, at: catalog.now(), name, change } as const;
    await catalog.replica.submit(entry);
  } finally {
    over.abort();
  }
}

/** Resolves when the source was removed or defined anew, so that nobody wants what is read, or when the signal aborts. */
async function replaced(
  catalog: Catalog,
  { name, generation }: SourceRecord,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && catalog.state.sources.get(name)?.generation === generation) {
    await catalog.replica.reached(catalog.state.position + 1, signal);
  }
}
