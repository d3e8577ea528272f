import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { Problem } from '../errors/problem.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import { LedgerRemovedError } from '../ledger/ledger.ts';
import { AUTOMATIC, mergeDigest, type ProposedMerge } from '../ledger/merge-definition.ts';
import type { LookAlike, MergeRunChange, MergeRunOpen, MergeRunRequest } from '../ledger/merge-run.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { type Job, JobElsewhereError, type JobQueue, UnrecoverableJobError } from '../queue/job-queue.ts';
import { every, type Repeated } from '../scheduling/every.ts';
import type { MergeRunResult } from '../state/fold-result.ts';
import type { MergeRun } from '../state/merge-runs.ts';
import type { MergeTable } from '../state/merge-table.ts';
import type { ToolTable } from '../state/tool-table.ts';
import { approveMerge } from './decide-merge.ts';
import type { Judge, JudgeName, JudgeSpending } from './judge.ts';
import { LookAlikes } from './look-alikes.ts';
import type { MergeCounts, MergeFindings } from './merge-findings.ts';
import { type MergePass, type MergeProgress, proposeMerges } from './propose-merges.ts';
import { thresholdOf } from './threshold.ts';

export interface MergeRunParts {
  readonly queue: JobQueue;
  readonly catalogs: Pick<Catalogs, 'all' | 'find' | 'serves'>;
  readonly kernels: Kernels;
  /** A judge for one run; null: it is not configured here. */
  judgeOf(name: JudgeName): Judge | null;
  tokensOf(tool: ToolDefinition): number;
  onError(message: string, error: unknown): void;
}

const MERGE_JOB = 'merge-run';
/** How often runs without a job, and catalogs that changed, are looked for. */
const LOOK_EVERY_MS = 1_000;
/** How often the ledger is told how far a run is. */
const PROGRESS_EVERY_MS = 1_000;
/** Proposals of one entry at most. */
const PROPOSED_AT_ONCE = 50;
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

/**
 * Asks for a run; returns the one that is under way, if there is one.
 * @throws Problem merge-conflict if that was asked something else
 */
export async function startRun(
  catalog: Catalog,
  request: MergeRunRequest,
  actor?: string,
): Promise<MergeRun> {
  const outcome = await submit(catalog, { action: 'ask', request }, actor);
  if (outcome.kind === 'merge-run-refused') throw new Error('a run was not taken');
  const { run, isNew } = outcome;
  // Whoever wants what changed gets it from a run that looks at everything.
  const asked = { ...request, touched: run.request.touched };
  const isSame =
    isDeepStrictEqual(asked, run.request) &&
    (request.touched === 'changed' || request.touched === asked.touched);
  if (isNew || isSame) return run;
  throw new Problem(
    'merge-conflict',
    `Run "${run.id}" is under way, and was asked to do something else (${JSON.stringify(run.request)}).`,
    'Wait until it has ended, or cancel it with DELETE …/merges/run.',
  );
}

/** @throws Problem merge-conflict when none is under way */
export async function cancelRun(catalog: Catalog, actor?: string): Promise<MergeRun> {
  const { run } = catalog.state.mergeRuns;
  const outcome =
    run === null ? null : await submit(catalog, { action: 'end', run: run.id, status: 'cancelled' }, actor);
  if (outcome?.kind === 'merge-run') return outcome.run;
  throw new Problem(
    'merge-conflict',
    `No run is under way in catalog "${catalog.name}".`,
    'GET …/merges shows the newest one, and how it ended.',
  );
}

async function submit(catalog: Catalog, change: MergeRunChange, actor?: string): Promise<MergeRunResult> {
  const outcome = await catalog.replica.submit({
    ...{ kind: 'merge-run', key: `merge-run/${randomUUID()}`, at: catalog.now(), change },
    ...(actor !== undefined && { actor }),
  });
  if (outcome.kind === 'merge-run' || outcome.kind === 'merge-run-refused') return outcome;
  throw new Error(`a run was answered with ${outcome.kind}`);
}

/** Thrown when the run was cancelled, or another process has taken it. */
class RunOverError extends Error {
  override readonly name = 'RunOverError';
}

/** Thrown when all vectors were replaced meanwhile: what was compared with them has to be compared again. */
class VectorsReplacedError extends Error {
  override readonly name = 'VectorsReplacedError';
}

/** A pass, and what its judge has asked for it. */
interface JudgedPass extends MergePass {
  readonly spent: JudgeSpending | undefined;
}

/** One process that works at the run of a catalog, always from its beginning. */
class Run {
  readonly #catalog: Catalog;
  readonly #parts: MergeRunParts;
  readonly #stop: AbortSignal;
  readonly #known: WeakMap<Catalog, MergeFindings>;
  readonly #over = new AbortController();
  #run!: MergeRun;
  #lookAlikes = new LookAlikes();
  #progress: MergeProgress = { done: 0, pairs: 0, judged: 0 };
  #told: MergeProgress = this.#progress;

  constructor(
    catalog: Catalog,
    parts: MergeRunParts,
    stop: AbortSignal,
    known: WeakMap<Catalog, MergeFindings>,
  ) {
    this.#catalog = catalog;
    this.#parts = parts;
    this.#stop = stop;
    this.#known = known;
  }

  /** Runs it to its end. @throws an error that makes the job run again: the queue closes, or a store is away */
  async run(): Promise<void> {
    const catalog = this.#catalog;
    const { run } = catalog.state.mergeRuns;
    if (run === null || run.endedAt !== null) return;
    const begun = await submit(catalog, { action: 'begin', run: run.id });
    if (begun.kind === 'merge-run-refused' || begun.run.endedAt !== null) return;
    this.#run = begun.run;
    const reports = every(PROGRESS_EVERY_MS, () => this.#tell(), { onError: () => {} });
    // A catalog that is deleted ends it as well.
    const watched = this.#watch().catch(() => this.#over.abort(new RunOverError()));
    try {
      const { proposals, undecided, counts, spent } = await this.#pass();
      await this.#tell();
      await this.#propose(proposals, undecided);
      await this.#approve(proposals);
      const { mergeRuns, tools } = this.#catalog.state;
      const lookAlikes = this.#lookAlikes.after(mergeRuns.lookAlikes, tools);
      const open = openOf(counts, spent);
      const end = { proposals: proposals.length, lookAlikes, ...(open !== null && { open }) };
      await this.#say({ action: 'end', status: 'succeeded', ...end });
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#over.abort(new RunOverError());
      await reports.close();
      await watched;
    }
  }

  async #fail(error: unknown): Promise<void> {
    const { closed } = this.#catalog;
    if (closed.aborted || error instanceof LedgerRemovedError || error instanceof RunOverError) return;
    const runsAgain = this.#stop.aborted || isStoreAway(error);
    // While the store is away the run stays as it is, and counts as interrupted.
    if (runsAgain) await this.#say({ action: 'leave' }).catch(() => {});
    if (runsAgain) throw this.#stop.aborted ? this.#stop.reason : error;
    this.#parts.onError(`looking for merges in catalog "${this.#catalog.name}" failed`, error);
    await this.#say({ action: 'end', status: 'failed', error: (error as Error).message }).catch(() => {});
  }

  /** Says something of this run. @throws RunOverError when it is over, or another process has taken it */
  async #say(
    change:
      | { readonly action: 'leave' }
      | {
          readonly action: 'progress';
          readonly progress: number;
          readonly pairs: number;
          readonly judged: number;
        }
      | {
          readonly action: 'end';
          readonly status: 'succeeded' | 'failed';
          readonly error?: string;
          readonly proposals?: number;
          readonly open?: MergeRunOpen;
          readonly lookAlikes?: readonly LookAlike[];
        },
  ): Promise<void> {
    const { id: run, attempt } = this.#run;
    const outcome = await submit(this.#catalog, { ...change, run, attempt: attempt! });
    if (outcome.kind === 'merge-run-refused') throw new RunOverError();
  }

  async #tell(): Promise<void> {
    const now = this.#progress;
    if (now === this.#told || this.#over.signal.aborted) return;
    this.#told = now;
    const { done, pairs, judged } = now;
    await this.#say({ action: 'progress', progress: done, pairs, judged });
  }

  /** Ends the work when the run is cancelled or taken, or its catalog goes. */
  async #watch(): Promise<void> {
    const signal = AbortSignal.any([this.#over.signal, this.#stop, this.#catalog.closed]);
    while (!signal.aborted) {
      const { run } = this.#catalog.state.mergeRuns;
      const isOurs = run?.id === this.#run.id && run.attempt === this.#run.attempt && run.endedAt === null;
      if (!isOurs) return this.#over.abort(new RunOverError());
      await this.#catalog.replica.reached(this.#catalog.state.position + 1, signal);
    }
  }

  async #pass(): Promise<JudgedPass> {
    for (;;) {
      try {
        return await this.#passOnce();
      } catch (error) {
        if (!(error instanceof VectorsReplacedError)) throw error;
      }
    }
  }

  /** @throws VectorsReplacedError */
  async #passOnce(): Promise<JudgedPass> {
    const { judgeOf, kernels, tokensOf } = this.#parts;
    const catalog = this.#catalog;
    const { request } = this.#run;
    const judge = judgeOf(request.judge);
    if (judge === null) throw new Error('No chat model is configured in the process that runs it.');
    const read = await catalog.replica.readConsistent(({ tools, merges, fingerprint, confusable }) => ({
      served: merges.revision,
      own: fingerprint === null ? new Map() : ownVectors(tools, merges),
      tools: Array.from(tools.live(), ({ slot, tool, hash }) => ({ slot, tool, hash })),
      vectors: fingerprint === null ? null : tools.vectors,
      threshold: request.threshold ?? thresholdOf(fingerprint),
      confusable: confusable.pairs(),
      merged: [...merges.all()]
        .filter(({ status }) => status === 'approved')
        .map(({ members }) => members.map(({ name }) => name)),
    }));
    const replaced = new AbortController();
    const { vectors } = catalog.state.tools;
    const check = (): void => {
      if (catalog.state.tools.vectors !== vectors) replaced.abort(new VectorsReplacedError());
    };
    const previous = this.#known.get(catalog) ?? null;
    const pass = await proposeMerges({
      ...read,
      ...{
        kernels,
        judge: this.#lookAlikes.listenTo(judge),
        tokensOf,
        previous: request.touched === 'all' ? null : previous,
      },
      signal: AbortSignal.any([this.#stop, catalog.closed, this.#over.signal, replaced.signal]),
      onProgress: (progress) => {
        this.#progress = progress;
        check();
      },
    });
    check();
    replaced.signal.throwIfAborted();
    // What was compared while somebody approved or undid a merge may have been compared with what is served, not with what was put.
    if (catalog.state.merges.revision === read.served) this.#known.set(catalog, pass.findings);
    else this.#known.delete(catalog);
    return { ...pass, spent: judge.spent };
  }

  /**
   * Proposes what is new, and withdraws what is no proposal any more.
   * @param undecided names of tools about which the judge left something open: earlier proposals with one of them stay
   */
  async #propose(found: readonly ProposedMerge[], undecided: ReadonlySet<string>): Promise<void> {
    const { merges } = this.#catalog.state;
    const ids = new Set(found.map(({ id }) => id));
    const fresh = found.filter((merge) => {
      const record = merges.get(merge.id);
      if (record === undefined || record.status === 'dissolved') return true;
      return !isOwn(record) && differs(record, merge);
    });
    const withdraw = [...merges.all()]
      .filter((record) => record.status === 'proposed' && !ids.has(record.id) && !isOwn(record))
      .filter(({ members }) => !members.some(({ name }) => undecided.has(name)))
      .map(({ id }) => id);
    for (let from = 0; from < fresh.length || (from === 0 && withdraw.length > 0); from += PROPOSED_AT_ONCE) {
      this.#over.signal.throwIfAborted();
      const propose = fresh.slice(from, from + PROPOSED_AT_ONCE);
      const change = { action: 'propose', propose, withdraw: from === 0 ? withdraw : [] } as const;
      const { now, replica } = this.#catalog;
      await replica.submit({ kind: 'merges', key: `merges/${randomUUID()}`, at: now(), change });
    }
  }

  /** Approves what is sure enough and not guarded, if the run was asked to. */
  async #approve(found: readonly ProposedMerge[]): Promise<void> {
    const { autoApprove } = this.#run.request;
    if (autoApprove === null) return;
    for (const merge of found) {
      const { id, confidence } = merge;
      const { merges } = this.#catalog.state;
      if (confidence < autoApprove || merges.guardOf(merge) !== null || merges.get(id)?.status !== 'proposed')
        continue;
      this.#over.signal.throwIfAborted();
      const options = { actor: AUTOMATIC, digest: mergeDigest(merge) };
      await approveMerge(this.#catalog, id, options).catch((error) => {
        // One of its tools changed meanwhile, or somebody has decided.
        if (!(error instanceof Problem) || !NOT_APPROVED.has(error.code)) throw error;
      });
    }
  }
}

const NOT_APPROVED: ReadonlySet<string> = new Set(['merge-conflict', 'merge-not-found']);

/** Longer reasons are cut: an endpoint may have worded them. */
const REASON_LENGTH = 300;

/** Returns what a pass left open; null: nothing. */
function openOf(
  { undecided, unaudited }: MergeCounts,
  spent: JudgeSpending | undefined,
): MergeRunOpen | null {
  if (undecided + unaudited === 0) return null;
  const { requests = 0, tokens = 0, failure } = spent ?? {};
  const reason = failure ?? 'the judge contradicted itself, or one of the tools gives orders to it';
  return {
    undecided: undecided + unaudited,
    reason: reason.slice(0, REASON_LENGTH),
    ...(spent !== undefined && { spent: { requests, tokens } }),
  };
}

/** The vectors of the tools that a merged one is served in place of, by slot. */
function ownVectors(tools: ToolTable, merges: MergeTable): Map<number, Float32Array> {
  const own = new Map<number, Float32Array>();
  for (const { status, representative } of merges.all()) {
    const record = status === 'approved' ? tools.get(representative) : undefined;
    if (record !== undefined) own.set(record.slot, tools.vectorOf(record).slice());
  }
  return own;
}

/** Whether somebody has proposed it: no run changes it or takes it back. */
function isOwn({ evidence }: ProposedMerge): boolean {
  return evidence.judge === 'person';
}

/** Whether a run came to something else about a merge that is proposed already. */
function differs(record: ProposedMerge & { readonly status: string }, merge: ProposedMerge): boolean {
  if (record.status !== 'proposed') return false;
  const { definition, mappings, confidence, evidence, tokensSaved, guarded } = merge;
  const found = { definition, mappings, confidence, evidence, tokensSaved, guarded };
  const members = Object.keys(found) as (keyof typeof found)[];
  return members.some((member) => !isDeepStrictEqual(record[member], found[member]));
}
